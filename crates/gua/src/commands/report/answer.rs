//! Answers a question from what was recorded.

use jiff::Timestamp;
use probe::units::UnixMillis;
use rustix::process::geteuid;

use super::super::history::Detail;
use crate::classify::{Kib, Lines, State, Thresholds};
use crate::ledger::Period;
use crate::report::accounts::{Accounts, By, Parts};
use crate::report::status;
use crate::report::usage::{
    Book, Facts, Hand, Holdings, Onlooker, Question, Recorded, Session, Tally, Usage, observed,
    recorded,
};
use crate::store::{self, History, StoreError};

/// When and where it is asked.
#[derive(Debug, Clone, Copy)]
pub(in crate::commands) struct Now {
    pub at: UnixMillis,
    /// Whether a recorder has the database.
    pub is_recorded: bool,
    /// Whether the record reaches up to now.
    pub is_live: bool,
    /// Who asks.
    pub uid: u32,
}

impl Now {
    /// Asked of a history by who runs this.
    pub fn of(history: &History, at: Timestamp, is_recorded: bool) -> Result<Self, StoreError> {
        let at = UnixMillis(at.as_millisecond());
        let is_live = status::is_live(history.newest_run(), history.newest_tick()?, at);
        Ok(Self { at, is_recorded, is_live, uid: geteuid().as_raw() })
    }
}

/// The Python gua judges by lines that are our usual ones.
pub(super) fn detail_of_python(question: &Question) -> Detail {
    let is_usual = question.thresholds == Thresholds::default();
    if is_usual { Detail::Spans } else { Detail::Samples }
}

/// By the recorder's own lines the spans are judged already, and go further back.
fn detail(recorded: &[Recorded], question: &Question) -> Detail {
    let asked = Lines::from(&question.thresholds);
    let is_judged = |it: &Recorded| it.lines.is_some_and(|lines| lines.judges_cards_as(&asked));
    if recorded.iter().all(is_judged) { Detail::Spans } else { Detail::Samples }
}

/// Answers from what was recorded.
pub(in crate::commands) fn answer(
    history: &History,
    question: Question,
    now: Now,
) -> Result<Usage, StoreError> {
    let window = question.window;
    let observed = history.observed(window)?;
    let recorded = recorded(&observed, history.runs());
    let detail = detail(&recorded, &question);
    let mut holdings = holdings(history, &question, &recorded, now)?;
    let mut tally = Tally::new(question, &history.identities()?);
    history.owner_spans(window, |span| tally.add_owner(&span))?;
    match detail {
        Detail::Spans => history.card_spans(window, |span| tally.add_card(&span))?,
        Detail::Samples => {
            tally.judge_again();
            history.samples(window, |sample| tally.add_sample(&sample))?;
            holdings.idle_held = Some(idle_held(history, window)?);
        }
    }
    let facts = Facts {
        runs: history.runs().to_vec(),
        cards: history.cards()?,
        observed,
        events: history.events(window)?,
        extent: history.extent()?,
        newest_tick: history.newest_tick()?,
        is_recorded: now.is_recorded,
        now: now.at,
        holdings: Some(holdings),
    };
    Ok(tally.finish(&facts))
}

/// How long cards were idle-held as recorded, in milliseconds.
fn idle_held(history: &History, window: Period) -> Result<i64, StoreError> {
    let mut sum = 0;
    history.card_spans(window, |span| {
        if span.state == State::IdleHeld {
            sum += span.counts;
        }
    })?;
    Ok(sum)
}

/// The line that what was held is recorded by; the lowest where there were several.
fn held_line(recorded: &[Recorded], asked: &Thresholds) -> Kib {
    let lines = recorded.iter().filter_map(|it| Some(it.lines?.held));
    lines.min().unwrap_or_else(|| asked.held.into())
}

/// What was held by whom, in two readings: sessions first, as their parts are known only then.
fn holdings(
    history: &History,
    question: &Question,
    recorded: &[Recorded],
    now: Now,
) -> Result<Holdings, StoreError> {
    let mut found = history.sessions(question.window, 0)?;
    let line = held_line(recorded, &question.thresholds);
    found.retain(|it| it.held_more_than(line) && question.is_about(&it.holder.identity));
    let stretch = |it: &store::Session| (it.holder.id, Period::new(it.spell.from, it.spell.to));
    let mut parts = Parts::new(found.iter().map(stretch));
    let books = books(history, question, line, &mut parts)?;
    let cards = history.cards()?;
    let observed = observed(&history.observed(question.window)?);
    let onlooker = Onlooker {
        cards: &cards,
        window: question.window,
        observed: &observed,
        is_live: now.is_live,
        hand: question.user.as_ref().map_or(Hand::Uid(now.uid), |_| Hand::Theirs),
        context: question.context.into(),
    };
    let told = found.iter().zip(parts.finish());
    let sessions = told.map(|(it, part)| Session::new(it, part, &onlooker)).collect();
    Ok(Holdings { books, sessions, idle_held: None })
}

/// The accounts that are asked for; of one person also all that they had.
fn books(
    history: &History,
    question: &Question,
    line: Kib,
    parts: &mut Parts,
) -> Result<Vec<Book>, StoreError> {
    let mut bys = question.bys.clone();
    if question.user.is_some() && !bys.contains(&By::User) {
        bys.push(By::User);
    }
    let begin = |by: &By| Accounts::new(*by, line).about(question.user.clone());
    let mut books: Vec<_> = bys.iter().map(begin).collect();
    history.pieces(question.window, |piece| {
        parts.add(piece);
        books.iter_mut().try_for_each(|book| book.add(piece, |id| history.holder(id)))
    })?;
    let books = bys.into_iter().zip(books);
    Ok(books.map(|(by, accounts)| Book { by, accounts: accounts.finish() }).collect())
}
