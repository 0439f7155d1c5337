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

INSERT INTO state (code, word) VALUES
    (103, 'working, holding'),
    (104, 'working, holding little'),
    (105, 'working, holding, how much is not told'),
    (203, 'idle, holding'),
    (204, 'idle, holding little'),
    (205, 'idle, holding, how much is not told');

PRAGMA legacy_alter_table = OFF;
PRAGMA user_version = 3;
