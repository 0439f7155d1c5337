-- From layout 3 to 4: the names of a process's ancestors, and the limits of pruning. Not to be changed any more:
-- files of layout 4 are made by it.

-- Or what refers to a table would follow it to its new name.
PRAGMA legacy_alter_table = ON;

ALTER TABLE workload RENAME TO workload_3;
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
    command            TEXT,                -- NULL: not asked for
    ancestors          TEXT                 -- names of those with its uid, as JSON; NULL: not known
) STRICT;
INSERT INTO workload SELECT *, NULL FROM workload_3 ORDER BY id;
DROP TABLE workload_3;

CREATE TABLE pruning (                      -- limits of automatic pruning: one row
    id         INTEGER PRIMARY KEY CHECK (id = 1),
    last_ms    INTEGER NOT NULL,            -- wall time of the last record
    wait_ms    INTEGER NOT NULL,            -- recording needed before anything is deleted
    samples_ms INTEGER NOT NULL,            -- history that may be deleted
    spans_ms   INTEGER NOT NULL
) STRICT;

PRAGMA legacy_alter_table = OFF;
PRAGMA user_version = 4;
