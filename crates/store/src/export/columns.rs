//! Tables of an export: their columns, and where each comes from.

use gua_core::Period;

use crate::sums::Bounds;

/// What is exported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExportTable {
    /// Time and sums of cards.
    Cards,
    /// Time, shares and sums of processes on cards, and of memory that no listed process holds.
    Holders,
    /// Stretches in which a process held a card without using it.
    Sessions,
    /// Time in which no card was observed.
    Gaps,
    /// What happened to the record.
    Events,
    /// Readings of cards, for plots.
    Samples,
}

/// A column of an export.
#[derive(Debug, Clone, Copy)]
pub struct ExportColumn {
    /// Name with the unit.
    pub name: &'static str,
    /// Contents, as a noun phrase.
    pub about: &'static str,
    pub(super) content: Content,
    sql: &'static str,
}

/// Kind of values in a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Content {
    /// Numbers, and words of this program. Times are ISO 8601 in UTC.
    Plain,
    /// Text that comes from outside.
    Outside,
    Flag,
    Reason,
    GapReason,
}

/// Rows of one age.
pub(super) struct Source {
    rows: &'static str,
    /// Time at which a row begins.
    at: &'static str,
    /// Times between which the rows are taken.
    within: [i64; 2],
}

impl ExportTable {
    pub const ALL: [Self; 6] =
        [Self::Cards, Self::Holders, Self::Sessions, Self::Gaps, Self::Events, Self::Samples];

    /// Returns the stable word of a table.
    #[must_use]
    pub const fn slug(self) -> &'static str {
        match self {
            Self::Cards => "cards",
            Self::Holders => "holders",
            Self::Sessions => "sessions",
            Self::Gaps => "gaps",
            Self::Events => "events",
            Self::Samples => "samples",
        }
    }

    /// Returns the columns, in order.
    #[must_use]
    pub const fn columns(self) -> &'static [ExportColumn] {
        match self {
            Self::Cards => &CARDS,
            Self::Holders => &HOLDERS,
            Self::Sessions => &SESSIONS,
            Self::Gaps => &GAPS,
            Self::Events => &EVENTS,
            Self::Samples => &SAMPLES,
        }
    }

    /// Returns where the rows are, oldest first. Each time is in one of them only.
    pub(super) fn sources(self, bounds: &Bounds) -> Vec<Source> {
        let always = [i64::MIN, i64::MAX];
        let source = |rows, at, within| Source { rows, at, within };
        let [hours, fine] = [[i64::MIN, bounds.fine_from], [bounds.fine_from, i64::MAX]];
        match self {
            Self::Cards => vec![
                source(CARD_HOUR_ROWS, "r.from_ms", hours),
                source(CARD_ROWS, "r.from_ms", fine),
            ],
            Self::Holders => vec![
                source(HOLDER_HOUR_ROWS, "r.from_ms", hours),
                source(HOLDER_ROWS, "r.from_ms", fine),
            ],
            Self::Sessions => vec![source(SESSION_ROWS, "r.from_ms", always)],
            Self::Gaps => vec![source(GAP_ROWS, "from_ms", always)],
            Self::Events => vec![source("event", "at_ms", always)],
            Self::Samples => vec![source(SAMPLE_ROWS, "at_ms", always)],
        }
    }
}

impl Source {
    pub fn range(&self, window: Period) -> [i64; 2] {
        [window.from.0.max(self.within[0]), window.to.0.min(self.within[1])]
    }

    /// Returns a query for begin, end and the time before which fine rows are quarter hours.
    pub fn sql(&self, table: ExportTable) -> String {
        let columns: Vec<_> = table.columns().iter().map(|column| column.sql).collect();
        let (columns, rows, at) = (columns.join(", "), self.rows, self.at);
        // Not every table has an age, and SQLite refuses a value without a place.
        let sql = format!(
            "SELECT {columns} FROM {rows} WHERE {at} >= ?1 AND {at} < ?2 AND ?3 = ?3 ORDER BY {at}"
        );
        let is_hour = [CARD_HOUR_ROWS, HOLDER_HOUR_ROWS].contains(&rows);
        if is_hour { sql.replace(FINE_KIND, "'hour'") } else { sql }
    }
}

const fn column(name: &'static str, sql: &'static str, about: &'static str) -> ExportColumn {
    ExportColumn { name, about, content: Content::Plain, sql }
}

const fn outside(name: &'static str, sql: &'static str, about: &'static str) -> ExportColumn {
    ExportColumn { name, about, content: Content::Outside, sql }
}

