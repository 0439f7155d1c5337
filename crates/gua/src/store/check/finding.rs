//! What can be wrong in a database.

use probe::units::UnixMillis;

/// One thing that is not as it must be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Finding {
    /// In SQLite's words.
    Structure(String),
    /// A row names one that is not there.
    Reference { table: String, parent: String },
    /// A span without length, or one that reaches over a full hour.
    Length { span: SpanId, millis: i64 },
    /// Only the newest run may have open spans, and only while it goes on.
    Open(SpanId),
    /// Two spans of one thing in one run.
    Overlap { span: SpanId, other_from: UnixMillis },
    /// Two runs speak for the same time, and the later one did not go back to it.
    OverlapOfRuns { span: SpanId, other_run: i64 },
    /// A part without its whole: nobody observed, or nothing is known of the card then.
    Uncovered(SpanId),
    /// The observed time of a run is not what its ticks cover.
    ObservedSum { run: i64, ticks_millis: i64, spans_millis: i64 },
    /// The time of a card in a state is not what its samples count.
    StateSum { run: i64, card: i64, code: i64, samples_millis: i64, spans_millis: i64 },
    /// A tick is not later than the one before it in its run.
    TickOrder { run: i64, tick: i64 },
    /// A tick that speaks for less than no time.
    TickCovers { tick: i64, millis: i64 },
    /// A number that no version has given out.
    UnknownState { table: Table, code: i64 },
}

/// What a span is known by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SpanId {
    pub table: Table,
    pub from: UnixMillis,
    /// Of the card or of the holder; 0 where it is observed time.
    pub id: i64,
    pub run: i64,
}

/// The tables that have states or times.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Table {
    Observed,
    CardSpan,
    OwnerSpan,
    HolderSpan,
    UnseenSpan,
    Sample,
}

impl Table {
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Observed => "observed",
            Self::CardSpan => "card_span",
            Self::OwnerSpan => "owner_span",
            Self::HolderSpan => "holder_span",
            Self::UnseenSpan => "unseen_span",
            Self::Sample => "sample",
        }
    }
}
