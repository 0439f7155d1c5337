//! The faults of a scenario, and the functions that it names.

use toml::de::{DeTable, DeValue};
use wildmatch::WildMatch;

use crate::fault::{Effect, Fault};
use crate::model::Card;
use crate::nvml_code::NvmlCode;
use crate::parse::Refused;
use crate::parse::card::CardRef;
use crate::parse::table::{Table, Value, Wrong, converted};
use crate::parse::value::{duration, moment};

pub fn faults(file: &mut Table<'_>, cards: &[Card]) -> Result<Vec<Fault>, Wrong> {
    file.tables("fault", |mut table, _| {
        let fault = Fault {
            call: WildMatch::new(&table.need::<String>("call")),
            cards: uuids(&mut table, cards),
            effect: effect(&mut table),
            from: table.text("from", moment),
            to: table.text("to", moment),
            times: table.get_as("times", |times| match times {
                0 => Err("`times` must be at least 1".into()),
                times => Ok(times),
            }),
            latency: table.text("latency", duration),
        };
        if fault.from.zip(fault.to).is_some_and(|(from, to)| from >= to) {
            table.refuse_at("to", "a fault's `from` must be before its `to`");
        }
        if fault.effect.is_none() && fault.latency.is_none() {
            table.refuse("a fault needs `code`, `hang`, `grow`, `extra_bytes` or `latency`");
        }
        table.finish(fault)
    })
}

fn effect(table: &mut Table<'_>) -> Option<Effect> {
    let effects = [
        table.get_with("code", code).map(Effect::Code),
        table.get("hang").and_then(|hang: bool| hang.then_some(Effect::Hang)),
        table.get("grow").map(Effect::Grow),
        table.get("extra_bytes").map(Effect::ExtraBytes),
    ];
    let mut effects = effects.into_iter().flatten();
    let effect = effects.next();
    if effects.next().is_some() {
        table.refuse("a fault has one of `code`, `hang`, `grow` and `extra_bytes`");
    }
    effect
}

/// Reads an NVML code by name or number.
fn code(value: Value<'_>) -> Result<NvmlCode, Wrong> {
    match value.get_ref() {
        DeValue::String(_) => converted(value, |name: String| name.parse()),
        DeValue::Integer(_) => converted(value, |code: i64| {
            u32::try_from(code).map(NvmlCode).map_err(|_| {
                format!(
                    "{code} is not an NVML code; expected a name like GPU_IS_LOST or a number \
                     from 0 to {}",
                    u32::MAX
                )
            })
        }),
        _ => {
            let expected = "an NVML code, by name like GPU_IS_LOST or by number";
            Err(Wrong::unexpected(&value, expected))
        }
    }
}

/// Reads where it strikes: a card with all that is on it, or one instance.
fn uuids(table: &mut Table<'_>, cards: &[Card]) -> Option<Vec<String>> {
    let card = table.get::<CardRef>("card");
    let slot = table.get("slot");
    let Some(card) = card else {
        if slot.is_some() {
            table.refuse("a fault with a `slot` needs its `card`");
        }
        return None;
    };
    let card = card.find(cards).map_err(|reason| table.refuse(reason)).ok()?;
    let Some(slot) = slot else {
        let instances = card.mig.iter().flat_map(|mig| &mig.instances).map(|i| i.uuid.clone());
        return Some(std::iter::once(card.uuid.clone()).chain(instances).collect());
    };
    let Some(instance) = card.instance(slot) else {
        table.refuse(format!("card {} has no instance in slot {slot}", card.index));
        return None;
    };
    Some(vec![instance.uuid.clone()])
}

/// Returns the patterns of a scenario's text, in `call` and in `lacks`, that match none of these
/// functions and so mean nothing. A text that cannot be read has none:
/// [`from_str`](crate::parse::from_str) refuses it.
#[must_use]
pub fn unknown_calls(file: &str, text: &str, functions: &[&str]) -> Vec<Refused> {
    let Ok(document) = DeTable::parse(text) else {
        return Vec::new();
    };
    let root = document.get_ref();
    let lacks = root.get("driver").and_then(|driver| driver.get_ref().get("lacks"));
    let calls = list(root.get("fault")).filter_map(|fault| fault.get_ref().get("call"));
    let unknown = list(lacks).chain(calls).filter_map(|value| {
        let pattern = value.get_ref().as_str()?;
        let matcher = WildMatch::new(pattern);
        let is_known = functions.iter().any(|function| matcher.matches(function));
        let reason = || format!("`{pattern}` matches no NVML function");
        (!is_known).then(|| Wrong::new(value.span(), reason()).refused(file, text))
    });
    unknown.collect()
}

fn list<'v, 'a>(value: Option<&'v Value<'a>>) -> impl Iterator<Item = &'v Value<'a>> {
    value.and_then(|value| value.get_ref().as_array()).into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_that_mean_nothing_are_told_with_their_lines() {
        let text = "[driver]\nlacks = [\n\"*_v9\", \"*Init\"]\n\
                    [[fault]]\ncall = \"nvmlInitt\"\nhang = true\n\
                    [[fault]]\ncall = \"nvml?nit\"\nhang = true\n";
        let told = unknown_calls("a.toml", text, &["nvmlInit", "nvmlShutdown"]);
        assert_eq!(
            told.iter().map(ToString::to_string).collect::<Vec<_>>(),
            [
                "a.toml:3: `*_v9` matches no NVML function",
                "a.toml:5: `nvmlInitt` matches no NVML function"
            ]
        );
        assert_eq!(unknown_calls("a.toml", "seed =", &[]), []);
    }
}
