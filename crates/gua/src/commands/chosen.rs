//! The cards that were asked for: what the typed ids mean, settled once and then kept.

use std::sync::Arc;

use probe::card::{CardFacts, Vitals};
use probe::{Reading, Why};

use crate::failure::Failure;
use crate::sampler::{CardTick, Tick};

/// The cards that were asked for; all of them when none was.
#[derive(Debug)]
pub(super) struct Chosen {
    picks: Vec<Pick>,
    is_settled: bool,
}

impl Chosen {
    pub fn new(typed: &[String]) -> Self {
        let pick = |typed: &String| Pick { typed: typed.clone(), meant: Vec::new() };
        Self { picks: typed.iter().map(pick).collect(), is_settled: typed.is_empty() }
    }

    /// Leaves only the chosen cards in the tick. One that is not there any more is shown as
    /// gone: what was chosen once stays chosen.
    ///
    /// # Errors
    /// When an id means no card, at the first tick that has a driver to ask.
    pub fn among(&mut self, tick: Tick) -> Result<Tick, Failure> {
        if self.picks.is_empty() {
            return Ok(tick);
        }
        if !self.is_settled && tick.driver.is_ok() {
            for pick in &self.picks {
                pick.check(&tick.cards)?;
            }
            self.is_settled = true;
        }
        self.picks.iter_mut().for_each(|pick| pick.follow(&tick.cards));
        let missing = self.picks.iter().flat_map(|pick| pick.missing(&tick.cards));
        let missing: Vec<_> = missing.collect();
        let is_wanted = |card: &CardTick| self.picks.iter().any(|pick| pick.means(&card.facts));
        let here = tick.cards.into_iter().filter(is_wanted);
        let mut cards: Vec<_> = here.chain(missing).collect();
        cards.sort_by_key(|card| place(&card.facts));
        cards.dedup_by_key(|card| place(&card.facts));
        Ok(Tick { cards, ..tick })
    }
}

/// One id, and the cards that it meant when it was last followed.
#[derive(Debug)]
struct Pick {
    typed: String,
    meant: Vec<Arc<CardFacts>>,
}

impl Pick {
    /// By its name or, where it cannot tell that now, by the place it had before.
    fn means(&self, card: &CardFacts) -> bool {
        is_called(card, &self.typed)
            || (is_unread(card) && self.meant.iter().any(|meant| is_at_the_place_of(card, meant)))
    }

    fn check(&self, cards: &[CardTick]) -> Result<(), Failure> {
        if cards.iter().any(|card| self.means(&card.facts)) {
            return Ok(());
        }
        let may_be = |card: &&CardTick| is_unread(&card.facts) && may_be(&card.facts, &self.typed);
        let unread: Vec<_> = cards.iter().filter(may_be).map(|card| card.facts.index).collect();
        Err(match unread.as_slice() {
            [] => no_such_card(&self.typed, cards),
            unread => cannot_tell(&self.typed, unread),
        })
    }

    /// Remembers which cards it means now, as long as they say who they are.
    fn follow(&mut self, cards: &[CardTick]) {
        let named = cards.iter().filter(|card| is_called(&card.facts, &self.typed));
        let named: Vec<_> = named.map(|card| Arc::clone(&card.facts)).collect();
        if !named.is_empty() {
            self.meant = named;
        }
    }

    /// What it meant before, when it means nothing now.
    fn missing(&self, cards: &[CardTick]) -> Vec<CardTick> {
        if cards.iter().any(|card| self.means(&card.facts)) {
            return Vec::new();
        }
        self.meant.iter().map(|facts| gone(Arc::clone(facts))).collect()
    }
}

fn gone(facts: Arc<CardFacts>) -> CardTick {
    CardTick {
        facts,
        vitals: Vitals::unknown(Why::Gone),
        unattributed: Reading::Unknown(Why::Gone),
        holders: Arc::default(),
    }
}

fn place(card: &CardFacts) -> (u32, Option<u32>) {
    (card.index, card.instance.as_ref().map(|instance| instance.slot))
}

/// A GPU that cannot be read does not tell its instances apart.
fn is_at_the_place_of(card: &CardFacts, meant: &CardFacts) -> bool {
    place(card) == place(meant) || (card.instance.is_none() && card.index == meant.index)
}

fn is_unread(card: &CardFacts) -> bool {
    card.uuid.why().is_some()
}

/// By index, by index and slot as it is shown, by UUID, its own or its GPU's, or by bus id.
fn is_called(card: &CardFacts, typed: &str) -> bool {
    let is = |uuid: &Reading<String>| uuid.as_ref().is_known_and(|uuid| uuid == typed);
    let instance = card.instance.as_ref();
    typed == card.index.to_string()
        || is(&card.uuid)
        || card.bus_id.as_ref().is_known_and(|bus_id| bus_id.eq_ignore_ascii_case(typed))
        || instance.is_some_and(|instance| is(&instance.parent_uuid) || typed == card.label())
}

/// Whether a card that does not say who it is could be the one: an index says it, a UUID
/// may be anybody's.
fn may_be(card: &CardFacts, typed: &str) -> bool {
    let index = typed.split_once(':').map_or(typed, |(index, _)| index);
    index.parse::<u32>().map_or(!typed.is_empty(), |index| index == card.index)
}

fn no_such_card(typed: &str, cards: &[CardTick]) -> Failure {
    let next = match cards.last() {
        Some(last) => {
            let last = last.facts.index;
            format!("Choose from 0 to {last}, or a UUID as in `gua stat --json`.")
        }
        None => "The driver counts no cards on this host.".to_owned(),
    };
    Failure::Usage { what: format!("there is no card `{typed}` here"), next }
}

