//! What happens besides the passing of time: the driver, cards and the clock. Pure.

use std::collections::BTreeMap;

use gua_core::poll::CardPoll;
use gua_core::span::{Gap, GapReason};
use gua_core::units::UnixMillis;
use gua_core::{Clocks, Poll, Reason};
use gua_store::Event;

/// Finds out what is new at each poll.
#[derive(Debug, Default)]
pub(crate) struct Notices {
    last: Option<Clocks>,
    driver: Driver,
    unread: BTreeMap<String, Reason>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
enum Driver {
    #[default]
    NotSeen,
    Present(Option<String>),
    Away,
}

impl Notices {
    /// Returns what happened since the poll before.
    pub fn add(&mut self, poll: &Poll, version: Option<&str>) -> Vec<Event> {
        let mut events = Vec::new();
        events.extend(self.clock_event(poll.clocks));
        events.extend(self.driver_event(poll, version));
        if let Ok(cards) = &poll.cards {
            self.card_events(cards, poll.clocks.wall, &mut events);
        }
        self.last = Some(poll.clocks);
        events
    }

    fn clock_event(&self, now: Clocks) -> Option<Event> {
        let last = self.last.filter(|last| now.was_set_since(last))?;
        let passed = now.since_boot.saturating_sub(last.since_boot).as_millis();
        let step = now.wall.0 - last.wall.0 - i64::try_from(passed).unwrap_or(i64::MAX);
        let direction = if step < 0 { "back" } else { "forward" };
        let seconds = step.unsigned_abs() / 1000;
        Some(event(now.wall, "clock-set", format!("The clock was set {direction} by {seconds} s.")))
    }

    fn driver_event(&mut self, poll: &Poll, version: Option<&str>) -> Option<Event> {
        let now = match &poll.cards {
            Ok(_) => Driver::Present(version.map(str::to_owned)),
            Err(_) => Driver::Away,
        };
        if now == self.driver {
            return None;
        }
        let before = std::mem::replace(&mut self.driver, now);
        let version = version.unwrap_or("of an unknown version");
        match (&poll.cards, before) {
            (Ok(_), Driver::NotSeen) => None,
            (Ok(_), Driver::Away) => {
                let detail = format!("The driver is back; it is {version}.");
                Some(event(poll.clocks.wall, "driver", detail))
            }
            (Ok(_), Driver::Present(_)) => {
                let detail = format!("The driver is {version} now.");
                Some(event(poll.clocks.wall, "driver", detail))
            }
            (Err(reason), _) => {
                // Nothing is known since the last poll that found it.
                let since = self.last.map_or(poll.clocks.wall, |last| last.wall);
                Some(event(since, "driver-away", format!("The driver is away: {reason}.")))
            }
        }
    }

