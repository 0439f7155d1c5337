//! Ticks made into entries, with what is to be told besides (pure).

use std::collections::BTreeMap;
use std::time::Duration;

use probe::units::UnixMillis;
use probe::{Reading, Why};

use crate::classify::Thresholds;
use crate::ledger::{Clocks, Entry, Event, Judge, Kind, Period, Stretch, Timeline, Trouble};
use crate::sampler::{CardTick, Tick};

/// Remembers the last tick, so as to tell what is new about the next.
#[derive(Debug)]
pub struct Observer {
    judge: Judge,
    timeline: Timeline,
    last: Option<UnixMillis>,
    driver: Driver,
    ailing: BTreeMap<String, Why>,
    /// Since the last tick.
    noticed: Vec<Event>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Driver {
    NotSeen,
    Here(Option<String>),
    Gone,
}

impl Driver {
    /// Whether a tick found it as it was.
    fn is_as(&self, tick: &Tick) -> bool {
        match (self, &tick.driver) {
            (Self::Here(version), Ok(driver)) => {
                version.as_ref() == driver.version.as_ref().known()
            }
            (Self::Gone, Err(_)) => true,
            (Self::NotSeen | Self::Here(_) | Self::Gone, _) => false,
        }
    }
}

impl Observer {
    /// Has seen nothing yet.
    #[must_use]
    pub fn new(interval: Duration, thresholds: Thresholds) -> Self {
        Self {
            judge: Judge::new(thresholds),
            timeline: Timeline::new(interval),
            last: None,
            driver: Driver::NotSeen,
            ailing: BTreeMap::new(),
            noticed: Vec::new(),
        }
    }

    /// What a tick means that was made when the clocks showed this, and what happened
    /// since the last.
    pub fn see(
        &mut self,
        tick: &Tick,
        clocks: Clocks,
        late: Option<Duration>,
    ) -> (Entry, Vec<Event>) {
        let stretch = self.timeline.tick(clocks);
        self.notice_gap(&stretch);
        let entry = self.entry(tick, &stretch, late);
        self.last = Some(entry.at);
        (entry, std::mem::take(&mut self.noticed))
    }

    /// The driver's version, where it is there and tells it.
    #[must_use]
    pub fn driver_version(&self) -> Option<&str> {
        match &self.driver {
            Driver::Here(version) => version.as_deref(),
            Driver::NotSeen | Driver::Gone => None,
        }
    }

    fn entry(&mut self, tick: &Tick, stretch: &Stretch, late: Option<Duration>) -> Entry {
        let at = stretch.covers.to;
        self.notice_driver(tick, at);
        if tick.driver.is_err() {
            // No card was read. What they did until the driver is back is not known either.
            self.timeline.break_off();
            return Entry { at, covers: Period::none_at(at), late, cards: Vec::new() };
        }
        self.notice_cards(tick, at);
        self.judge.entry(tick, stretch.covers, late)
    }

    fn notice_gap(&mut self, stretch: &Stretch) {
        let (Some(trouble), Some(last)) = (stretch.gap, self.last) else { return };
        let missing = Period::new(last, stretch.covers.from);
        let detail = match trouble {
            Trouble::ClockSet => {
                let seconds = stretch.covers.to.0.saturating_sub(last.0) / 1000;
                format!("the clock was set; since the last tick it moved by {seconds} s")
            }
            Trouble::Suspended => format!("the machine slept for {:.0} s", missing.seconds()),
            Trouble::Late | Trouble::DriverGone | Trouble::Storage => {
                format!("the tick came too late, {:.0} s are missing", missing.seconds())
            }
        };
        let until = Some(missing.to).filter(|until| *until > last);
        self.noticed.push(Event { at: last, until, kind: Kind::Gap(trouble), detail });
    }

    fn notice_driver(&mut self, tick: &Tick, at: UnixMillis) {
        if self.driver.is_as(tick) {
            return;
        }
        let (now, kind, detail) = match &tick.driver {
            Ok(driver) => {
                let version = driver.version.clone().known();
                let words = version.as_deref().unwrap_or("of an unknown version");
                let detail = format!("the driver is {words}");
                (Driver::Here(version), Kind::Driver, detail)
            }
            Err(error) => (Driver::Gone, Kind::Gap(Trouble::DriverGone), error.to_string()),
        };
        // Since the last tick at which it was there nothing is known.
        let since = if now == Driver::Gone { self.last.unwrap_or(at) } else { at };
        if self.driver != Driver::NotSeen {
            self.noticed.push(Event { at: since, until: None, kind, detail });
        }
        self.driver = now;
    }

    /// Cards that fell ill, and those that are well again.
    fn notice_cards(&mut self, tick: &Tick, at: UnixMillis) {
        let ailing: BTreeMap<String, Why> = tick
            .cards
            .iter()
            .filter_map(|card| card.vitals.trouble().map(|why| (name(card), why)))
            .collect();
        if ailing == self.ailing {
            return;
        }
        let before = std::mem::replace(&mut self.ailing, ailing);
        let ill = self.ailing.iter().filter(|(card, why)| before.get(*card) != Some(*why));
        let ill = ill.map(|(card, why)| format!("{card}: {why}"));
        let well = before.keys().filter(|card| !self.ailing.contains_key(*card));
        let told: Vec<_> = ill.chain(well.map(|card| format!("{card} is well again"))).collect();
        for detail in told {
            self.noticed.push(Event { at, until: None, kind: Kind::Card, detail });
        }
    }
}

fn name(card: &CardTick) -> String {
    let index = card.facts.index;
    match &card.facts.uuid {
        Reading::Known(uuid) => format!("card {index} ({uuid})"),
        Reading::Unknown(_) => format!("card {index}"),
    }
}
