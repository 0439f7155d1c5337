//! What the view is showing: the newest look, what is remembered, and what was chosen.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use gua_core::snapshot::CardNow;
use probe::units::UnixMillis;

use super::holding::{self, Choice, Column, Entry, Holding, Order};
use super::look::{CardKey, HolderKey, Look};
use super::past::Past;
use super::series::{Point, Series};
use super::signal::{Signal, Target};
use super::tree::{self, Line, LineKey, What};
use crate::cli::Zone;
use crate::failure::Failure;
use crate::safe::safe;
use gua_core::Period;
use gua_core::Thresholds;
use gua_core::period::HOUR;

/// What does not change while the view is shown.
#[derive(Debug, Clone)]
pub struct Settings {
    pub every: Duration,
    pub zone: Zone,
    /// Who looks, for one's own processes.
    pub uid: u32,
    /// What is shown here is not on this host, so that nothing may be signalled.
    pub is_pretend: bool,
    /// The lines by which cards and holders are judged.
    pub thresholds: Thresholds,
    pub began: UnixMillis,
}

/// How much time the graphs show, in milliseconds.
const SPANS: [i64; 5] = [60_000, 300_000, 900_000, 1_800_000, HOUR];
/// Without a history there is little to show at first.
const SPAN_WITHOUT_HISTORY: usize = 1;
const SPAN_WITH_HISTORY: usize = 4;

/// Which part of the screen the arrows move in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Focus {
    Cards,
    Holders,
}

/// What is open over the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mode {
    List,
    /// The filter is being typed; what it was before.
    Filter {
        before: String,
    },
    Details {
        of: Subject,
        scroll: Scroll,
    },
    Help {
        scroll: Scroll,
    },
    Signal {
        target: Target,
        choice: Signal,
        is_asked: bool,
    },
}

/// What details are shown of. It stays the same one, whatever takes its place in the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Subject {
    Card(CardKey),
    Holder(HolderKey),
}

/// How far a text is scrolled, and how far it can be, once it was drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Scroll {
    pub at: usize,
    pub end: Option<usize>,
}

impl Scroll {
    /// Moves by so many lines.
    #[must_use]
    pub fn by(self, lines: isize) -> Self {
        let at = self.at.saturating_add_signed(lines);
        Self { at: self.end.map_or(at, |end| at.min(end)), ..self }
    }
}

/// Where one is in a list that may be longer than its part of the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Cursor {
    pub at: usize,
    pub top: usize,
    /// How many lines are seen.
    pub page: usize,
}

impl Cursor {
    /// Moves by so many lines within a list of this length.
    pub fn go(&mut self, by: isize, count: usize) {
        self.at = self.at.saturating_add_signed(by).min(count.saturating_sub(1));
    }

    /// Brings the place into view.
    pub fn fit(&mut self, page: usize, count: usize) {
        self.page = page;
        self.at = self.at.min(count.saturating_sub(1));
        let lowest = (self.at + 1).saturating_sub(page);
        self.top = self.top.clamp(lowest, self.at.max(lowest)).min(count.saturating_sub(page));
    }
}

/// Whether there is a history, as the bottom line tells it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Remembers {
    OnlyWhatWasSeen,
    From(UnixMillis),
    /// There is one that cannot be read.
    Not(String),
}

impl Remembers {
    /// One row has room for what it is, not for what to do.
    #[must_use]
    pub fn not(failure: &Failure) -> Self {
        Self::Not(safe(failure.to_string().lines().next().unwrap_or_default()))
    }
}

/// Everything that is drawn, and nothing of how.
#[derive(Debug)]
pub struct State {
    pub settings: Settings,
    /// What is shown; with a pause, not the newest.
    pub look: Option<Arc<Look>>,
    newest: Option<Arc<Look>>,
    pub is_paused: bool,
    pub series: HashMap<CardKey, Series>,
    pub remembers: Remembers,
    pub span: usize,
    pub order: Order,
    pub choice: Choice,
    pub is_tree: bool,
    pub focus: Focus,
    pub mode: Mode,
    pub cards: Cursor,
    pub holders: Cursor,
    chosen: Option<LineKey>,
    /// All who hold a card or may, as they were when the look was shown.
    entries: Vec<Entry>,
    pub lines: Vec<Line>,
    /// What was last done, until the next key.
    pub message: Option<String>,
}

