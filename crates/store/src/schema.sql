-- Times are milliseconds since 1970 in UTC, lengths milliseconds; busy is percent × seconds, memory MiB × seconds,
-- *_j joules. All are integers. A column *_unknown_ms is 0, which takes no bytes, when everything was known.

CREATE TABLE store (
    one               INTEGER PRIMARY KEY CHECK (one = 1),
    hours_until_ms    INTEGER NOT NULL,     -- hour rows exist up to here
    quarters_until_ms INTEGER NOT NULL,     -- fine rows before this are quarter hours
    fine_from_ms      INTEGER NOT NULL,     -- fine rows exist from here on: a full hour
    hours_from_ms     INTEGER NOT NULL,     -- hour rows exist from here on
    counting_since_ms INTEGER NOT NULL      -- begin of the counters' totals
) STRICT;
INSERT INTO store VALUES (1, 0, 0, 0, 0, 0);

-- What pruning may delete. A table of its own, as it is written every minute of recording.
CREATE TABLE allowance (
    one         INTEGER PRIMARY KEY CHECK (one = 1),
    last_ms     INTEGER NOT NULL,           -- wall time of the last tick that was counted
    wait_ms     INTEGER NOT NULL,           -- recording that is needed before anything is deleted
    exact_ms    INTEGER NOT NULL,           -- history that may be summed up or deleted, per kind
    quarters_ms INTEGER NOT NULL,
    hours_ms    INTEGER NOT NULL,
    samples_ms  INTEGER NOT NULL
) STRICT;

CREATE TABLE host (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE) STRICT;
CREATE TABLE boot (id INTEGER PRIMARY KEY, uuid TEXT NOT NULL UNIQUE) STRICT;

-- A stretch of recording by one program with one set of thresholds.
CREATE TABLE run (
    id                  INTEGER PRIMARY KEY,
    host                INTEGER NOT NULL REFERENCES host (id),
    boot                INTEGER NOT NULL REFERENCES boot (id),
    driver              TEXT,
    recorder            TEXT NOT NULL,      -- program and version
    rule                TEXT NOT NULL,      -- how time was classified
    imported            INTEGER NOT NULL,
    active_centipercent INTEGER NOT NULL,
    worked_centipercent INTEGER NOT NULL,
    held_kib            INTEGER NOT NULL,
    interval_ms         INTEGER,
    started_ms          INTEGER NOT NULL,
    until_ms            INTEGER NOT NULL,   -- the record is final up to here
    tick_ms             INTEGER NOT NULL,   -- time of the last tick
    polls               INTEGER NOT NULL,
    calls               INTEGER NOT NULL,
    goes_back           INTEGER NOT NULL,   -- 1: began before the end of what was recorded
    ending              TEXT                -- NULL: goes on, or ended at its last tick by a crash
) STRICT;

CREATE TABLE card (
    id         INTEGER PRIMARY KEY,
    uuid       TEXT UNIQUE,                 -- NULL: it could never be read
    number     INTEGER NOT NULL,            -- the driver's index when last seen
    slot       INTEGER,                     -- of a MIG instance
    parent     TEXT,                        -- UUID of the GPU of a MIG instance
    name       TEXT,
    memory_mib INTEGER,
    -- Part of a GPU: what is left of one beside its instances is a card of its own for each size, with a parent, without
    -- a slot, and free all the time. Its UUID is '<parent>/unpartitioned/<slices>'.
    slices     INTEGER NOT NULL DEFAULT 1,
    slices_of  INTEGER NOT NULL DEFAULT 1 CHECK (slices BETWEEN 0 AND slices_of AND slices_of > 0)
) STRICT;
CREATE UNIQUE INDEX card_without_uuid ON card (number, ifnull(slot, -1)) WHERE uuid IS NULL;

CREATE TABLE person (id INTEGER PRIMARY KEY, user TEXT, uid INTEGER, source TEXT) STRICT;
CREATE UNIQUE INDEX person_key ON person (ifnull(user, ''), ifnull(uid, -1), ifnull(source, ''));

