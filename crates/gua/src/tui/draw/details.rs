//! Everything that is known of one holder or one card, and why the rest is not.

use jiff::Timestamp;
use probe::units::UnixMillis;
use probe::{Reading, Why};

use super::popup::{Line, Text};
use super::theme::Ink;
use crate::calendar;
use crate::render::words::{duration, memory, safe};
use crate::render::{identity, stat};
use crate::report::now::{Card, Holder, Presence};
use crate::report::unknowns::Unknowns;
use crate::tui::holding::Holding;
use crate::tui::idle::Idle;
use crate::tui::look::{CardKey, Kin, Look};
use crate::tui::state::{State, Subject};

const KEYS: &str = "Esc: back";

pub fn text(state: &State, of: &Subject) -> Text {
    let found = match of {
        Subject::Card(key) => state.look.as_ref().and_then(|look| {
            let card = look.now.cards.iter().find(|card| CardKey::of(card) == *key)?;
            Some((format!("card {}", card.identity.label()), of_card(card)))
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
    let same = |(card, holder): &(&Card, &Holder)| look.key(card, holder) == holding.key;
    let Some((card, holder)) = look.holders().find(same) else { return Vec::new() };
    let (owner, unknown) = (&holder.owner, &holder.unknown);
    let others = look
        .holders()
        .filter(|(other, holder)| holder.pid == holding.key.pid && other.identity != card.identity);
    let others: Vec<_> = others.map(|(card, _)| card.identity.label()).collect();
    let mut lines = vec![
        told("user", owner.user.as_deref(), unknown, "user", safe),
        told("uid", owner.uid, unknown, "uid", |uid| uid.to_string()),
    ];
    lines.extend(behind(holder));
    lines.extend([
        told("program", owner.program.as_deref(), unknown, "program", safe),
        command(holder),
        pair("presence", presence(holder.presence)),
        pair("card", card_line(card)),
    ]);
    if !others.is_empty() {
        lines.push(pair("also on", format!("card {}", others.join(", "))));
    }
    lines.extend([
        pair("uses it for", holder.kinds.join(", ")),
        told("memory", holder.memory_bytes, unknown, "memory_bytes", memory),
        told("SM", holder.sm_percent, unknown, "sm_percent", |percent| format!("{percent:.0} %")),
        read("CPU", holding.cpu, |cpu| format!("{:.0} % of a core", cpu.0)),
        read("RAM", holding.ram, |ram| format!("{}, shared pages included", memory(ram.0))),
        told("started", owner.started, unknown, "started", |at| moment(state, at)),
        told("runs for", owner.running_seconds, unknown, "running_seconds", duration),
        pair("idle-held", idle(state, holding, look.at())),
        told("parent", owner.parent_pid, unknown, "parent_pid", |pid| parents(pid, &holding.kin)),
    ]);
    lines
}

/// Who is behind it, first of all its user, unless it is whose process it is. Nothing where it
/// was not asked, or where its presence says it.
fn behind(holder: &Holder) -> Vec<Line> {
    match &holder.identity {
        Reading::Known(identity) => {
            let user = identity.user.as_ref().map(|user| user.value.uid);
            let is_owner = user.is_some() && user == holder.owner.uid;
            let told = identity::lines(identity).into_iter().skip(usize::from(is_owner));
            told.map(|(name, value)| pair(name, value)).collect()
        }
        Reading::Unknown(why) if holder.presence == Presence::Here && *why != Why::NotAsked => {
            vec![pair("behind it", format!("unknown: {why}"))]
        }
        Reading::Unknown(_) => Vec::new(),
    }
}

fn command(holder: &Holder) -> Line {
    match &holder.command {
        Some(command) => pair("command", safe(&command.join(" "))),
        None => match holder.unknown.reason("command") {
            Some(reason) => pair("command", format!("unknown: {reason}")),
            None => pair("command", "not read, as it may hold secrets; `gua top -f` shows it"),
        },
    }
}

const fn presence(presence: Presence) -> &'static str {
    match presence {
        Presence::Here => "here",
        Presence::Gone => "gone: the driver lists it, this host does not have it",
        Presence::Foreign => "outside this container: the pid is the host's",
        Presence::Hidden => "here, but it may not be read",
        Presence::NotRecorded => "this host did not show it; why is not recorded",
    }
}

fn card_line(card: &Card) -> String {
    let name = super::figures::name(card);
    let label = card.identity.label();
    format!("{label}  {name}, {}", card.state.word())
}

fn moment(state: &State, at: Timestamp) -> String {
    at.to_zoned(state.settings.zone.clone()).strftime("%a %-d %b %Y %H:%M:%S").to_string()
}

#[expect(clippy::cast_precision_loss, reason = "milliseconds fit 53 bits")]
fn idle(state: &State, holding: &Holding, now: UnixMillis) -> String {
    match holding.idle {
        Idle::No => "no: its card works, or it holds next to nothing".to_owned(),
        Idle::Unknown(why) => format!("unknown: {why}"),
        Idle::Since(stretch) => {
            let since = calendar::nearest(stretch.from);
            let length = duration(holding.idle.millis(now).unwrap_or(0) as f64 / 1000.0);
            let least = if stretch.is_whole { "" } else { " at least; not seen before" };
            format!("{length}, since {}{least}", moment(state, since))
        }
    }
}

fn parents(pid: u32, kin: &[Kin]) -> String {
    if kin.is_empty() {
        return pid.to_string();
    }
    let names: Vec<_> = kin.iter().map(|kin| format!("{} {}", kin.pid, kin.program)).collect();
    names.join(" ← ")
}

fn of_card(card: &Card) -> Vec<Line> {
    let (identity, work, has) = (&card.identity, &card.work, &card.memory);
    let (sensors, unknown) = (&card.sensors, &card.unknown);
    let watts = |watts: f64| format!("{watts:.0} W");
    let percent = |percent: f64| format!("{percent:.0} %");
    let state = match &card.state_reason {
        Some(reason) => format!("{}: {reason}", card.state.word()),
        None => card.state.word().to_owned(),
    };
    let mut lines = vec![
        told("name", identity.name.as_deref(), unknown, "name", safe),
        told("UUID", identity.uuid.as_deref(), unknown, "uuid", safe),
        told("bus", identity.bus_id.as_deref(), unknown, "bus_id", safe),
        pair("state", state),
        told("utilization", work.utilization_percent, unknown, "utilization_percent", percent),
        told("memory used", has.memory_used_bytes, unknown, "memory_used_bytes", memory),
        told("memory free", has.memory_free_bytes, unknown, "memory_free_bytes", memory),
        told("memory", has.memory_total_bytes, unknown, "memory_total_bytes", memory),
        told(
            "of nobody visible",
            has.memory_unattributed_bytes,
            unknown,
            "memory_unattributed_bytes",
            memory,
        ),
        told("power", sensors.power_watts, unknown, "power_watts", watts),
        told("power limit", sensors.power_limit_watts, unknown, "power_limit_watts", watts),
        told(
            "temperature",
            sensors.temperature_celsius,
            unknown,
            "temperature_celsius",
            |celsius| format!("{celsius} °C"),
        ),
        pair("holders", holders(card)),
    ];
    lines.extend(stat::remarks(card).into_iter().map(|remark| pair("", remark)));
    lines
}

fn holders(card: &Card) -> String {
    match (card.holders_complete, card.unknown.why("holders")) {
        (true, _) => card.holders.len().to_string(),
        (false, Some(why)) => format!("{} seen; the list is not whole: {why}", card.holders.len()),
        (false, None) => format!("{} seen; the list is not whole", card.holders.len()),
    }
}