    /// Adds the cards that cannot be read now, and those that can be again.
    fn card_events(&mut self, cards: &[CardPoll], at: UnixMillis, events: &mut Vec<Event>) {
        let trouble = |card: &CardPoll| Some((name(card), card.reading.trouble()?));
        let unread: BTreeMap<_, _> = cards.iter().filter_map(trouble).collect();
        if unread == self.unread {
            return;
        }
        let before = std::mem::replace(&mut self.unread, unread);
        let new = self.unread.iter().filter(|(card, reason)| before.get(*card) != Some(*reason));
        let new = new.map(|(card, reason)| format!("{card} cannot be read: {reason}."));
        let gone = before.keys().filter(|card| !self.unread.contains_key(*card));
        let gone = gone.map(|card| format!("{card} can be read again."));
        events.extend(new.chain(gone).map(|detail| event(at, "card", detail)));
    }
}

/// Returns a line for the log about a gap.
pub(crate) fn describe_gap(gap: &Gap) -> Option<String> {
    let seconds = gap.period.millis() / 1000;
    match gap.reason {
        GapReason::Suspended => Some(format!("The machine slept for {seconds} s.")),
        GapReason::Late => Some(format!("A poll came late; {seconds} s are missing.")),
        // There are events of these.
        GapReason::ClockSet | GapReason::Storage | GapReason::Driver(_) => None,
    }
}

pub(crate) fn event(at: UnixMillis, kind: &str, detail: String) -> Event {
    Event { at, until: None, kind: kind.to_owned(), detail }
}

fn name(card: &CardPoll) -> String {
    let label = card.card.label();
    match card.card.uuid.as_ref().known() {
        Some(uuid) => format!("Card {label} ({uuid})"),
        None => format!("Card {label}"),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use gua_core::Reading;
    use gua_core::card::{CardFacts, Vitals};

    use super::*;

    fn clocks(seconds: u64, step: i64) -> Clocks {
        let since_boot = Duration::from_secs(1000 + seconds);
        let wall = UnixMillis(1_000_000_000 + i64::try_from(seconds).unwrap() * 1000 + step * 1000);
        Clocks { wall, since_boot, awake: since_boot }
    }

    fn poll(clocks: Clocks, cards: Result<&[Option<Reason>], Reason>) -> Poll {
        let card = |(index, trouble): (usize, &Option<Reason>)| {
            let index = u32::try_from(index).unwrap();
            let uuid = Reading::Known(format!("GPU-{index}"));
            let mut reading = Vitals::unknown(Reason::NotAsked);
            if let Some(reason) = trouble {
                reading = Vitals::unknown(*reason);
            }
            let facts = CardFacts { uuid, ..CardFacts::unread(index, Reason::NotAsked) };
            CardPoll { card: Arc::new(facts), reading, processes: Vec::new() }
        };
        let cards = cards.map(|cards| cards.iter().enumerate().map(card).collect());
        Poll { clocks, cards, exits: Vec::new() }
    }

    fn details(events: &[Event]) -> Vec<&str> {
        events.iter().map(|event| event.detail.as_str()).collect()
    }

    #[test]
    fn card_that_cannot_be_read_is_noticed_once_and_when_it_is_back() {
        let mut notices = Notices::default();
        let mut add = |at, card| notices.add(&poll(clocks(at, 0), Ok(&[None, card])), Some("1"));
        assert_eq!(add(0, None), []);
        let lost = add(5, Some(Reason::Lost));
        assert_eq!(details(&lost), ["Card 1 (GPU-1) cannot be read: lost from the bus."]);
        assert_eq!(add(10, Some(Reason::Lost)), []);
        let other = add(15, Some(Reason::NeedsReset));
        assert_eq!(details(&other), ["Card 1 (GPU-1) cannot be read: needs a reset."]);
        assert_eq!(details(&add(20, None)), ["Card 1 (GPU-1) can be read again."]);
    }

    #[test]
    fn driver_that_goes_and_comes_back_is_noticed() {
        let mut notices = Notices::default();
        assert_eq!(notices.add(&poll(clocks(0, 0), Ok(&[])), Some("1")), []);
        let away = notices.add(&poll(clocks(5, 0), Err(Reason::DriverGone)), None);
        assert_eq!(details(&away), ["The driver is away: the driver went away."]);
        assert_eq!(away[0].at, clocks(0, 0).wall);
        assert_eq!(notices.add(&poll(clocks(10, 0), Err(Reason::DriverGone)), None), []);
        let back = notices.add(&poll(clocks(15, 0), Ok(&[])), Some("2"));
        assert_eq!(details(&back), ["The driver is back; it is 2."]);
        let changed = notices.add(&poll(clocks(20, 0), Ok(&[])), Some("3"));
        assert_eq!(details(&changed), ["The driver is 3 now."]);
    }

    #[test]
    fn clock_that_was_set_is_noticed() {
        let mut notices = Notices::default();
        let mut add = |at, step| notices.add(&poll(clocks(at, step), Ok(&[])), Some("1"));
        assert_eq!(add(0, 0), []);
        assert_eq!(add(5, 0), []);
        assert_eq!(details(&add(10, 3600)), ["The clock was set forward by 3600 s."]);
        assert_eq!(details(&add(15, 3000)), ["The clock was set back by 600 s."]);
    }
}
