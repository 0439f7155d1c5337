//! The processes of a scenario and their owners.

use crate::load::Load;
use crate::model::{Card, Engines, Kind, Owner, Process};
use crate::moment::Moment;
use crate::parse::card::CardRef;
use crate::parse::identity::identity;
use crate::parse::load::load;
use crate::parse::table::{Table, Wrong};
use crate::parse::value::{moment, size};

/// Reads all processes. One on several cards becomes one of the model for each of them.
pub fn processes(file: &mut Table<'_>, cards: &[Card]) -> Result<Vec<Process>, Wrong> {
    let mut users = Vec::new();
    let mut processes: Vec<Process> = Vec::new();
    file.tables("process", |mut table, _| {
        let pid = table.need("pid");
        let on = process_cards(&mut table, cards);
        let process = process(&mut table, pid, &mut users);
        for card in on {
            let process = Process { card: card.index, ..process.clone() };
            if let Some(slot) = process.slot
                && card.instance(slot).is_none()
            {
                table.refuse(format!("card {} has no instance in slot {slot}", card.index));
            }
            if processes.iter().any(|other| are_one(other, &process)) {
                table.refuse(format!("process {} is on card {} twice", process.pid, card.index));
            }
            processes.push(process);
        }
        table.finish(())
    })?;
    Ok(processes)
}

/// Returns true for one pid on one card, or in one slot of it, at the same time. A pid that
/// comes back later is another process.
fn are_one(a: &Process, b: &Process) -> bool {
    let ends_before = |a: &Process, b: &Process| a.end.is_some_and(|end| end <= b.begin);
    (a.pid, a.card, a.slot) == (b.pid, b.card, b.slot) && !ends_before(a, b) && !ends_before(b, a)
}

fn process_cards<'a>(table: &mut Table<'_>, cards: &'a [Card]) -> Vec<&'a Card> {
    let wanted = match (table.get("card"), table.get("cards")) {
        (Some(card), None) => vec![card],
        (None, Some(cards)) => cards,
        _ => Vec::new(),
    };
    if wanted.is_empty() {
        table.refuse("a process needs either `card` or `cards`");
    }
    let found = wanted.iter().map(|wanted: &CardRef| wanted.find(cards));
    let found: Result<Vec<_>, _> = found.collect();
    found.map_err(|reason| table.refuse(reason)).unwrap_or_default()
}

/// Reads a process; its card is set later.
fn process(table: &mut Table<'_>, pid: u32, users: &mut Vec<String>) -> Process {
    let zero = || Load::constant(0.0);
    let process = Process {
        pid,
        card: 0,
        slot: table.get("slot"),
        kinds: table.text("kind", kinds).unwrap_or_else(|| vec![Kind::Compute]),
        memory: table.need_text("memory", memory_held),
        peak: table.text("peak", size),
        sm: table.get_with("sm", load).unwrap_or_else(zero),
        engines: Engines {
            memory: table.get_with("memory_utilization", load).unwrap_or_else(zero),
            encoder: table.get_with("encoder", load).unwrap_or_else(zero),
            decoder: table.get_with("decoder", load).unwrap_or_else(zero),
        },
        begin: table.text("begin", moment).unwrap_or(Moment::ORIGIN),
        end: table.text("end", moment),
        owner: owner(table, users),
    };
    if process.peak.is_some_and(|peak| process.memory > Some(peak)) {
        table.refuse_at("peak", "`peak` must be at least `memory`");
    }
    if process.end.is_some_and(|end| end <= process.begin) {
        table.refuse("a process must end after it begins");
    }
    process
}

/// Reads a process's memory: a size, or `unknown`.
fn memory_held(text: &str) -> Result<Option<u64>, String> {
    if text == "unknown" {
        return Ok(None);
    }
    size(text).map(Some).map_err(|reason| reason + ", or `unknown`")
}

/// Reads one kind, or several joined by `+`.
fn kinds(text: &str) -> Result<Vec<Kind>, String> {
    let kind = |kind: &str| match kind.trim() {
        "compute" => Ok(Kind::Compute),
        "graphics" => Ok(Kind::Graphics),
        "mps" => Ok(Kind::Mps),
        other => Err(format!(
            "`{other}` is not a kind of process; expected compute, graphics or mps, several \
             joined by `+`"
        )),
    };
    text.split('+').map(kind).collect()
}

fn owner(table: &mut Table<'_>, users: &mut Vec<String>) -> Owner {
    let user = table.text("user", user_name);
    let uid = table.get("uid").unwrap_or_else(|| uid(user.as_deref(), users));
    let program: String = table.get("program").unwrap_or_else(|| "python".into());
    Owner {
        user,
        uid,
        command: table.get("command").unwrap_or_else(|| vec![program.clone()]),
        program,
        parent: table.get("parent").unwrap_or(1),
        gone: table.get("gone").unwrap_or_default(),
        identity: identity(table),
    }
}

/// Reads a name that can stand in `/etc/passwd`.
fn user_name(name: &str) -> Result<String, String> {
    if name.is_empty() {
        return Err("a user name is not empty; leave `user` out for an unknown one".into());
    }
    if name.contains(|c: char| c == ':' || c.is_control()) {
        return Err("a user name has no `:` and no control characters".into());
    }
    Ok(name.to_owned())
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