/// Turns milliseconds into ISO 8601. A time that no calendar has stays a number.
macro_rules! moment {
    ($sql:literal) => {
        concat!(
            "ifnull(strftime('%Y-%m-%dT%H:%M:%fZ', ",
            $sql,
            " / 1000.0, 'unixepoch'), ",
            $sql,
            ")"
        )
    };
}

/// The mean of an integral over known time: of `$sum` × seconds, times `$factor`. NULL if none was known.
macro_rules! mean {
    ($sum:literal, $known_ms:expr, $factor:literal) => {
        concat!(
            "CASE WHEN ",
            $known_ms,
            " > 0 THEN round(",
            $sum,
            " * 1000.0 * ",
            $factor,
            " / (",
            $known_ms,
            "), 3) END"
        )
    };
}

/// The same in whole bytes, of MiB × seconds.
macro_rules! mean_bytes {
    ($known_ms:expr) => {
        concat!("CAST(", mean!("r.memory", $known_ms, "1048576"), " AS INTEGER)")
    };
}

macro_rules! card_observed {
    () => {
        "(r.active_ms + r.idle_held_ms + r.free_ms + r.unknown_ms)"
    };
}

macro_rules! holder_observed {
    () => {
        "(r.working_ms + r.idle_ms + r.unknown_ms)"
    };
}

/// A value that is NULL if nothing of the memory of a holder was known.
macro_rules! if_memory_known {
    ($sql:literal) => {
        concat!("CASE WHEN ", holder_observed!(), " > r.memory_unknown_ms THEN ", $sql, " END")
    };
}

macro_rules! if_card_energy_known {
    ($sql:literal) => {
        concat!("CASE WHEN ", card_observed!(), " > r.energy_unknown_ms THEN ", $sql, " END")
    };
}

/// A holder has a part of the card's energy by its shares.
macro_rules! if_holder_energy_known {
    ($sql:literal) => {
        concat!(
            "CASE WHEN r.energy_unknown_ms = 0 OR r.energy_unknown_ms
                 < r.active_share_ms + r.low_use_share_ms + r.unused_share_ms THEN ",
            $sql,
            " END"
        )
    };
}

const FINE_KIND: &str = "CASE WHEN r.from_ms < ?3 THEN 'quarter_hour' ELSE 'span' END";
const ROW: ExportColumn =
    column("row", FINE_KIND, "Age of the row: span, quarter_hour or hour; see how rows are summed");
const FROM: ExportColumn = column("from", moment!("r.from_ms"), "Begin in UTC");
const TO: ExportColumn = column("to", moment!("(r.from_ms + r.length_ms)"), "End in UTC");
const LENGTH: ExportColumn =
    column("length_ms", "r.length_ms", "Time from begin to end, observed or not");
const CARD_UUID: ExportColumn = outside("card_uuid", "card.uuid", "UUID of the card");
const CARD_INDEX: ExportColumn =
    column("card_index", "card.number", "Index of the card when it was last seen");
const MIG_SLOT: ExportColumn = column("mig_slot", "card.slot", "Slot of a MIG instance");
const SLICES: ExportColumn =
    column("slices", "card.slices", "Memory slices of the GPU that the card is: its part of a GPU");
const SLICES_OF: ExportColumn =
    column("slices_of", "card.slices_of", "Memory slices of that GPU; 1 if it is not partitioned");
const USER: ExportColumn = outside("user", "person.user", "Person behind the process");
const UID: ExportColumn = column("uid", "person.uid", "User id of the process");
const PID: ExportColumn =
    column("pid", "process.pid", "Process id; unknown for memory that no listed process holds");
const PROGRAM: ExportColumn = outside("program", "process.program", "Program of the process");
const JOB: ExportColumn = outside("job", "workload.job", "Job of the process");
const CONTAINER: ExportColumn = outside(
    "container",
    "ifnull(workload.container_name, workload.container)",
    "Name of its container, else its id",
);
const POD: ExportColumn =
    outside("pod", "ifnull(workload.pod_name, workload.pod)", "Name of its pod, else its UID");
const NOTEBOOK: ExportColumn = outside("notebook", "workload.notebook", "Path of its notebook");
const SCRIPT: ExportColumn = outside("script", "workload.script", "Script that it runs");
const COMMAND: ExportColumn =
    outside("command", "workload.command", "Command line, if the recorder was told to keep it");
