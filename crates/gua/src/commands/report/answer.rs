//! Answers a question from what was recorded.

use probe::units::UnixMillis;

use super::super::history::Detail;
use crate::classify::{Lines, Thresholds};
use crate::report::accounts::{Accounts, By};
use crate::report::usage::{Book, Facts, Holdings, Question, Tally, Usage};
use crate::store::{History, StoreError};

/// When and where it is asked.
#[derive(Debug, Clone, Copy)]
pub(in crate::commands) struct Now {
    pub at: UnixMillis,
    /// Whether a recorder has the database.
    pub is_recorded: bool,
    /// Whether this is the host that the history is of.
    pub is_here: bool,
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
        Detail::Spans => {
            Some(Holdings { books: books(history, &question)?, ..Holdings::default() })
        }
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

/// The accounts that are asked for, in one reading; of one person also all that they had.
fn books(history: &History, question: &Question) -> Result<Vec<Book>, StoreError> {
    let mut bys = question.bys.clone();
    if question.user.is_some() && !bys.contains(&By::User) {
        bys.push(By::User);
    }
    let begin = |by: &By| Accounts::new(*by, &question.thresholds).about(question.user.clone());
    let mut books: Vec<_> = bys.iter().map(begin).collect();
    history.pieces(question.window, |piece| {
        books.iter_mut().try_for_each(|book| book.add(piece, |id| history.holder(id)))
    })?;
    let books = bys.into_iter().zip(books);
    Ok(books.map(|(by, accounts)| Book { by, accounts: accounts.finish() }).collect())
}