impl State {
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        Self {
            settings,
            look: None,
            newest: None,
            is_paused: false,
            series: HashMap::new(),
            remembers: Remembers::OnlyWhatWasSeen,
            span: SPAN_WITHOUT_HISTORY,
            order: Order { by: Column::Card, is_reversed: false },
            choice: Choice::default(),
            is_tree: false,
            focus: Focus::Holders,
            mode: Mode::List,
            cards: Cursor::default(),
            holders: Cursor::default(),
            chosen: None,
            entries: Vec::new(),
            lines: Vec::new(),
            message: None,
        }
    }

    /// Takes in a look. With a pause it is remembered, but not shown.
    pub fn see(&mut self, look: Look) {
        let since = self.newest.as_ref().map(|newest| newest.at());
        for card in &look.now.cards {
            let series = self.series.entry(CardKey::of(card)).or_default();
            series.push(point(card, since, look.at(), self.settings.every));
        }
        let look = Arc::new(look);
        self.newest = Some(Arc::clone(&look));
        if !self.is_paused {
            self.look = Some(look);
            self.gather();
        }
    }

    /// Takes in what was recorded before.
    pub fn remember(&mut self, past: Past) {
        let Past { from, series } = past;
        for (card, points) in series {
            self.series.entry(card).or_default().put_before(points);
        }
        if let Some(from) = from {
            self.remembers = Remembers::From(from);
            self.span = SPAN_WITH_HISTORY;
        }
    }

    pub fn pause(&mut self) {
        self.is_paused = !self.is_paused;
        if !self.is_paused {
            self.look.clone_from(&self.newest);
            self.gather();
        }
    }

    /// The entries anew. Not during a pause: what is known by now is not of that look.
    fn gather(&mut self) {
        let Some(look) = &self.look else { return };
        self.entries = holding::entries(look);
        self.arrange();
    }

    /// How many hold a card or may, shown or not.
    #[must_use]
    pub const fn all_holders(&self) -> usize {
        self.entries.len()
    }

    /// The list anew, with the chosen line where it is now.
    pub fn arrange(&mut self) {
        let Some(look) = &self.look else { return };
        let chosen = self.entries.iter().filter(|entry| self.choice.has(entry));
        let mut entries: Vec<_> = chosen.cloned().collect();
        self.order.sort(&mut entries);
        self.lines = if self.is_tree { tree::tree(entries) } else { tree::flat(entries) };
        let is_chosen = |line: &Line| Some(line.key()) == self.chosen;
        if let Some(at) = self.lines.iter().position(is_chosen) {
            self.holders.at = at;
        }
        self.holders.at = self.holders.at.min(self.lines.len().saturating_sub(1));
        self.cards.at = self.cards.at.min(look.now.cards.len().saturating_sub(1));
    }

    /// Remembers which line the place is on.
    pub fn choose(&mut self) {
        self.chosen = self.lines.get(self.holders.at).map(Line::key);
    }

    /// The holder that is chosen, where it is one.
    #[must_use]
    pub fn holding(&self) -> Option<&Holding> {
        match &self.lines.get(self.holders.at)?.what {
            What::Holder(holding) => Some(holding),
            What::Unseen(_) | What::Parent(_) => None,
        }
    }

    /// What Enter tells more of.
    #[must_use]
    pub fn subject(&self) -> Option<Subject> {
        if self.focus == Focus::Cards {
            return Some(Subject::Card(CardKey::of(self.card()?)));
        }
        match self.lines.get(self.holders.at)?.key() {
            LineKey::Holder(key) => Some(Subject::Holder(key)),
            LineKey::Unseen(key) => Some(Subject::Card(key)),
            LineKey::Parent(_) => None,
        }
    }

    /// A holder, while it is one.
    #[must_use]
    pub fn holder(&self, key: &HolderKey) -> Option<&Holding> {
        self.entries.iter().find_map(|entry| match entry {
            Entry::Holder(holding) if holding.key == *key => Some(&**holding),
            Entry::Holder(_) | Entry::Unseen(_) => None,
        })
    }

    #[must_use]
    pub fn card(&self) -> Option<&CardNow> {
        self.look.as_ref()?.now.cards.get(self.cards.at)
    }

    #[must_use]
    pub fn card_count(&self) -> usize {
        self.look.as_ref().map_or(0, |look| look.now.cards.len())
    }

    /// The time that the graphs show, in milliseconds.
    #[must_use]
    pub fn span_millis(&self) -> i64 {
        SPANS.get(self.span).copied().unwrap_or(HOUR)
    }

    pub fn zoom(&mut self, by: isize) {
        self.span = self.span.saturating_add_signed(by).min(SPANS.len() - 1);
    }
}

#[expect(clippy::cast_precision_loss, clippy::cast_possible_truncation, reason = "for a plot")]
fn point(card: &CardNow, since: Option<UnixMillis>, at: UnixMillis, every: Duration) -> Point {
    let longest = i64::try_from(every.as_millis().saturating_mul(2)).unwrap_or(HOUR);
    let earliest = UnixMillis(at.0.saturating_sub(longest));
    let from = since.unwrap_or(at).clamp(earliest, at);
    let full = |(used, total): (u64, u64)| (total > 0).then(|| used as f32 / total as f32);
    Point {
        period: Period::new(from, at),
        work: card.utilization_percent.map(|percent| (percent / 100.0) as f32),
        memory: card.memory_used_bytes.zip(card.memory_total_bytes).and_then(full),
    }
}
