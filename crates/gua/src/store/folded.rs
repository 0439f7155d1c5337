//! The pieces of a window, folded into what they say of each card and of each who held it.

use std::collections::HashMap;

use probe::units::UnixMillis;

use super::ended::Ended;
use crate::classify::State;
use crate::ledger::{ByNumber, Fold, Held, Passage, Piece, Says, Share, Sharer, Spell, Weights};

/// What is held idle, or holds it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Subject {
    Card(i64),
    Holder(i64),
}

/// A window, folded.
#[derive(Debug, Default)]
pub(super) struct Folded {
    bridge: i64,
    /// Each with the card that it is on.
    folds: ByNumber<Subject, (i64, Fold)>,
    /// Up to when each card was seen.
    seen: ByNumber<i64, UnixMillis>,
    /// What holders' spells came to, with their shares; none where only the last count.
    ended: Option<Ended>,
    weights: Weights,
    shares: Vec<Share>,
}

impl Folded {
    /// Only what goes on at its end.
    pub fn new(bridge: i64) -> Self {
        Self { bridge, ..Self::default() }
    }

    /// Also what ended in it.
    pub fn keeping(ended: Ended, bridge: i64) -> Self {
        Self { ended: Some(ended), ..Self::new(bridge) }
    }

    pub fn add(&mut self, piece: &Piece<'_>) {
        let Piece { card, period, counts, state, holders, .. } = *piece;
        let passage = Passage {
            period,
            counts,
            says: Says::of(state),
            memory: None,
            is_busy: state == State::Active,
            is_as_the_card: false,
            share: Share::NONE,
            seen_until: self.seen(card),
        };
        self.pass(Subject::Card(card), card, &passage);
        self.split(piece);
        for (place, held) in holders.iter().enumerate() {
            let says = Says::of_holder(held.state, state);
            let share = self.shares.get(place).copied().unwrap_or(Share::NONE);
            let Held { memory, is_as_the_card, .. } = *held;
            let passage = Passage { says, memory, is_as_the_card, share, ..passage };
            self.pass(Subject::Holder(held.holder), card, &passage);
        }
        if !matches!(state, State::Unknown(_)) {
            self.seen.insert(card, period.to);
        }
    }

    /// Everybody's share of a piece, by their place, where shares are asked for.
    fn split(&mut self, piece: &Piece<'_>) {
        let Self { weights, shares, ended, .. } = self;
        shares.clear();
        if ended.is_none() || piece.state != State::IdleHeld {
            return;
        }
        weights.take(piece.holders, piece.unseen);
        shares.resize(piece.holders.len(), Share::NONE);
        weights.split(piece.counts, |sharer, share| {
            if let Sharer::Holder(place) = sharer
                && let Some(sum) = shares.get_mut(place)
            {
                sum.add(share);
            }
        });
    }

    fn pass(&mut self, subject: Subject, card: i64, passage: &Passage) {
        let (_, fold) = self.folds.entry(subject).or_insert_with(|| (card, Fold::default()));
        let Some(spell) = fold.add(passage, self.bridge) else { return };
        if let (Some(ended), Subject::Holder(_)) = (&mut self.ended, subject) {
            ended.add(subject, spell);
        }
    }

    /// What ended, and how many of them were left out.
    pub fn ended(&mut self) -> (Vec<(Subject, Spell)>, usize) {
        self.ended.take().map(Ended::finish).unwrap_or_default()
    }

    /// The spells that had not ended when the window did.
    pub fn last(&self) -> impl Iterator<Item = (Subject, Spell)> {
        self.folds.iter().filter_map(|(subject, (_, fold))| Some((*subject, fold.spell()?)))
    }

    /// Which of them go on at the end of the record: nothing was seen of their card since. Each
    /// with when it was last seen.
    pub fn open(&self, until: UnixMillis) -> HashMap<Subject, UnixMillis> {
        let goes_on = |(subject, spell): (Subject, Spell)| {
            let card = self.card(subject)?;
            let is_last = self.seen(card).is_none_or(|seen| seen <= spell.to);
            let is_near = until.0.saturating_sub(spell.to.0) <= self.bridge;
            (is_last && is_near).then_some((subject, spell.to))
        };
        self.last().filter_map(goes_on).collect()
    }

    /// What is known of one of them.
    pub fn fold(&self, subject: Subject) -> Fold {
        self.folds.get(&subject).map(|(_, fold)| *fold).unwrap_or_default()
    }

    /// The card that it is about.
    pub fn card(&self, subject: Subject) -> Option<i64> {
        match subject {
            Subject::Card(card) => Some(card),
            Subject::Holder(_) => self.folds.get(&subject).map(|(card, _)| *card),
        }
    }

    /// Up to when a card was seen.
    pub fn seen(&self, card: i64) -> Option<UnixMillis> {
        self.seen.get(&card).copied()
    }
}