-- What a process runs for: each part NULL where there is none, with its source beside it.
CREATE TABLE workload (
    id                 INTEGER PRIMARY KEY,
    job                TEXT,
    step               TEXT,
    job_source         TEXT,
    container          TEXT,
    container_name     TEXT,
    runtime            TEXT,
    container_source   TEXT,
    pod                TEXT,
    pod_name           TEXT,
    pod_namespace      TEXT,
    pod_source         TEXT,
    notebook           TEXT,
    kernel             TEXT,
    client             TEXT,
    notebook_source    TEXT,
    hub_user           TEXT,
    hub_user_source    TEXT,
    environment        TEXT,
    environment_kind   TEXT,
    environment_source TEXT,
    group_id           TEXT,
    group_kind         TEXT,
    group_source       TEXT,
    launcher           TEXT,
    launcher_source    TEXT,
    script             TEXT,
    command            TEXT,                -- NULL: not asked for
    ancestors          TEXT                 -- names of ancestors with the same uid, as JSON
) STRICT;

CREATE TABLE process (
    id          INTEGER PRIMARY KEY,
    boot        INTEGER NOT NULL REFERENCES boot (id),
    pid         INTEGER NOT NULL,
    start_ticks INTEGER NOT NULL,           -- -1: unknown
    started_ms  INTEGER,
    program     TEXT,
    person      INTEGER NOT NULL REFERENCES person (id),
    workload    INTEGER REFERENCES workload (id),
    UNIQUE (pid, start_ticks, boot, person)
) STRICT;

