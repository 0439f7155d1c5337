-- From layout 2 to 3: what a process runs for, where its user is known from, and memory that no
-- holder accounts for. Not to be changed any more: files of layout 3 are made by it.

-- Or what refers to a table would follow it to its new name.
PRAGMA legacy_alter_table = ON;

ALTER TABLE identity RENAME TO identity_2;
DROP INDEX identity_key;
CREATE TABLE identity (
    id     INTEGER PRIMARY KEY,
    user   TEXT,
    uid    INTEGER,
    source TEXT                             -- where it is known from; NULL: was not written down
) STRICT;
CREATE UNIQUE INDEX identity_key
    ON identity (ifnull(user, ''), ifnull(uid, -1), ifnull(source, ''));
INSERT INTO identity (id, user, uid) SELECT id, user, uid FROM identity_2 ORDER BY id;
DROP TABLE identity_2;

-- What a process runs for. Each part is NULL where there is none, and has the place that it is
-- known from beside it.
CREATE TABLE workload (
    id                 INTEGER PRIMARY KEY,
    job                TEXT,                -- of Slurm
    step               TEXT,
    job_source         TEXT,
    container          TEXT,                -- in full
    container_name     TEXT,
    runtime            TEXT,
    container_source   TEXT,
    pod                TEXT,                -- its uid
    pod_name           TEXT,
    pod_namespace      TEXT,
    pod_source         TEXT,
    notebook           TEXT,                -- its path
    kernel             TEXT,
    client             TEXT,
    notebook_source    TEXT,
    hub_user           TEXT,                -- whom a hub of notebooks says that it is for
    hub_user_source    TEXT,
    environment        TEXT,                -- its folder
    environment_kind   TEXT,
    environment_source TEXT,
    group_id           TEXT,
    group_kind         TEXT,
    group_source       TEXT,
    launcher           TEXT,                -- the program at the top of its tree
    launcher_source    TEXT,
    script             TEXT,
    command            TEXT                 -- NULL: not asked for
) STRICT;

ALTER TABLE process RENAME TO process_2;
CREATE TABLE process (
    id          INTEGER PRIMARY KEY,
    boot        TEXT NOT NULL,
    pid         INTEGER NOT NULL,
    start_ticks INTEGER NOT NULL,           -- negative: not known
    started_ms  INTEGER,
    program     TEXT,
    identity    INTEGER NOT NULL REFERENCES identity (id),
    workload    INTEGER REFERENCES workload (id),  -- NULL: not known
    UNIQUE (pid, start_ticks, boot, identity)
) STRICT;
INSERT INTO process (id, boot, pid, start_ticks, started_ms, program, identity)
    SELECT id, boot, pid, start_ticks, started_ms, program, identity FROM process_2 ORDER BY id;
DROP TABLE process_2;

-- Memory of a card that no listed holder accounts for: somebody has it.
CREATE TABLE unseen_span (
    from_ms    INTEGER NOT NULL,
    card       INTEGER NOT NULL REFERENCES card (id),
    run        INTEGER NOT NULL REFERENCES run (id),
    length_ms  INTEGER,
    counted_ms INTEGER,
    memory_kib INTEGER NOT NULL,            -- when it began
    PRIMARY KEY (from_ms, card, run)
) STRICT, WITHOUT ROWID;

-- Holders that the rules watch: how long each was seen to be idle, and what it was told. The
-- row of no process (pid 0) keeps the clock, which runs only while ticks speak for time.
CREATE TABLE policy_state (
    pid         INTEGER NOT NULL,
    start_ticks INTEGER NOT NULL,
    boot        TEXT NOT NULL,
    rule        TEXT,
    action      TEXT,                       -- of that rule: observe, notify, end
    digest      INTEGER,                    -- of all that it said: an edited rule has another
    idle_ms     INTEGER NOT NULL,
    missed_ms   INTEGER NOT NULL,
    notices     INTEGER NOT NULL,           -- that reached somebody
    told_at_ms  INTEGER NOT NULL,           -- how long it was idle at the last of them
    clock_ms    INTEGER NOT NULL,
    at_ms       INTEGER NOT NULL,
    PRIMARY KEY (pid, start_ticks)
) STRICT, WITHOUT ROWID;

-- What told, besides the SMs, that a process works: from a tick on, until it says otherwise.
CREATE TABLE policy_sign (
    at_ms       INTEGER NOT NULL,
    pid         INTEGER NOT NULL,
    start_ticks INTEGER NOT NULL,
    run         INTEGER NOT NULL,
    sign        INTEGER NOT NULL,           -- 0 quiet, 1 encoder, 2 decoder, 3 CPU, else why not
    PRIMARY KEY (at_ms, run, pid, start_ticks)
) STRICT, WITHOUT ROWID;

-- What the rules have done. It is added to, and never changed.
CREATE TABLE policy_log (
    id          INTEGER PRIMARY KEY,
    at_ms       INTEGER NOT NULL,
    clock_ms    INTEGER NOT NULL,           -- see policy_state
    kind        TEXT NOT NULL,
    pid         INTEGER,
    start_ticks INTEGER,
    uid         INTEGER,
    user        TEXT,
    program     TEXT,
    rule        TEXT,
    detail      TEXT NOT NULL,              -- a sentence
    evidence    TEXT NOT NULL               -- JSON
) STRICT;
CREATE TRIGGER policy_log_is_not_changed BEFORE UPDATE ON policy_log
    BEGIN SELECT RAISE(ABORT, 'the log of the rules is only added to'); END;
CREATE TRIGGER policy_log_is_not_deleted BEFORE DELETE ON policy_log
    BEGIN SELECT RAISE(ABORT, 'the log of the rules is only added to'); END;

INSERT INTO state (code, word) VALUES
    (103, 'working, holding'),
    (104, 'working, holding little'),
    (105, 'working, holding, how much is not told'),
    (203, 'idle, holding'),
    (204, 'idle, holding little'),
    (205, 'idle, holding, how much is not told');

PRAGMA legacy_alter_table = OFF;
PRAGMA user_version = 3;
