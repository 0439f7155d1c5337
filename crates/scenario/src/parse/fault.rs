//! The faults of a scenario.

use std::ops::Range as Bytes;

use toml::Spanned;
use wildmatch::WildMatch;

use crate::fault::{Effect, Fault};
use crate::model::Card;
use crate::moment::Moment;
use crate::parse::{Wrong, card, wrong};
use crate::typed;

pub fn fault(spanned: Spanned<typed::Fault>, cards: &[Card]) -> Result<Fault, Wrong> {
    let span = spanned.span();
    let typed = spanned.into_inner();
    Ok(Fault {
        call: WildMatch::new(typed.call.get_ref()),
        cards: struck(&typed, cards, &span)?,
        from: typed.from.map(|from| from.0),
        to: end(&typed)?,
        times: times(&typed)?,
        latency: typed.latency.map(|latency| latency.0),
        effect: effect(&typed, span)?,
    })
}

fn effect(typed: &typed::Fault, span: Bytes<usize>) -> Result<Option<Effect>, Wrong> {
    let effects = [
        typed.code.map(|code| Effect::Code(code.0)),
        typed.hang.then_some(Effect::Hang),
        typed.grow.map(Effect::Grow),
        typed.extra_bytes.map(Effect::ExtraBytes),
    ];
    let mut effects = effects.into_iter().flatten();
    match (effects.next(), effects.next()) {
        (None, _) if typed.latency.is_none() => {
            wrong(span, "a fault needs `code`, `hang`, `grow`, `extra_bytes` or `latency`")
        }
        (effect, None) => Ok(effect),
        _ => wrong(span, "a fault has one of `code`, `hang`, `grow` and `extra_bytes`"),
    }
}

fn end(typed: &typed::Fault) -> Result<Option<Moment>, Wrong> {
    let Some(to) = &typed.to else {
        return Ok(None);
    };
    if typed.from.is_some_and(|from| from.0 >= to.get_ref().0) {
        return wrong(to.span(), "a fault's `from` must be before its `to`");
    }
    Ok(Some(to.get_ref().0))
}

fn times(typed: &typed::Fault) -> Result<Option<u32>, Wrong> {
    match &typed.times {
        Some(times) if *times.get_ref() == 0 => wrong(times.span(), "`times` must be at least 1"),
        times => Ok(times.as_ref().map(|times| *times.get_ref())),
    }
}

/// The UUIDs that it strikes: a card is struck with all that is on it.
fn struck(
    typed: &typed::Fault,
    cards: &[Card],
    span: &Bytes<usize>,
) -> Result<Option<Vec<String>>, Wrong> {
    let (card, slot) = match (&typed.card, typed.slot) {
        (None, None) => return Ok(None),
        (None, Some(_)) => return wrong(span.clone(), "a fault with a `slot` needs its `card`"),
        (Some(wanted), slot) => (card::find(cards, wanted, span.clone())?, slot),
    };
    let Some(slot) = slot else {
        let instances = card.mig.iter().flat_map(|mig| &mig.instances).map(|i| i.uuid.clone());
        return Ok(Some(std::iter::once(card.uuid.clone()).chain(instances).collect()));
    };
    match card.instance(slot) {
        Some(instance) => Ok(Some(vec![instance.uuid.clone()])),
        None => wrong(span.clone(), format!("card {} has no instance in slot {slot}", card.index)),
    }
}