const MEMORY_UNKNOWN: ExportColumn =
    column("memory_unknown_ms", "r.memory_unknown_ms", "Time in which memory was unknown");
const ENERGY_UNKNOWN: ExportColumn = column(
    "energy_unknown_ms",
    "r.energy_unknown_ms",
    "Time in which power was unknown; of a holder by its shares",
);

const CARD_ROWS: &str = "card_span AS r LEFT JOIN card ON card.id = r.card";
const CARD_HOUR_ROWS: &str = "card_hour AS r LEFT JOIN card ON card.id = r.card";

const CARDS: [ExportColumn; 23] = [
    ROW,
    FROM,
    TO,
    LENGTH,
    CARD_UUID,
    CARD_INDEX,
    MIG_SLOT,
    SLICES,
    SLICES_OF,
    ExportColumn {
        name: "unknown_reason",
        about: "Reason of unknown time",
        content: Content::Reason,
        sql: "r.reason",
    },
    column("active_ms", "r.active_ms", "Time in which the card worked"),
    column("idle_held_ms", "r.idle_held_ms", "Time in which it was held and did not work"),
    column("free_ms", "r.free_ms", "Time in which it was free"),
    column("unknown_ms", "r.unknown_ms", "Time in which its state was unknown"),
    column(
        "utilization_mean_percent",
        mean!("r.busy", concat!(card_observed!(), " - r.busy_unknown_ms"), "1"),
        "Mean utilization while it was known",
    ),
    column("utilization_unknown_ms", "r.busy_unknown_ms", "Time in which utilization was unknown"),
    column(
        "memory_mean_bytes",
        mean_bytes!(concat!(card_observed!(), " - r.memory_unknown_ms")),
        "Mean memory in use while it was known",
    ),
    MEMORY_UNKNOWN,
    column(
        "active_joules",
        if_card_energy_known!("r.active_j"),
        "Energy of active time, as far as power was known",
    ),
    column(
        "idle_held_joules",
        if_card_energy_known!("r.idle_held_j"),
        "Energy of idle-held time, as far as power was known",
    ),
    column(
        "other_joules",
        if_card_energy_known!("r.other_j"),
        "Energy of all other time, as far as power was known",
    ),
    ENERGY_UNKNOWN,
    column(
        "energy_estimated_ms",
        "r.energy_estimated_ms",
        "Time in which energy is power × time, as the card has no counter",
    ),
];

const HOLDER_ROWS: &str = "holder_span AS r LEFT JOIN holder ON holder.id = r.holder
     LEFT JOIN card ON card.id = holder.card LEFT JOIN process ON process.id = holder.process
     LEFT JOIN person ON person.id = process.person
     LEFT JOIN workload ON workload.id = process.workload";
const HOLDER_HOUR_ROWS: &str = "holder_hour AS r LEFT JOIN holder ON holder.id = r.holder
     LEFT JOIN card ON card.id = holder.card LEFT JOIN process ON process.id = holder.process
     LEFT JOIN person ON person.id = process.person
     LEFT JOIN workload ON workload.id = process.workload";

const HOLDERS: [ExportColumn; 36] = [
    ROW,
    FROM,
    TO,
    LENGTH,
    CARD_UUID,
    CARD_INDEX,
    MIG_SLOT,
    SLICES,
    SLICES_OF,
    USER,
    UID,
    PID,
    column("process_started", moment!("process.started_ms"), "Begin of the process in UTC"),
    PROGRAM,
    JOB,
    CONTAINER,
    POD,
    NOTEBOOK,
    SCRIPT,
    COMMAND,
    column("working_ms", "r.working_ms", "Time in which the process worked on the card"),
    column("idle_ms", "r.idle_ms", "Time in which it held the card and did not work"),
    column("work_unknown_ms", "r.unknown_ms", "Time in which it is unknown whether it worked"),
    column("idle_beside_ms", "r.idle_beside_ms", "Part of the idle time in which another worked"),
    column("active_share_ms", "r.active_share_ms", "Its share of the card's active time"),
    column(
        "low_use_share_ms",
        "r.low_use_share_ms",
        "Its share of the card's idle-held time while it worked a little",
    ),
    column(
        "unused_share_ms",
        "r.unused_share_ms",
        "Its share of the card's idle-held time without work",
    ),
    column("unknown_share_ms", "r.unknown_share_ms", "Its share of the card's unknown time"),
    column(
        "memory_mean_bytes",
        mean_bytes!(concat!(holder_observed!(), " - r.memory_unknown_ms")),
        "Mean memory of the process on the card while it was known",
    ),
    column(
        "memory_mib_seconds",
        if_memory_known!("r.memory"),
        "Sum of memory over time, as far as it was known",
    ),
    column(
        "working_memory_mib_seconds",
        if_memory_known!("r.working_memory"),
        "Part of that sum while it worked",
    ),
    MEMORY_UNKNOWN,
    column(
        "memory_peak_bytes",
        if_memory_known!("r.peak_mib * 1048576"),
        "Most memory, as far as it was known",
    ),
    column(
        "active_joules",
        if_holder_energy_known!("r.active_j"),
        "Its part of the card's energy of active time",
    ),
    column(
        "idle_held_joules",
        if_holder_energy_known!("r.idle_held_j"),
        "Its part of the card's energy of idle-held time",
    ),
    ENERGY_UNKNOWN,
];

