-- What layouts 1 and 2 lack, for who reads one as it is: as if it had been there and empty. The
-- names of a connection's own come first, so that every question is asked the same way.

PRAGMA temp_store = MEMORY;

CREATE TEMP VIEW identity AS SELECT id, user, uid, NULL AS source FROM main.identity;
CREATE TEMP VIEW process AS SELECT *, NULL AS workload FROM main.process;

CREATE TEMP TABLE workload (
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
    command            TEXT,                -- NULL: not asked for
    ancestors          TEXT                 -- names of those with its uid, as JSON; NULL: not known
) STRICT;

CREATE TEMP TABLE unseen_span (
    from_ms    INTEGER NOT NULL,
    card       INTEGER NOT NULL,
    run        INTEGER NOT NULL,
    length_ms  INTEGER,
    counted_ms INTEGER,
    memory_kib INTEGER NOT NULL,            -- when it began
    PRIMARY KEY (from_ms, card, run)
) STRICT, WITHOUT ROWID;

-- Holders that the rules watch: how long each was seen to be idle, and what it was told. The
-- row of no process (pid 0) keeps the clock, which runs only while ticks speak for time.
CREATE TEMP TABLE policy_state (
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
CREATE TEMP TABLE policy_sign (
    at_ms       INTEGER NOT NULL,
    pid         INTEGER NOT NULL,
    start_ticks INTEGER NOT NULL,
    run         INTEGER NOT NULL,
    sign        INTEGER NOT NULL,           -- 0 quiet, 1 encoder, 2 decoder, 3 CPU, else why not
    PRIMARY KEY (at_ms, run, pid, start_ticks)
) STRICT, WITHOUT ROWID;

-- What the rules have done. It is added to, and never changed.
CREATE TEMP TABLE policy_log (
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
