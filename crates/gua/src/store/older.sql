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
    command            TEXT                 -- NULL: not asked for
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
