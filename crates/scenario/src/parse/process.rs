//! The processes of a scenario and their owners.

use std::ops::Range as Bytes;

use toml::Spanned;

use crate::load::Load;
use crate::model::{Card, Engines, Kind, Owner, Process};
use crate::moment::Moment;
use crate::parse::{Wrong, card, identity, wrong};
use crate::typed;

pub fn processes(
    typed: Vec<Spanned<typed::Process>>,
    cards: &[Card],
) -> Result<Vec<Process>, Wrong> {
    let mut processes = Vec::new();
    let mut users: Vec<String> = Vec::new();
    for spanned in typed {
        let span = spanned.span();
        let typed = spanned.into_inner();
        let owner = owner(&typed, &mut users)?;
        for card in process_cards(&typed, cards, &span)? {
            let process = process(&typed, card, &owner, &span)?;
            if processes.iter().any(|other| are_one(other, &process)) {
                let reason = format!("process {} is on card {} twice", process.pid, card.index);
                return wrong(span, reason);
            }
            processes.push(process);
        }
    }
    Ok(processes)
}

/// Whether they have one pid on one card, or in one slot of it, at the same time. A pid
/// that comes back later is another process.
fn are_one(a: &Process, b: &Process) -> bool {
    let ends_before = |a: &Process, b: &Process| a.end.is_some_and(|end| end <= b.begin);
    (a.pid, a.card, a.slot) == (b.pid, b.card, b.slot) && !ends_before(a, b) && !ends_before(b, a)
}

fn process_cards<'a>(
    typed: &typed::Process,
    cards: &'a [Card],
    span: &Bytes<usize>,
) -> Result<Vec<&'a Card>, Wrong> {
    let refs = match (&typed.card, &typed.cards) {
        (Some(card), None) => vec![card.clone()],
        (None, Some(refs)) if !refs.is_empty() => refs.clone(),
        _ => return wrong(span.clone(), "a process needs either `card` or `cards`"),
    };
    refs.iter().map(|wanted| card::find(cards, wanted, span.clone())).collect()
}

fn process(
    typed: &typed::Process,
    card: &Card,
    owner: &Owner,
    span: &Bytes<usize>,
) -> Result<Process, Wrong> {
    if let Some(slot) = typed.slot
        && card.instance(slot).is_none()
    {
        return wrong(span.clone(), format!("card {} has no instance in slot {slot}", card.index));
    }
    let begin = typed.begin.map_or(Moment::ORIGIN, |begin| begin.0);
    if typed.end.is_some_and(|end| end.0 <= begin) {
        return wrong(span.clone(), "a process must end after it begins");
    }
    Ok(Process {
        peak: peak(typed)?,
        pid: typed.pid,
        card: card.index,
        slot: typed.slot,
        kinds: typed.kind.as_ref().map_or_else(|| vec![Kind::Compute], |kinds| kinds.0.clone()),
        memory: typed.memory.0,
        sm: typed.sm.clone().unwrap_or(Load::constant(0.0)),
        engines: engines(typed),
        begin,
        end: typed.end.map(|end| end.0),
        owner: owner.clone(),
    })
}

fn engines(typed: &typed::Process) -> Engines {
    let load = |typed: &Option<Load>| typed.clone().unwrap_or(Load::constant(0.0));
    Engines {
        memory: load(&typed.memory_utilization),
        encoder: load(&typed.encoder),
        decoder: load(&typed.decoder),
    }
}

/// The most it ever held is not less than what it holds.
fn peak(typed: &typed::Process) -> Result<Option<u64>, Wrong> {
    match &typed.peak {
        Some(peak) if typed.memory.0.is_some_and(|memory| peak.get_ref().0 < memory) => {
            wrong(peak.span(), "`peak` must be at least `memory`")
        }
        peak => Ok(peak.as_ref().map(|peak| peak.get_ref().0)),
    }
}

fn owner(typed: &typed::Process, users: &mut Vec<String>) -> Result<Owner, Wrong> {
    let user = typed.user.as_ref().map(user_name).transpose()?;
    let program = typed.program.clone().unwrap_or_else(|| "python".into());
    Ok(Owner {
        uid: typed.uid.unwrap_or_else(|| uid(user, users)),
        user: user.map(str::to_owned),
        command: typed.command.clone().unwrap_or_else(|| vec![program.clone()]),
        program,
        parent: typed.parent.unwrap_or(1),
        gone: typed.gone,
        identity: identity::identity(typed)?,
    })
}

/// A name that can stand in `/etc/passwd`.
fn user_name(typed: &Spanned<String>) -> Result<&str, Wrong> {
    let name = typed.get_ref();
    if name.is_empty() {
        return wrong(
            typed.span(),
            "a user name is not empty; leave `user` out for an unknown one",
        );
    }
    if name.contains(|c: char| c == ':' || c.is_control()) {
        return wrong(typed.span(), "a user name has no `:` and no control characters");
    }
    Ok(name)
}

/// Users without a uid of their own get 1000, 1001, … in the order in which they appear.
fn uid(user: Option<&str>, users: &mut Vec<String>) -> u32 {
    let Some(name) = user.filter(|name| *name != "root") else {
        return 0;
    };
    let place = users.iter().position(|known| known == name).unwrap_or_else(|| {
        users.push(name.to_owned());
        users.len() - 1
    });
    1000 + u32::try_from(place).unwrap_or(0)
}
