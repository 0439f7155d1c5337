//! Adds up pieces of cards' time, one by one: what it keeps grows with the accounts, not with
//! the time.

use std::collections::HashMap;

use probe::Why;

use super::account::{Account, HeldIdle, OnCard, Peak};
use super::by::By;
use super::name::Name;
use crate::classify::{Kib, State};
use crate::ledger::{ByNumber, Held, Identity, Piece, Share, Sharer, Weights, whole};
use crate::store::HolderRow;

/// Accounts in the making.
#[derive(Debug)]
pub struct Accounts {
    by: By,
    /// Whom alone it is about.
    user: Option<String>,
    /// More than this is held.
    line: Kib,
    accounts: Vec<Kept>,
    places: HashMap<Name, usize>,
    place_of: ByNumber<i64, usize>,
    weights: Weights,
    here: Vec<Here>,
    /// Which of these each holder of the piece is of.
    of_holders: Vec<usize>,
}

/// An account with its shares, which are not whole milliseconds yet.
#[derive(Debug)]
struct Kept {
    account: Account,
    share: Share,
    /// In the order of the account's cards.
    shares: Vec<Share>,
}

/// An account in one piece.
#[derive(Debug, Clone, Copy)]
struct Here {
    place: usize,
    works: bool,
    /// Whether one of them alone holds more than the line without working.
    holds: bool,
    is_unsure: bool,
    /// Whether one of them is known only by what the card did.
    is_as_the_card: bool,
    /// Of all who do not work.
    idle: Kib,
    /// Of all.
    held: Peak,
    share: Share,
}

/// What somebody of an account did on a card.
#[derive(Debug, Clone, Copy)]
struct Deed {
    state: State,
    is_as_the_card: bool,
    /// What counts as theirs.
    memory: Kib,
    /// What is known to be.
    told: Option<Kib>,
}

impl Here {
    const fn new(place: usize) -> Self {
        Self {
            place,
            works: false,
            holds: false,
            is_unsure: false,
            is_as_the_card: false,
            idle: Kib(0),
            held: Peak::Known(Kib(0)),
            share: Share::NONE,
        }
    }

    /// Somebody of the account is on the card.
    const fn come(&mut self, deed: &Deed) {
        self.is_as_the_card |= deed.is_as_the_card;
        self.held = self.held.with(deed.told);
        match deed.state {
            State::Active => self.works = true,
            State::Unknown(_) => self.is_unsure = true,
            State::IdleHeld | State::TrulyIdle => {
                self.holds |= matches!(deed.state, State::IdleHeld);
                self.idle.0 = self.idle.0.saturating_add(deed.memory.0);
            }
        }
    }

    /// What the account did as a whole; `None` where it held next to nothing.
    fn did(&self, line: Kib) -> Option<Did> {
        if self.works {
            Some(Did::Worked)
        } else if self.holds || self.idle > line {
            Some(Did::HeldIdle)
        } else {
            self.is_unsure.then_some(Did::Unknown)
        }
    }
}

/// What an account did over a piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Did {
    Worked,
    HeldIdle,
    Unknown,
}

impl Accounts {
    /// Nothing added yet.
    #[must_use]
    pub fn new(by: By, line: Kib) -> Self {
        Self {
            by,
            user: None,
            line,
            accounts: Vec::new(),
            places: HashMap::new(),
            place_of: ByNumber::default(),
            weights: Weights::default(),
            here: Vec::new(),
            of_holders: Vec::new(),
        }
    }

    /// Only what is of one person, by name or uid: what others have is counted with them where
    /// cards are split, and then left out.
    #[must_use]
    pub fn about(mut self, user: Option<String>) -> Self {
        self.user = user;
        self
    }

    /// Adds a piece. `holder` tells who is behind a number, and is asked once for each.
    ///
    /// # Errors
    /// What `holder` says.
    pub fn add<E>(
        &mut self,
        piece: &Piece<'_>,
        mut holder: impl FnMut(i64) -> Result<Option<HolderRow>, E>,
    ) -> Result<(), E> {
        self.here.clear();
        self.of_holders.clear();
        self.weights.take(piece.holders, piece.unseen);
        for (place, held) in piece.holders.iter().enumerate() {
            let memory = held.memory.unwrap_or_else(|| self.weights.of(place));
            let account = self.place_of(held, piece.card, &mut holder)?;
            let state = doing(held, memory, piece.state, self.line);
            let is_as_the_card = held.is_as_the_card;
            let deed = Deed { state, is_as_the_card, memory, told: held.memory };
            let here = self.come(account, &deed);
            self.of_holders.push(here);
        }
        // Somebody holds what is idle-held, also where it was not written down how much.
        let is_held = piece.unseen.is_some() || piece.state == State::IdleHeld;
        let unseen = (self.weights.have_unseen() && is_held).then(|| {
            let account = self.place(self.of_unseen(piece.card));
            let state = self.unseen(piece.state);
            let memory = piece.unseen.unwrap_or(Kib(0));
            let told = piece.unseen;
            // On a card where nobody worked they did not either; else it is unknown.
            self.come(account, &Deed { state, is_as_the_card: false, memory, told })
        });
        if piece.state == State::IdleHeld {
            self.share(piece.counts, unseen);
        }
        self.count(piece);
        Ok(())
    }

