//! What was held by whom: from sums to what is told.

use super::account::{Account, Beside};
use super::person_page::PersonPage;
use super::session::{Culprits, Session, culprits, in_order};
use super::suggestion::suggestion;
use super::tally::Question;
use super::times::hours;
use crate::report::accounts::{self, By};
use crate::store::CardRow;

/// What was held by whom.
#[derive(Debug, Default)]
pub struct Holdings {
    pub books: Vec<Book>,
    pub sessions: Vec<Session>,
    /// Of all cards, in milliseconds, where that was added up apart from what is told of them.
    pub idle_held: Option<i64>,
    pub sessions_left_out: usize,
}

/// All accounts of one kind.
#[derive(Debug)]
pub struct Book {
    pub by: By,
    pub accounts: Vec<accounts::Account>,
}

/// What is told of it.
#[derive(Debug, Default)]
pub(super) struct Told {
    pub accounts: Option<Vec<Account>>,
    pub sessions: Option<Vec<Session>>,
    pub person: Option<PersonPage>,
    pub culprits: Option<Culprits>,
}

impl Holdings {
    pub(super) fn told(&self, question: &Question, beside: &Beside<'_>) -> Told {
        let told = |by: By| {
            let accounts = self.of(by).filter(|account| account.present > 0);
            accounts.map(move |account| beside.told(by, account))
        };
        let mut sessions = self.sessions.clone();
        in_order(&mut sessions);
        let person = question.user.as_ref().and_then(|_| {
            let account = told(By::User).next()?;
            let suggestion = suggestion(&account, &sessions, self.smallest_memory(beside.cards));
            Some(PersonPage { account, suggestion })
        });
        Told {
            accounts: Some(question.bys.iter().flat_map(|by| told(*by)).collect()),
            culprits: culprits(&sessions, hours(beside.idle_held)),
            sessions: Some(sessions),
            person,
        }
    }

    /// Whether anybody of them was on a card.
    pub(super) fn is_on(&self, card: i64) -> bool {
        self.of(By::User).any(|account| account.cards.iter().any(|on| on.card == card))
    }

    fn of(&self, by: By) -> impl Iterator<Item = &accounts::Account> {
        self.books.iter().filter(move |book| book.by == by).flat_map(|book| &book.accounts)
    }

    /// Of the cards that anybody was on, where all of them are known.
    fn smallest_memory(&self, cards: &[CardRow]) -> Option<u64> {
        let held = cards.iter().filter(|card| self.is_on(card.id));
        let memory: Option<Vec<_>> = held.map(|card| card.memory_bytes).collect();
        memory?.into_iter().min()
    }
}