fn cannot_tell(typed: &str, unread: &[u32]) -> Failure {
    let list = unread.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
    let plural = if unread.len() == 1 { "" } else { "s" };
    Failure::CannotTell {
        what: format!(
            "there is no card `{typed}` among those that can be read; card{plural} {list} cannot \
             be read"
        ),
        next: format!("`--id {list}` shows why, and `gua doctor` what to do."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use probe::card::InstanceFacts;
    use probe::nvml::{DriverFacts, OpenError};
    use probe::units::UnixMillis;

    fn known(index: u32, uuid: &str) -> CardFacts {
        let unread = CardFacts::unread(index, Why::NotAsked);
        CardFacts { uuid: Reading::Known(uuid.into()), ..unread }
    }

    fn instance(index: u32, slot: u32, uuid: &str, parent: &str) -> CardFacts {
        let parent_uuid = Reading::Known(parent.into());
        let instance = InstanceFacts { slot, gpu_instance: Reading::Known(slot), parent_uuid };
        CardFacts { instance: Some(instance), ..known(index, uuid) }
    }

    fn lost(index: u32) -> CardFacts {
        CardFacts::unread(index, Why::Lost)
    }

    fn tick(cards: Vec<CardFacts>) -> Tick {
        let driver = DriverFacts {
            version: Reading::Unknown(Why::NotAsked),
            nvml_version: Reading::Unknown(Why::NotAsked),
            cuda_version: Reading::Unknown(Why::NotAsked),
            gpus: 0,
        };
        let look = |facts| CardTick { vitals: Vitals::unknown(Why::Lost), ..gone(Arc::new(facts)) };
        let cards = cards.into_iter().map(look).collect();
        Tick { at: UnixMillis(0), driver: Ok(driver), cards }
    }

    fn chosen(ids: &[&str]) -> Chosen {
        Chosen::new(&ids.iter().map(ToString::to_string).collect::<Vec<_>>())
    }

    type Place = (u32, Option<u32>);

    /// Places and reasons of the cards that are left.
    fn left(chosen: &mut Chosen, cards: Vec<CardFacts>) -> Vec<(Place, Option<Why>)> {
        let tick = chosen.among(tick(cards)).unwrap();
        let of = |card: &CardTick| (place(&card.facts), card.vitals.utilization.why());
        tick.cards.iter().map(of).collect()
    }

    const LOST: Option<Why> = Some(Why::Lost);
    const GONE: Option<Why> = Some(Why::Gone);

    #[test]
    fn a_card_is_chosen_by_index_slot_or_uuid() {
        let cards = || vec![known(0, "A"), instance(1, 2, "M", "B"), instance(1, 5, "N", "B")];
        let places = |ids: &[&str]| -> Vec<_> {
            left(&mut chosen(ids), cards()).into_iter().map(|(place, _)| place).collect()
        };
        assert_eq!(places(&["A"]), [(0, None)]);
        assert_eq!(places(&["1"]), [(1, Some(2)), (1, Some(5))]);
        assert_eq!(places(&["B"]), [(1, Some(2)), (1, Some(5))]);
        assert_eq!(places(&["1:5", "0", "A"]), [(0, None), (1, Some(5))]);
        assert_eq!(places(&[]).len(), 3);
    }

    #[test]
    fn what_was_chosen_once_stays_chosen() {
        let mut one = chosen(&["B"]);
        assert_eq!(left(&mut one, vec![known(0, "A"), known(1, "B")]), [((1, None), LOST)]);
        assert_eq!(left(&mut one, vec![known(0, "A"), lost(1)]), [((1, None), LOST)]);
        assert_eq!(left(&mut one, vec![known(0, "A")]), [((1, None), GONE)]);
        assert_eq!(left(&mut one, vec![known(0, "B"), known(1, "A")]), [((0, None), LOST)]);
    }

    #[test]
    fn an_instance_is_followed_through_the_loss_of_its_gpu() {
        let mut one = chosen(&["1:5"]);
        let whole = || vec![instance(1, 2, "M", "B"), instance(1, 5, "N", "B")];
        assert_eq!(left(&mut one, whole()), [((1, Some(5)), LOST)]);
        assert_eq!(left(&mut one, vec![lost(1)]), [((1, None), LOST)]);
        assert_eq!(left(&mut one, vec![known(1, "B")]), [((1, Some(5)), GONE)]);
        assert_eq!(left(&mut one, whole()), [((1, Some(5)), LOST)]);
    }

    #[test]
    fn an_id_that_means_nothing_is_wrong_unless_a_card_does_not_say_who_it_is() {
        let refused = |id: &str| {
            let cards = vec![known(0, "A"), lost(1), lost(3)];
            chosen(&[id]).among(tick(cards)).unwrap_err()
        };
        for id in ["7", "0:1", ""] {
            assert!(matches!(refused(id), Failure::Usage { .. }), "{id}");
        }
        let sentence = refused("B").to_string();
        let expected =
            "there is no card `B` among those that can be read; cards 1,3 cannot be read";
        assert_eq!(sentence.lines().next(), Some(expected));
        let sentence = refused("3:4").to_string();
        assert!(sentence.contains("; card 3 cannot be read\n"), "{sentence}");
    }

    #[test]
    fn without_a_driver_no_id_is_wrong_yet() {
        let mut one = chosen(&["B"]);
        let away = Tick { driver: Err(OpenError::DriverNotLoaded), ..tick(Vec::new()) };
        assert_eq!(one.among(away).unwrap().cards.len(), 0);
        assert!(one.among(tick(vec![known(0, "A")])).is_err());
    }
}