CREATE TABLE holder (
    id       INTEGER PRIMARY KEY,
    card     INTEGER NOT NULL REFERENCES card (id),
    process  INTEGER REFERENCES process (id), -- NULL: memory that no listed process holds
    kinds    INTEGER NOT NULL,              -- 1 compute, 2 graphics, 4 MPS
    -- Full hour after its newest row, set with the hour rows. Without it, finding the holders that have no rows any more
    -- would read all rows: they are keyed by time.
    until_ms INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX holder_key ON holder (process, card) WHERE process IS NOT NULL;
CREATE UNIQUE INDEX holder_unlisted ON holder (card) WHERE process IS NULL;

-- Fine rows: exact spans, later quarter hours. from_ms and length_ms are an exact span's own, or the whole quarter hour
-- of a sum. The four times of an exact span add up to length_ms, those of a sum to at most that: the rest was not
-- observed. A sum has one row for known time and one per reason. More than two spans in one UTC half minute are one row.
-- Time comes first in the key: a key with the card first writes seven times as much.
CREATE TABLE card_span (
    from_ms           INTEGER NOT NULL,
    card              INTEGER NOT NULL,
    reason            INTEGER NOT NULL,     -- of unknown time; 0: known
    length_ms         INTEGER NOT NULL CHECK (length_ms > 0),
    active_ms         INTEGER NOT NULL,
    idle_held_ms      INTEGER NOT NULL,
    free_ms           INTEGER NOT NULL,
    unknown_ms        INTEGER NOT NULL,
    busy              INTEGER NOT NULL,
    busy_unknown_ms   INTEGER NOT NULL,
    memory            INTEGER NOT NULL,
    memory_unknown_ms INTEGER NOT NULL,
    active_j          INTEGER NOT NULL,
    idle_held_j       INTEGER NOT NULL,
    other_j           INTEGER NOT NULL,     -- free; in rows of a reason: unknown
    energy_unknown_ms INTEGER NOT NULL,
    energy_estimated_ms INTEGER NOT NULL,   -- part of the known time in which it is power × time
    PRIMARY KEY (from_ms, card, reason)
) STRICT, WITHOUT ROWID;

CREATE TABLE holder_span (
    from_ms           INTEGER NOT NULL,     -- from_ms and length_ms are the card row's
    holder            INTEGER NOT NULL,
    length_ms         INTEGER NOT NULL CHECK (length_ms > 0),
    working_ms        INTEGER NOT NULL,
    idle_ms           INTEGER NOT NULL,
    unknown_ms        INTEGER NOT NULL,
    idle_beside_ms    INTEGER NOT NULL,     -- part of idle_ms in which another holder works
    active_share_ms   INTEGER NOT NULL,
    low_use_share_ms  INTEGER NOT NULL,
    unused_share_ms   INTEGER NOT NULL,
    unknown_share_ms  INTEGER NOT NULL,
    memory            INTEGER NOT NULL,
    working_memory    INTEGER NOT NULL,     -- idle memory is the difference
    memory_unknown_ms INTEGER NOT NULL,
    active_j          INTEGER NOT NULL,
    idle_held_j       INTEGER NOT NULL,
    energy_unknown_ms INTEGER NOT NULL,
    peak_mib          INTEGER NOT NULL,     -- last: the only one that is not added up
    PRIMARY KEY (from_ms, holder)
) STRICT, WITHOUT ROWID;

-- The same for every complete hour.
CREATE TABLE card_hour (
    from_ms           INTEGER NOT NULL,
    card              INTEGER NOT NULL,
    reason            INTEGER NOT NULL,
    length_ms         INTEGER NOT NULL CHECK (length_ms > 0),
    active_ms         INTEGER NOT NULL,
    idle_held_ms      INTEGER NOT NULL,
    free_ms           INTEGER NOT NULL,
    unknown_ms        INTEGER NOT NULL,
    busy              INTEGER NOT NULL,
    busy_unknown_ms   INTEGER NOT NULL,
    memory            INTEGER NOT NULL,
    memory_unknown_ms INTEGER NOT NULL,
    active_j          INTEGER NOT NULL,
    idle_held_j       INTEGER NOT NULL,
    other_j           INTEGER NOT NULL,
    energy_unknown_ms INTEGER NOT NULL,
    energy_estimated_ms INTEGER NOT NULL,
    PRIMARY KEY (from_ms, card, reason)
) STRICT, WITHOUT ROWID;

CREATE TABLE holder_hour (
    from_ms           INTEGER NOT NULL,
    holder            INTEGER NOT NULL,
    length_ms         INTEGER NOT NULL CHECK (length_ms > 0),
    working_ms        INTEGER NOT NULL,
    idle_ms           INTEGER NOT NULL,
    unknown_ms        INTEGER NOT NULL,
    idle_beside_ms    INTEGER NOT NULL,
    active_share_ms   INTEGER NOT NULL,
    low_use_share_ms  INTEGER NOT NULL,
    unused_share_ms   INTEGER NOT NULL,
    unknown_share_ms  INTEGER NOT NULL,
    memory            INTEGER NOT NULL,
    working_memory    INTEGER NOT NULL,
    memory_unknown_ms INTEGER NOT NULL,
    active_j          INTEGER NOT NULL,
    idle_held_j       INTEGER NOT NULL,
    energy_unknown_ms INTEGER NOT NULL,
    peak_mib          INTEGER NOT NULL,
    PRIMARY KEY (from_ms, holder)
) STRICT, WITHOUT ROWID;

-- What was last seen: of each card with its holders, and of the host (driver, or its error). Replaced at each tick.
CREATE TABLE latest (
    card  INTEGER,                          -- NULL: the host's row
    at_ms INTEGER NOT NULL,
    body  TEXT NOT NULL                     -- JSON
) STRICT;

-- Stretches of at least 5 minutes in which one process held a card without using it. Readers skip open ones under
-- 5 minutes.
CREATE TABLE session (
    from_ms         INTEGER NOT NULL,
    holder          INTEGER NOT NULL,
    to_ms           INTEGER,                -- NULL: open, ends at the until_ms of the newest run that is not imported
    begin_seen      INTEGER NOT NULL,
    doubt_ms        INTEGER NOT NULL,       -- idle time is to - from - doubt
    unused_share_ms INTEGER NOT NULL,
    idle_beside_ms  INTEGER NOT NULL,
    memory          INTEGER NOT NULL,
    peak_mib        INTEGER,
    PRIMARY KEY (from_ms, holder)
) STRICT, WITHOUT ROWID;
CREATE INDEX session_open ON session (holder) WHERE to_ms IS NULL;

-- What says, besides the SMs, that a process works: CPU, encoder, decoder. The sign is part of the key, as two signs may
-- begin at once.
CREATE TABLE sign_span (
    from_ms INTEGER NOT NULL,
    process INTEGER NOT NULL,
    sign    INTEGER NOT NULL,
    to_ms   INTEGER,
    PRIMARY KEY (from_ms, process, sign)
) STRICT, WITHOUT ROWID;

CREATE TABLE sample (
    at_ms         INTEGER NOT NULL,
    card          INTEGER NOT NULL,
    utilization   INTEGER,                  -- percent
    memory_mib    INTEGER,
    power_w       INTEGER,
    temperature_c INTEGER,
    PRIMARY KEY (at_ms, card)
) STRICT, WITHOUT ROWID;

-- Totals of counters. They stay when time is pruned or recorded again. Texts stand in `label`, as the numbers of cards are
-- swept with the record.
CREATE TABLE label (id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE) STRICT;
CREATE TABLE total (
    counter    INTEGER NOT NULL,
    card       INTEGER NOT NULL REFERENCES label (id), -- its UUID; empty: the host
    label      INTEGER NOT NULL REFERENCES label (id),
    value      INTEGER NOT NULL,
    exported   INTEGER NOT NULL,            -- highest value so far
    changed_ms INTEGER NOT NULL,            -- tick that changed it
    PRIMARY KEY (counter, card, label)
) STRICT, WITHOUT ROWID;

-- Outbox of remote write. Ids are not used again, as the time of a message may be set back. at_ms gives the age of a
-- message: it moves along with leaps of the clock.
CREATE TABLE push (id INTEGER PRIMARY KEY AUTOINCREMENT, at_ms INTEGER NOT NULL, body BLOB NOT NULL) STRICT;

-- Time in which no card was observed. Reason 0: a clock that was ahead left it, and no recorder ran.
CREATE TABLE gap (from_ms INTEGER PRIMARY KEY, to_ms INTEGER NOT NULL, reason INTEGER NOT NULL) STRICT;

CREATE TABLE event (
    id       INTEGER PRIMARY KEY,
    run      INTEGER,
    at_ms    INTEGER NOT NULL,
    until_ms INTEGER,
    kind     TEXT NOT NULL,
    detail   TEXT NOT NULL
) STRICT;

-- Idle counts of the rules and the notices that were delivered.
CREATE TABLE policy_state (
    pid         INTEGER NOT NULL,
    start_ticks INTEGER NOT NULL,
    boot        TEXT NOT NULL,
    rule        TEXT,
    action      TEXT,                       -- observe, notify, end
    digest      INTEGER,                    -- of the whole rule: an edited rule has another
    idle_ms     INTEGER NOT NULL,
    missed_ms   INTEGER NOT NULL,
    notices     INTEGER NOT NULL,           -- delivered
    told_at_ms  INTEGER NOT NULL,           -- idle time at the last notice
    clock_ms    INTEGER NOT NULL,
    at_ms       INTEGER NOT NULL,
    PRIMARY KEY (pid, start_ticks)
) STRICT, WITHOUT ROWID;

-- What the rules did. Append-only and never pruned.
CREATE TABLE policy_log (
    id          INTEGER PRIMARY KEY,
    at_ms       INTEGER NOT NULL,
    clock_ms    INTEGER NOT NULL,
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
    BEGIN SELECT RAISE(ABORT, 'policy_log is append-only'); END;
CREATE TRIGGER policy_log_is_not_deleted BEFORE DELETE ON policy_log
    BEGIN SELECT RAISE(ABORT, 'policy_log is append-only'); END;
