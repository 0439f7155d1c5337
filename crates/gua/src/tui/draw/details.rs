//! Everything that is known of one holder or one card, and why the rest is not.

use gua_core::snapshot::{CardNow, HolderNow, IdleCertainty, PresenceNow};
use gua_core::unknowns::Unknowns;
use gua_core::{Reading, State as CardState};
use jiff::Timestamp;

use super::popup::{Line, Text};
use super::theme::Ink;
use crate::render::words::{duration, memory, safe};
use crate::render::{identity, stat};
use crate::tui::holding::Holding;
use crate::tui::look::{CardKey, Kin, Look};
use crate::tui::state::{State, Subject};

const KEYS: &str = "Esc: back";

pub fn text(state: &State, of: &Subject) -> Text {
    let found = match of {
        Subject::Card(key) => state.look.as_ref().and_then(|look| {
            let card = look.now.cards.iter().find(|card| CardKey::of(card) == *key)?;
            Some((format!("card {}", card.card.label()), of_card(card)))
        }),
        Subject::Holder(key) => state.look.as_ref().and_then(|look| {
            let holding = state.holder(key)?;
            let title = format!("process {} on card {}", key.pid, holding.card);
            Some((title, of_holder(state, look, holding)))
        }),
    };
    match found {
        Some((title, lines)) => Text { title, lines, keys: KEYS },
        None => gone(of),
    }
}

/// It went away while it was looked at.
fn gone(of: &Subject) -> Text {
    let (title, said) = match of {
        Subject::Card(_) => ("gone".to_owned(), "the driver does not list this card any more"),
        Subject::Holder(key) => {
            (format!("process {}: gone", key.pid), "it does not hold this card any more")
        }
    };
    let lines = vec![Line::Said(said.to_owned(), Ink::Quiet)];
    Text { title, lines, keys: KEYS }
}

fn pair(name: &str, value: impl Into<String>) -> Line {
    Line::Pair(name.to_owned(), value.into())
}

/// A figure, or why there is none.
fn told<T>(
    name: &str,
    value: Option<T>,
    unknown: &Unknowns,
    field: &str,
    show: impl FnOnce(T) -> String,
) -> Line {
    let why = || match unknown.reason(field) {
        Some(reason) => format!("unknown: {reason}"),
        None => "none".to_owned(),
    };
    pair(name, value.map_or_else(why, show))
}

fn read<T>(name: &str, reading: Reading<T>, show: impl FnOnce(T) -> String) -> Line {
    match reading {
        Reading::Known(value) => pair(name, show(value)),
        Reading::Unknown(why) => pair(name, format!("unknown: {why}")),
    }
}

fn of_holder(state: &State, look: &Look, holding: &Holding) -> Vec<Line> {
    let same = |(card, holder): &(&CardNow, &HolderNow)| look.key(card, holder) == holding.key;
    let Some((card, holder)) = look.holders().find(same) else { return Vec::new() };
    let unknown = &holder.unknown;
    let others = look
        .holders()
        .filter(|(other, holder)| holder.pid == holding.key.pid && other.card != card.card);
    let others: Vec<_> = others.map(|(card, _)| card.card.label()).collect();
    let mut lines = vec![
        told("user", holder.user.as_deref(), unknown, "user", safe),
        told("uid", holder.uid, unknown, "uid", |uid| uid.to_string()),
    ];
    if holder.owner_uid != holder.uid {
        lines.push(told("owner", owner(holder), unknown, "owner", |owner| safe(&owner)));
    }
    lines.extend(behind(holder));
    lines.extend([
        told("program", holder.program.as_deref(), unknown, "program", safe),
        command(holder),
        pair("presence", presence(holder.presence)),
        pair("card", card_line(card)),
    ]);
    if !others.is_empty() {
        lines.push(pair("also on", format!("card {}", others.join(", "))));
    }
    lines.extend([
        pair("uses it for", holder.kinds.names().collect::<Vec<_>>().join(", ")),
        told("memory", holder.memory_bytes, unknown, "memory_bytes", memory),
        told("SM", holder.sm_percent, unknown, "sm_percent", |percent| format!("{percent:.0} %")),
        read("CPU", holding.cpu, |cpu| format!("{:.0} % of a core", cpu.0)),
        read("RAM", holding.ram, |ram| format!("{}, shared pages included", memory(ram.0))),
        told("started", holder.started, unknown, "started", |at| moment(state, at)),
        told("runs for", holder.running_seconds, unknown, "running_seconds", duration),
        pair("idle-held", idle(state, holding)),
        told("parent", holder.parent_pid, unknown, "parent_pid", |pid| parents(pid, &holding.kin)),
    ]);
    lines
}

/// Returns the owner of the process, by name or number.
fn owner(holder: &HolderNow) -> Option<String> {
    let uid = holder.owner_uid.map(|uid| format!("uid {uid}"));
    holder.owner.clone().or(uid)
}

