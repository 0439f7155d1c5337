//! Where everybody stands by the rules, as text.

use super::super::paint::Ink;
use super::super::table::{Align, Cell};
use super::super::words::{duration, memory_or_unknown, safe};
use super::{Gives, View, moment, rows, said};
use crate::report::policy::check::{Check, Coming, Holder};

const HEADINGS: [&str; 9] =
    ["who", "pid", "program", "card", "memory", "state", "group", "rule", "next"];
const ALIGNS: [Align; 9] = [
    Align::Left,
    Align::Right,
    Align::Left,
    Align::Left,
    Align::Right,
    Align::Left,
    Align::Left,
    Align::Left,
    Align::Left,
];

/// What the rules make of somebody, and what comes next, is what is asked; the pid is needed.
const GIVES: [(usize, Gives); 10] = [
    (PROGRAM, Gives::To(8)),
    (GROUP, Gives::To(8)),
    (RULE, Gives::To(8)),
    (MEMORY, Gives::All),
    (PROGRAM, Gives::All),
    (GROUP, Gives::All),
    (STATE, Gives::To(22)),
    (RULE, Gives::All),
    (STATE, Gives::To(8)),
    (WHO, Gives::To(6)),
];
const WHO: usize = 0;
const PROGRAM: usize = 2;
const MEMORY: usize = 4;
const STATE: usize = 5;
const GROUP: usize = 6;
const RULE: usize = 7;

/// The answer as lines.
#[must_use]
pub fn lines(check: &Check, view: &View) -> Vec<String> {
    let mut lines = said(&headline(check), Ink::Strong, view);
    if !check.holders.is_empty() {
        let cells: Vec<_> = check.holders.iter().map(|holder| cells(holder, view)).collect();
        lines.extend(rows(&HEADINGS, &ALIGNS, &cells, &GIVES, view));
    }
    lines.extend(doubts(check).iter().flat_map(|doubt| said(doubt, Ink::Plain, view)));
    lines
}

fn headline(check: &Check) -> String {
    let rules = match check.rules.len() {
        0 => "no rules".to_owned(),
        1 => "1 rule".to_owned(),
        rules => format!("{rules} rules"),
    };
    let is = match (check.enabled, check.switched_off) {
        (_, true) => "switched off (`gua policy on` lets them go on)",
        (false, false) => "not followed (`enabled = true` below [policy] lets a recorder do so)",
        (true, false) if check.watched_at_unix_ms.is_none() => "to be followed",
        (true, false) => "followed",
    };
    let holders = match check.holders.len() {
        0 => "nobody holds a card".to_owned(),
        1 => "1 holder".to_owned(),
        holders => format!("{holders} holders"),
    };
    format!("{rules}, {is}; {holders}")
}

/// Sentences about what the states and groups rest on.
fn doubts(check: &Check) -> Vec<String> {
    let is_possible = |holder: &Holder| matches!(holder.grouped_by, Some("launcher" | "siblings"));
    let unread = check.holders.iter().any(is_possible).then(|| {
        "launcher, siblings: the environment cannot be read, so processes that come from the same \
         launcher, or have the same parent and script, are judged together."
            .to_owned()
    });
    unread.into_iter().chain(age(check)).collect()
}

fn age(check: &Check) -> Option<String> {
    if check.rules.is_empty() {
        return Some(
            "`[[policy.rule]]` in the config makes a rule; `gua config show` tells where that is."
                .to_owned(),
        );
    }
    match check.watched_at_unix_ms {
        None => {
            Some("No recorder has applied the rules yet, or its first minute is not over: idle time counts from \
                  there on."
                .to_owned())
        }
        Some(at) => {
            let age = (check.at_unix_ms - at) / 1000;
            #[expect(clippy::cast_precision_loss, reason = "shown in whole seconds")]
            let age = duration(age as f64);
            let is_old = check.at_unix_ms - at > 300_000;
            is_old
                .then(|| format!("The recorder last looked {age} ago; since then nothing counts."))
        }
    }
}

fn cells(holder: &Holder, view: &View) -> Vec<Cell> {
    let text = |text: &Option<String>| text.as_deref().map_or("?".to_owned(), safe);
    let ink = match holder.state {
        "pending" => Ink::Bad,
        "warned" | "idle" => Ink::Notice,
        "observing" => Ink::Good,
        _ => Ink::Plain,
    };
    vec![
        Cell::plain(holder.user.as_deref().map_or("unattributed".to_owned(), safe)),
        Cell::plain(holder.pid.to_string()),
        Cell::plain(text(&holder.program)),
        Cell::plain(holder.cards.join(",")),
        Cell::plain(memory_or_unknown(holder.memory_bytes)),
        Cell::new(state(holder, view), ink),
        Cell::plain(holder.group.as_deref().or(holder.grouped_by).map_or("?".to_owned(), safe)),
        Cell::plain(holder.rule.as_deref().map_or("none".to_owned(), safe)),
        Cell::plain(next(holder)),
    ]
}

fn state(holder: &Holder, view: &View) -> String {
    let idle = duration(holder.idle_seconds);
    let behind = match (holder.state, &holder.works_by, holder.snoozed_until_unix_ms) {
        ("observing", Some(sign), _) => format!(": works ({sign})"),
        ("observing", None, _) if holder.idle_seconds > 0.0 => format!(": idle {idle}"),
        ("idle" | "pending", ..) => format!(" {idle}"),
        ("warned", ..) => format!(" {}×, idle {idle}", holder.notices),
        ("snoozed", _, Some(until)) => format!(" until {}", moment(until, &view.zone)),
        _ => String::new(),
    };
    let reason = holder.reason.as_ref().map(|reason| format!(": {}", safe(reason)));
    format!("{}{behind}{}", holder.state, reason.unwrap_or_default())
}

fn next(holder: &Holder) -> String {
    let Some(Coming { what, number, in_seconds }) = &holder.next else {
        return "nothing".to_owned();
    };
    let time = duration(*in_seconds);
    let would = if holder.action == Some("observe") { "would get " } else { "" };
    match (*what, number) {
        ("notice", Some(number)) => format!("{would}notice {number} in {time}"),
        ("end", _) => format!("ended in {time}"),
        ("would_end", _) => format!("would be ended in {time}"),
        _ => "waits for an answer".to_owned(),
    }
}