    /// All accounts, those with the largest share of idle-held time first.
    #[must_use]
    pub fn finish(mut self) -> Vec<Account> {
        // In an order of its own, so that the same history is always rounded the same way.
        self.accounts.sort_by(|a, b| a.account.name.cmp(&b.account.name));
        let shares: Vec<_> = self.accounts.iter().map(|kept| kept.share).collect();
        let told = self.accounts.into_iter().zip(whole(&shares));
        let mut accounts: Vec<_> = told.map(|(kept, share)| kept.finish(share)).collect();
        accounts.retain(|account| account.name != Name::Another);
        accounts.sort_by(|a, b| {
            let order = |it: &Account| (it.idle_held_share, it.idle_held, it.present);
            order(b).cmp(&order(a)).then_with(|| a.name.cmp(&b.name))
        });
        accounts
    }

    fn place_of<E>(
        &mut self,
        held: &Held,
        card: i64,
        holder: &mut impl FnMut(i64) -> Result<Option<HolderRow>, E>,
    ) -> Result<usize, E> {
        if let Some(place) = self.place_of.get(&held.holder) {
            return Ok(*place);
        }
        let name = match holder(held.holder)? {
            Some(row) if !self.is_about(&row.identity) => Name::Another,
            Some(row) => self.by.name(&row),
            None => self.of_unseen(card),
        };
        let place = self.place(name);
        self.place_of.insert(held.holder, place);
        Ok(place)
    }

    fn is_about(&self, identity: &Identity) -> bool {
        self.user.as_deref().is_none_or(|user| identity.is_called(user))
    }

    fn of_unseen(&self, card: i64) -> Name {
        if self.user.is_some() { Name::Another } else { self.by.of_unseen(card) }
    }

    fn place(&mut self, name: Name) -> usize {
        let next = self.accounts.len();
        let place = *self.places.entry(name.clone()).or_insert(next);
        if place == next {
            self.accounts.push(Kept::new(name));
        }
        place
    }

    /// What those do who are not listed. Whether it is them who work, nobody can say.
    fn unseen(&self, card: State) -> State {
        match card {
            State::Active if self.by != By::Card => State::Unknown(Why::NotTold),
            state => state,
        }
    }

    /// Somebody of an account is on the card; gives where that is among those who are.
    fn come(&mut self, place: usize, deed: &Deed) -> usize {
        let here = self.here.iter().position(|here| here.place == place);
        let here = here.unwrap_or_else(|| {
            self.here.push(Here::new(place));
            self.here.len() - 1
        });
        if let Some(here) = self.here.get_mut(here) {
            here.come(deed);
        }
        here
    }

    /// Splits a time among those who are here.
    fn share(&mut self, millis: i64, unseen: Option<usize>) {
        let Self { weights, here, of_holders, .. } = self;
        weights.split(millis, |sharer, share| {
            let place = match sharer {
                Sharer::Holder(at) => of_holders.get(at).copied(),
                Sharer::Unseen => unseen,
            };
            if let Some(it) = place.and_then(|place| here.get_mut(place)) {
                it.share.add(share);
            }
        });
    }

    fn count(&mut self, piece: &Piece<'_>) {
        for here in &self.here {
            let Some(kept) = self.accounts.get_mut(here.place) else { continue };
            kept.count_on(piece.card, piece.counts, here.share);
            let is_idle = here.holds || here.idle > self.line;
            let idle = if is_idle { here.idle } else { Kib(0) };
            kept.account.held_idle.add(idle, piece.counts);
            kept.account.peak = kept.account.peak.and(here.held);
            if let Some(did) = here.did(self.line) {
                kept.account.add(did, here.is_as_the_card, piece);
            }
        }
    }
}

/// What a process did. One that does not tell what it holds has what nobody else accounts for,
/// and whether that is much decides where its card is known not to work.
fn doing(held: &Held, memory: Kib, card: State, line: Kib) -> State {
    match (held.state, held.memory, card) {
        (State::Unknown(_), None, State::IdleHeld) if memory > line => State::IdleHeld,
        (state, ..) => state,
    }
}

impl Kept {
    const fn new(name: Name) -> Self {
        Self { account: Account::new(name), share: Share::NONE, shares: Vec::new() }
    }

    fn count_on(&mut self, card: i64, millis: i64, share: Share) {
        self.account.present += millis;
        self.share.add(share);
        let cards = &mut self.account.cards;
        let place = cards.iter().position(|on| on.card == card).unwrap_or(cards.len());
        if place == cards.len() {
            cards.push(OnCard { card, present: 0, idle_held_share: 0 });
            self.shares.push(Share::NONE);
        }
        if let (Some(on), Some(sum)) = (cards.get_mut(place), self.shares.get_mut(place)) {
            on.present += millis;
            sum.add(share);
        }
    }

    fn finish(self, idle_held_share: i64) -> Account {
        let mut account = Account { idle_held_share, ..self.account };
        for (on, share) in account.cards.iter_mut().zip(whole(&self.shares)) {
            on.idle_held_share = share;
        }
        account
    }
}

impl Account {
    const fn new(name: Name) -> Self {
        Self {
            name,
            present: 0,
            worked: 0,
            idle_held: 0,
            unknown: 0,
            as_the_card: 0,
            worked_little: 0,
            peak: Peak::Known(Kib(0)),
            idle_held_share: 0,
            held_idle: HeldIdle(0),
            cards: Vec::new(),
        }
    }

    fn add(&mut self, did: Did, is_as_the_card: bool, piece: &Piece<'_>) {
        let millis = piece.counts;
        match did {
            Did::Worked => self.worked += millis,
            Did::HeldIdle => self.idle_held += millis,
            Did::Unknown => self.unknown += millis,
        }
        if is_as_the_card && did != Did::Unknown {
            self.as_the_card += millis;
        }
        if did == Did::Worked && piece.state == State::IdleHeld {
            self.worked_little += millis;
        }
    }
}