/// Open sessions end where the record is final. Those under 5 minutes may never become one.
const SESSION_ROWS: &str = "(SELECT *, ifnull(to_ms, (SELECT until_ms FROM run WHERE NOT imported
         ORDER BY id DESC LIMIT 1)) AS end_ms FROM session
         WHERE to_ms IS NOT NULL OR end_ms - from_ms >= 300000) AS r
     LEFT JOIN holder ON holder.id = r.holder
     LEFT JOIN card ON card.id = holder.card LEFT JOIN process ON process.id = holder.process
     LEFT JOIN person ON person.id = process.person
     LEFT JOIN workload ON workload.id = process.workload";

const SESSIONS: [ExportColumn; 24] = [
    FROM,
    column("to", moment!("r.end_ms"), "End in UTC; of an open session the end of the record"),
    flag("is_open", "r.to_ms IS NULL", "True if it goes on"),
    flag("is_begin_seen", "r.begin_seen", "False if it may have begun earlier"),
    CARD_UUID,
    CARD_INDEX,
    MIG_SLOT,
    SLICES,
    SLICES_OF,
    USER,
    UID,
    PID,
    PROGRAM,
    JOB,
    CONTAINER,
    POD,
    NOTEBOOK,
    SCRIPT,
    COMMAND,
    column(
        "idle_ms",
        "max(0, r.end_ms - r.from_ms - r.doubt_ms)",
        "Time in which it was idle without doubt",
    ),
    column("doubt_ms", "r.doubt_ms", "Time in which its work was unknown or not observed"),
    column("unused_share_ms", "r.unused_share_ms", "Its share of the card's idle-held time"),
    column("idle_beside_ms", "r.idle_beside_ms", "Part in which another process worked"),
    column("memory_peak_bytes", "r.peak_mib * 1048576", "Most memory"),
];

const fn flag(name: &'static str, sql: &'static str, about: &'static str) -> ExportColumn {
    ExportColumn { name, about, content: Content::Flag, sql }
}

/// Stored gaps, and time between two runs, with the number 0.
const GAP_ROWS: &str = "(SELECT from_ms, to_ms, reason FROM gap UNION ALL
     SELECT from_ms, to_ms, 0 FROM (SELECT started_ms AS to_ms, max(until_ms) OVER
         (ORDER BY started_ms, id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS from_ms FROM run)
         WHERE from_ms < to_ms)";

const GAPS: [ExportColumn; 4] = [
    column("from", moment!("from_ms"), "Begin in UTC"),
    column("to", moment!("to_ms"), "End in UTC"),
    column("length_ms", "to_ms - from_ms", "Time that was not observed"),
    ExportColumn {
        name: "reason",
        about: "Why it was not: not_recorded if no recorder ran",
        content: Content::GapReason,
        sql: "reason",
    },
];

const EVENTS: [ExportColumn; 4] = [
    column("at", moment!("at_ms"), "Time in UTC"),
    column("until", moment!("until_ms"), "End in UTC, if it has one"),
    column("kind", "kind", "Stable word"),
    outside("detail", "detail", "Sentence"),
];

const SAMPLE_ROWS: &str = "sample AS r LEFT JOIN card ON card.id = r.card";

const SAMPLES: [ExportColumn; 8] = [
    column("at", moment!("at_ms"), "Time in UTC"),
    CARD_UUID,
    CARD_INDEX,
    MIG_SLOT,
    column("utilization_percent", "r.utilization", "Utilization"),
    column("memory_used_bytes", "r.memory_mib * 1048576", "Memory in use"),
    column("power_watts", "r.power_w", "Power"),
    column("temperature_celsius", "r.temperature_c", "Temperature"),
];