/// Who is behind it, first of all its user, unless it is whose process it is. Nothing where it
/// was not asked, or where its presence says it.
fn behind(holder: &HolderNow) -> Vec<Line> {
    match (&holder.identity, holder.unknown.unread("identity")) {
        (Some(who), _) => {
            let user = who.user.as_ref().map(|user| user.value.uid);
            let is_owner = user.is_some() && user == holder.owner_uid;
            let told = identity::lines(who).into_iter().skip(usize::from(is_owner));
            told.map(|(name, value)| pair(name, value)).collect()
        }
        (None, Some(reason)) if holder.presence == PresenceNow::Here => {
            vec![pair("behind it", format!("unknown: {reason}"))]
        }
        (None, _) => Vec::new(),
    }
}

fn command(holder: &HolderNow) -> Line {
    match &holder.command {
        Some(command) => pair("command", safe(&command.join(" "))),
        None => match holder.unknown.reason("command") {
            Some(reason) => pair("command", format!("unknown: {reason}")),
            None => pair("command", "not read, as it may hold secrets; `gua top -f` shows it"),
        },
    }
}

const fn presence(presence: PresenceNow) -> &'static str {
    match presence {
        PresenceNow::Here => "here",
        PresenceNow::Gone => "gone: the driver lists it, this host does not have it",
        PresenceNow::Foreign => "outside this container: the pid is the host's",
        PresenceNow::Hidden => "here, but it may not be read",
        PresenceNow::NotRecorded => "this host did not show it; why is not recorded",
    }
}

fn card_line(card: &CardNow) -> String {
    let name = super::figures::name(card);
    let label = card.card.label();
    format!("{label}  {name}, {}", card.state.word())
}

fn moment(state: &State, at: Timestamp) -> String {
    state.settings.zone.format(at, "%a %-d %b %Y %H:%M:%S %Z")
}

fn idle(state: &State, holding: &Holding) -> String {
    let Some(seconds) = holding.idle_seconds() else {
        return match holding.state {
            CardState::Unknown(reason) => format!("unknown: {reason}"),
            _ => "no: its card works, or it holds next to nothing".to_owned(),
        };
    };
    let is_exact = holding.idle.idle_certainty == Some(IdleCertainty::Exact);
    let least = if is_exact { "" } else { " at least; not seen before" };
    let since = holding.idle.idle_since.map(|at| format!(", since {}", moment(state, at)));
    format!("{}{}{least}", duration(seconds), since.unwrap_or_default())
}

fn parents(pid: u32, kin: &[Kin]) -> String {
    if kin.is_empty() {
        return pid.to_string();
    }
    let names: Vec<_> = kin.iter().map(|kin| format!("{} {}", kin.pid, kin.program)).collect();
    names.join(" ← ")
}

fn of_card(card: &CardNow) -> Vec<Line> {
    let (identity, unknown) = (&card.card, &card.unknown);
    let watts = |watts: f64| format!("{watts:.0} W");
    let percent = |percent: f64| format!("{percent:.0} %");
    let state = match card.state {
        CardState::Unknown(reason) => format!("{}: {reason}", card.state.word()),
        state => state.word().to_owned(),
    };
    let mut lines = vec![
        told("name", identity.name.as_deref(), unknown, "name", safe),
        told("UUID", identity.uuid.as_deref(), unknown, "uuid", safe),
        told("bus", identity.bus_id.as_deref(), unknown, "bus_id", safe),
        pair("state", state),
        told("utilization", card.utilization_percent, unknown, "utilization_percent", percent),
        told("memory used", card.memory_used_bytes, unknown, "memory_used_bytes", memory),
        told("memory free", card.memory_free_bytes, unknown, "memory_free_bytes", memory),
        told("memory", card.memory_total_bytes, unknown, "memory_total_bytes", memory),
        told(
            "of nobody visible",
            card.memory_unattributed_bytes,
            unknown,
            "memory_unattributed_bytes",
            memory,
        ),
        told("power", card.power_watts, unknown, "power_watts", watts),
        told("power limit", card.power_limit_watts, unknown, "power_limit_watts", watts),
        told("temperature", card.temperature_celsius, unknown, "temperature_celsius", |celsius| {
            format!("{celsius} °C")
        }),
        pair("holders", holders(card)),
    ];
    lines.extend(stat::remarks(card, None).into_iter().map(|remark| pair("", remark)));
    lines
}

fn holders(card: &CardNow) -> String {
    match (card.holders_complete, card.unknown.unread("holders")) {
        (true, _) => card.holders.len().to_string(),
        (false, Some(why)) => format!("{} seen; the list is not whole: {why}", card.holders.len()),
        (false, None) => format!("{} seen; the list is not whole", card.holders.len()),
    }
}
