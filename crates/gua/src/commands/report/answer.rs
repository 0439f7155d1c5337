//! Answers a question from what was recorded.

use jiff::Timestamp;
use probe::units::{Bytes, UnixMillis};
use rustix::process::geteuid;

use super::super::history::Detail;
use crate::classify::{Kib, Lines, State, Thresholds};
use crate::ledger::Piece;
use crate::report::accounts::{Accounts, By};
use crate::report::bands::{BandTally, Party};
use crate::report::board::{Board, Page};
use crate::report::usage::{
    Book, Facts, Hand, Holdings, MOST_CULPRITS, Onlooker, Question, Recorded, Session, Tally,
    Usage, observed, recorded,
};
use crate::report::who::{self, Asked, Record};
use crate::report::{self, recorded, status};
use crate::store::{self, History, Span, StoreError, Wanted};

/// When and where it is asked.
#[derive(Debug, Clone, Copy)]
pub(in crate::commands) struct Now {
    pub at: UnixMillis,
    /// Whether a recorder has the database.
    pub is_recorded: Option<bool>,
    /// Whether the record reaches up to now.
    pub is_live: bool,
    /// Who asks.
    pub uid: u32,
}

impl Now {
    /// Asked of a history by who runs this.
    pub fn of(
        history: &History,
        at: Timestamp,
        is_recorded: Option<bool>,
    ) -> Result<Self, StoreError> {
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
    question: &Question,
    now: Now,
) -> Result<Usage, StoreError> {
    answer_and(history, question, now, None)
}

/// The same, with what every card did when, and who holds what now.
pub(in crate::commands) fn page(
    history: &History,
    question: &Question,
    now: Now,
) -> Result<Page, StoreError> {
    let mut tally = BandTally::new(question.window);
    let usage = answer_and(history, question, now, Some(&mut tally))?;
    let mut bands = tally.finish(&history.cards()?, |id| {
        let holder = history.holder(id)?.filter(|holder| question.is_about(&holder.identity));
        Ok(holder.as_ref().map(Party::from))
    })?;
    bands.cards.retain(|band| usage.cards.iter().any(|card| band.is_of(card)));
    let is_about_now = question.user.is_none() && question.window.to.0 + SOON >= now.at.0;
    let board = match is_about_now {
        true => board(history, now, question.thresholds.held, question.context)?,
        false => None,
    };
    Ok(Page { usage, bands: Some(bands), board })
}

/// A window that ends so shortly before now ends now.
const SOON: i64 = 60_000;

/// What every card does at the newest tick; `None` where there is none.
pub(in crate::commands) fn board(
    history: &History,
    now: Now,
    held: Bytes,
    context: Bytes,
) -> Result<Option<Board>, StoreError> {
    let Some((looked, record)) = look(history, now, held)? else { return Ok(None) };
    let asked = Asked { context, ..Asked::default() };
    let who = who::who(looked.clone(), record, &asked);
    Ok(Some(Board::new(looked, who, now.is_live)))
}

/// The newest tick as a look would have told it, and what is recorded besides.
pub(in crate::commands) fn look(
    history: &History,
    now: Now,
    held: Bytes,
) -> Result<Option<(report::now::Now, Record)>, StoreError> {
    let Some(tick) = history.replay_newest()? else { return Ok(None) };
    let run = history.newest_run();
    let looked = recorded::now(&tick, run.map(|run| run.host.as_str()), held.into());
    let idleness = history.idleness_of_newest_run()?;
    Ok(Some((looked, Record::new(String::new(), idleness, run, now.at))))
}

fn answer_and(
    history: &History,
    question: &Question,
    now: Now,
    mut bands: Option<&mut BandTally>,
) -> Result<Usage, StoreError> {
    let window = question.window;
    let observed = history.observed(window)?;
    let recorded = recorded(&observed, history.runs());
    let mut tally = Tally::new(question.clone(), &history.identities()?);
    let detail = detail(&recorded, question);
    let line = held_line(&recorded, &question.thresholds);
    let holdings = match detail {
        Detail::Spans => holdings(history, question, line, now, |piece| {
            tally.add_card(&span(piece));
            if let Some(bands) = bands.as_deref_mut() {
                bands.add(piece);
            }
        })?,
        Detail::Samples => as_recorded(history, question, line, now, bands.as_deref_mut())?,
    };
    if question.identities {
        history.owner_spans(window, |span| tally.add_owner(&span))?;
    }
    if detail == Detail::Samples {
        tally.judge_again();
        history.samples(window, |sample| {
            if let Some(bands) = bands.as_deref_mut() {
                let state = sample.evidence.state(&question.thresholds);
                bands.add_state(sample.card, sample.period, state);
            }
            tally.add_sample(&sample);
        })?;
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

/// What was held by whom where the cards are judged again, with how long they were idle-held as
/// recorded.
fn as_recorded(
    history: &History,
    question: &Question,
    line: Kib,
    now: Now,
    mut bands: Option<&mut BandTally>,
) -> Result<Holdings, StoreError> {
    let mut idle_held = 0;
    let holdings = holdings(history, question, line, now, |piece| {
        if piece.state == State::IdleHeld {
            idle_held += piece.counts;
        }
        if let Some(bands) = bands.as_deref_mut() {
            bands.add_people(piece);
        }
    })?;
    Ok(Holdings { idle_held: Some(idle_held), ..holdings })
}

const fn span(piece: &Piece<'_>) -> Span<i64> {
    let Piece { card, period, state, counts, .. } = *piece;
    Span { key: card, period, state, counts }
}

/// The line that what was held is recorded by; the lowest where there were several.
fn held_line(recorded: &[Recorded], asked: &Thresholds) -> Kib {
    let lines = recorded.iter().filter_map(|it| Some(it.lines?.held));
    lines.min().unwrap_or_else(|| asked.held.into())
}

/// What was held by whom, and what the cards did meanwhile, in one reading.
fn holdings(
    history: &History,
    question: &Question,
    line: Kib,
    now: Now,
    mut each: impl FnMut(&Piece<'_>),
) -> Result<Holdings, StoreError> {
    let bys = bys(question);
    let begin = |by: &By| Accounts::new(*by, line).about(question.user.clone());
    let mut books: Vec<_> = bys.iter().map(begin).collect();
    let is_of_workloads = bys.iter().any(|by| by.is_of_a_workload());
    let who = |id| match is_of_workloads {
        true => history.holder(id),
        false => history.holder_alone(id),
    };
    let found = history.sessions_with(question.window, wanted(question, line), |piece| {
        each(piece);
        books.iter_mut().try_for_each(|book| book.add(piece, who))
    })?;
    let books = bys.into_iter().zip(books);
    let books = books.map(|(by, accounts)| Book { by, accounts: accounts.finish() }).collect();
    let sessions = sessions(history, question, now, &found.told)?;
    Ok(Holdings { books, sessions, sessions_left_out: found.left_out, idle_held: None })
}

/// Which sessions to look for.
fn wanted(question: &Question, line: Kib) -> Wanted {
    Wanted {
        more_than: Some(line),
        largest: question.page_sessions.map(|most| most.max(MOST_CULPRITS)),
    }
}

/// The accounts that are asked for; of one person also all that they had.
fn bys(question: &Question) -> Vec<By> {
    let mut bys = question.bys.clone();
    if question.user.is_some() && !bys.contains(&By::User) {
        bys.push(By::User);
    }
    bys
}

fn sessions(
    history: &History,
    question: &Question,
    now: Now,
    found: &[store::Session],
) -> Result<Vec<Session>, StoreError> {
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
    let asked = found.iter().filter(|it| question.is_about(&it.holder.identity));
    Ok(asked.map(|it| Session::new(it, &onlooker)).collect())
}
