//! Answers a question from what was recorded.

use jiff::Timestamp;
use probe::units::UnixMillis;
use rustix::process::geteuid;

use super::super::history::Detail;
use crate::classify::{Lines, Thresholds};
use crate::ledger::Period;
use crate::report::accounts::{Accounts, By, Parts};
use crate::report::status;
use crate::report::usage::{
    Book, Facts, Hand, Holdings, Onlooker, Question, Session, Tally, Usage, observed,
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
fn detail(history: &History, question: &Question) -> Detail {
    let lines = Lines::from(&question.thresholds);
    let is_judged = history.is_judged_by(question.window, lines);
    if is_judged { Detail::Spans } else { Detail::Samples }
}

/// Answers from what was recorded.
pub(in crate::commands) fn answer(
    history: &History,
    question: Question,
    now: Now,
) -> Result<Usage, StoreError> {
    let window = question.window;
    let detail = detail(history, &question);
    let holdings = match detail {
        Detail::Spans => Some(holdings(history, &question, now)?),
        Detail::Samples => None,
    };
    let mut tally = Tally::new(question, &history.identities()?);
    if detail == Detail::Spans {
        history.card_spans(window, |span| tally.add_card(&span))?;
        history.owner_spans(window, |span| tally.add_owner(&span))?;
    } else {
        tally.judge_again();
        history.samples(window, |sample| tally.add_sample(&sample))?;
    }
    let facts = Facts {
        runs: history.runs().to_vec(),
        cards: history.cards()?,
        observed: history.observed(window)?,
        events: history.events(window)?,
        extent: history.extent()?,
        newest_tick: history.newest_tick()?,
        is_recorded: now.is_recorded,
        now: now.at,
        holdings,
    };
    Ok(tally.finish(&facts))
}

/// What was held by whom, in two readings: sessions first, as their parts are known only then.
fn holdings(history: &History, question: &Question, now: Now) -> Result<Holdings, StoreError> {
    let mut found = history.sessions(question.window, 0)?;
    let line = question.thresholds.held.into();
    found.retain(|it| it.held_more_than(line) && question.is_about(&it.holder.identity));
    let stretch = |it: &store::Session| (it.holder.id, Period::new(it.spell.from, it.spell.to));
    let mut parts = Parts::new(found.iter().map(stretch));
    let books = books(history, question, &mut parts)?;
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
    Ok(Holdings { books, sessions })
}

/// The accounts that are asked for; of one person also all that they had.
fn books(
    history: &History,
    question: &Question,
    parts: &mut Parts,
) -> Result<Vec<Book>, StoreError> {
    let mut bys = question.bys.clone();
    if question.user.is_some() && !bys.contains(&By::User) {
        bys.push(By::User);
    }
    let begin = |by: &By| Accounts::new(*by, &question.thresholds).about(question.user.clone());
    let mut books: Vec<_> = bys.iter().map(begin).collect();
    history.pieces(question.window, |piece| {
        parts.add(piece);
        books.iter_mut().try_for_each(|book| book.add(piece, |id| history.holder(id)))
    })?;
    let books = bys.into_iter().zip(books);
    Ok(books.map(|(by, accounts)| Book { by, accounts: accounts.finish() }).collect())
}
