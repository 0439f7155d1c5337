-- Layout 4. Times are milliseconds since 1970 in UTC, lengths are milliseconds.

CREATE TABLE host (
    id   INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE
) STRICT;

-- One stretch of recording by one program.
CREATE TABLE run (
    id          INTEGER PRIMARY KEY,
    host        INTEGER NOT NULL REFERENCES host (id),
    boot        TEXT NOT NULL,              -- empty where not known
    driver      TEXT,
    recorder    TEXT NOT NULL,              -- program and version
    interval_ms INTEGER,                    -- NULL: was not written down
    started_ms  INTEGER NOT NULL,
    ended_ms    INTEGER,                    -- NULL: goes on, or was killed
    ending      TEXT,
    goes_back   INTEGER NOT NULL DEFAULT 0  -- 1: began before what was recorded already
) STRICT;

CREATE TABLE card (
    id           INTEGER PRIMARY KEY,
    uuid         TEXT UNIQUE,               -- NULL: it could never be asked
    number       INTEGER NOT NULL,          -- the driver's index when last seen
    slot         INTEGER,                   -- of a MIG instance
    name         TEXT,
    memory_bytes INTEGER
) STRICT;
CREATE UNIQUE INDEX card_without_uuid ON card (number, ifnull(slot, -1)) WHERE uuid IS NULL;

CREATE TABLE identity (
    id     INTEGER PRIMARY KEY,
    user   TEXT,
    uid    INTEGER,
    source TEXT                             -- where it is known from; NULL: was not written down
) STRICT;
CREATE UNIQUE INDEX identity_key
    ON identity (ifnull(user, ''), ifnull(uid, -1), ifnull(source, ''));

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
    command            TEXT,                -- NULL: not asked for
    ancestors          TEXT                 -- names of those with its uid, as JSON; NULL: not known
) STRICT;

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

-- One process on one card.
CREATE TABLE holder (
    id      INTEGER PRIMARY KEY,
    process INTEGER NOT NULL REFERENCES process (id),
    card    INTEGER NOT NULL REFERENCES card (id),
    kinds   INTEGER NOT NULL,               -- 1 compute, 2 graphics, 4 MPS
    UNIQUE (process, card)
) STRICT;

CREATE TABLE tick (
    id        INTEGER PRIMARY KEY,
    run       INTEGER NOT NULL REFERENCES run (id),
    at_ms     INTEGER NOT NULL,
    covers_ms INTEGER NOT NULL,             -- the time before it that it speaks for
    late_ms   INTEGER                       -- NULL: in time
) STRICT;

-- One card at one tick. The number holds both, so that samples lie in the order of ticks.
CREATE TABLE sample (
    id               INTEGER PRIMARY KEY,   -- the tick's, then 20 bits for the card's
    tick             INTEGER NOT NULL AS (id >> 20) REFERENCES tick (id),
    card             INTEGER NOT NULL AS (id & 0xfffff) REFERENCES card (id),
    state            INTEGER NOT NULL,      -- see `state` below
    utilization      INTEGER,               -- hundredths of a percent
    utilization_why  INTEGER,               -- why there is none
    basis            INTEGER,               -- 0 samples, 1 counters, 2 a moment
    held_kib         INTEGER NOT NULL,      -- by holders of known memory
    unseen_kib       INTEGER,               -- used, but by no listed holder
    hidden_why       INTEGER,               -- why there may be more
    holders          INTEGER NOT NULL,
    used_kib         INTEGER,
    power_mw         INTEGER,
    temperature_c    INTEGER
) STRICT;

-- Spans: each within one hour. An open one (length NULL) ends at the last tick. Where
-- counted_ms is set, it is what the span counts for instead of its length. Those of owners
-- and holders say how much they held (codes 3 to 5): what they did follows from what the
-- card did at that time. Of a holder it is told whether it worked itself, where the driver
-- tells (codes 103 to 105 and 203 to 205). Imported ones were judged before (the other codes).
-- A holder's span begins anew when its memory has moved by more than 1/128 of it, or by more
-- than 1/8 while it works.
CREATE TABLE observed (
    from_ms    INTEGER NOT NULL,
    run        INTEGER NOT NULL REFERENCES run (id),
    length_ms  INTEGER,
    counted_ms INTEGER,
    PRIMARY KEY (from_ms, run)
) STRICT, WITHOUT ROWID;

CREATE TABLE card_span (
    from_ms    INTEGER NOT NULL,
    card       INTEGER NOT NULL REFERENCES card (id),
    run        INTEGER NOT NULL REFERENCES run (id),
    state      INTEGER NOT NULL,
    length_ms  INTEGER,
    counted_ms INTEGER,
    PRIMARY KEY (from_ms, card, run)
) STRICT, WITHOUT ROWID;

CREATE TABLE owner_span (
    from_ms    INTEGER NOT NULL,
    card       INTEGER NOT NULL REFERENCES card (id),
    identity   INTEGER NOT NULL REFERENCES identity (id),
    run        INTEGER NOT NULL REFERENCES run (id),
    state      INTEGER NOT NULL,
    length_ms  INTEGER,
    counted_ms INTEGER,
    PRIMARY KEY (from_ms, card, identity, run)
) STRICT, WITHOUT ROWID;

CREATE TABLE holder_span (
    from_ms    INTEGER NOT NULL,
    holder     INTEGER NOT NULL REFERENCES holder (id),
    run        INTEGER NOT NULL REFERENCES run (id),
    state      INTEGER NOT NULL,
    length_ms  INTEGER,
    counted_ms INTEGER,
    memory_kib INTEGER,                     -- when it began
    PRIMARY KEY (from_ms, holder, run)
) STRICT, WITHOUT ROWID;

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

CREATE TABLE event (
    id       INTEGER PRIMARY KEY,
    run      INTEGER REFERENCES run (id),
    at_ms    INTEGER NOT NULL,
    until_ms INTEGER,
    kind     TEXT NOT NULL,
    detail   TEXT NOT NULL
) STRICT;
CREATE INDEX event_at ON event (at_ms);

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

CREATE TABLE pruning (                      -- limits of automatic pruning: one row
    id         INTEGER PRIMARY KEY CHECK (id = 1),
    last_ms    INTEGER NOT NULL,            -- wall time of the last record
    wait_ms    INTEGER NOT NULL,            -- recording needed before anything is deleted
    samples_ms INTEGER NOT NULL,            -- history that may be deleted
    spans_ms   INTEGER NOT NULL
) STRICT;

-- What the numbers of states and reasons mean.
CREATE TABLE state (
    code INTEGER PRIMARY KEY,
    word TEXT NOT NULL
) STRICT;
