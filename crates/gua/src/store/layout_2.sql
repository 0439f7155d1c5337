-- From layout 1 to 2: samples were kept by (tick, card), and SQLite spread each tick's over
-- three pages anew. Not to be changed any more: files of layout 2 are made by it.

ALTER TABLE sample RENAME TO sample_1;

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

INSERT INTO sample (id, state, utilization, utilization_why, basis, held_kib, unseen_kib,
        hidden_why, holders, used_kib, power_mw, temperature_c)
    SELECT tick << 20 | card, state, utilization, utilization_why, basis, held_kib, unseen_kib,
        hidden_why, holders, used_kib, power_mw, temperature_c
    FROM sample_1 ORDER BY tick, card;

DROP TABLE sample_1;

PRAGMA user_version = 2;
