//! What the rules would have done over a time, as text: to be shown in a meeting.

use std::time::Duration;

use super::super::paint::Ink;
use super::super::table::{Align, Cell};
use super::super::words::{duration, interval, safe};
use super::{Gives, View, moment, rows, said, window};
use crate::report::policy::simulate::{NotJudged, OfHolder, Simulated, Total};
use crate::wrap::hung;

/// So many holders are named; the rest is told in the sums.
const MOST_HOLDERS: usize = 20;

/// So many people are named who could not be judged.
const MOST_USERS: usize = 5;

const NO_RULES: &str = "There are no rules: `[[policy.rule]]` in the config makes one.";

/// The answer as lines.
#[must_use]
pub fn lines(simulated: &Simulated, view: &View) -> Vec<String> {
    let plain = |text: String| said(&text, Ink::Plain, view);
    let mut lines = said(&headline(simulated, view), Ink::Strong, view);
    lines.extend(plain(basis(simulated)));
    if simulated.rules.is_empty() {
        lines.extend(plain(NO_RULES.to_owned()));
        return lines;
    }
    lines.extend(simulated.unjudged.iter().map(not_judged).flat_map(plain));
    lines.push(String::new());
    lines.extend(of_rules(simulated, view));
    if !simulated.people.is_empty() {
        lines.push(String::new());
        lines.extend(of_people(simulated, view));
        lines.push(String::new());
        lines.extend(of_holders(simulated, view));
    }
    lines.extend(harm(&simulated.total).into_iter().flat_map(plain));
    lines
}

fn headline(simulated: &Simulated, view: &View) -> String {
    let Total { holders, notices, ends, won_gpu_hours, .. } = simulated.total;
    let time = window(simulated.from_unix_ms, simulated.until_unix_ms, &view.zone);
    format!(
        "{time}: {holders} holders would get {notices} notices, {ends} would be ended, {} GPU-h won",
        hours(won_gpu_hours)
    )
}

fn basis(simulated: &Simulated) -> String {
    let observed = duration(simulated.observed_seconds);
    let uncertainty = match simulated.uncertainty_seconds {
        Some(0.0) => None,
        Some(seconds) => {
            let seconds = interval(Duration::from_secs_f64(seconds));
            Some(format!("; times are exact to ± {seconds}"))
        }
        None => Some(
            "; ends and notices may be missing: quarter hours and hours do not have idle time of less \
             than 5m, which a rule counts"
                .to_owned(),
        ),
    };
    let assumed = (simulated.assumed_seconds > 0.0).then(|| {
        format!(
            "; for {} of idle holding only the use of the cards is recorded, CPU and video engines are \
             taken to have been quiet",
            duration(simulated.assumed_seconds)
        )
    });
    let (uncertainty, assumed) = (uncertainty.unwrap_or_default(), assumed.unwrap_or_default());
    format!("basis: {observed} observed; every notice counts as delivered{uncertainty}{assumed}")
}

/// `3 holders, idle for 2d4h, could not be judged: their groups are not known (bob, carol)`.
fn not_judged(those: &NotJudged) -> String {
    let NotJudged { what, holders, users, idle_seconds, .. } = those;
    let (who, their) = match holders {
        1 => ("1 holder".to_owned(), "its"),
        several => (format!("{several} holders"), "their"),
    };
    let mut names: Vec<_> = users.iter().take(MOST_USERS).map(|name| safe(name)).collect();
    names.extend((users.len() > MOST_USERS).then(|| "…".to_owned()));
    let names = if names.is_empty() { String::new() } else { format!(" ({})", names.join(", ")) };
    format!(
        "{who}, idle for {}, could not be judged: {their} {} {} not known{names}",
        duration(*idle_seconds),
        what.word(),
        what.verb(),
    )
}

/// What ending those would have cost who worked on.
fn harm(total: &Total) -> Option<String> {
    (total.lost_gpu_hours > 0.0).then(|| {
        format!(
            "After their end, they went on to work for {} GPU-h: look at those first.",
            hours(total.lost_gpu_hours)
        )
    })
}

/// Whose it is gives way, and how it is followed; sums do not.
const SUM_GIVES: [(usize, Gives); 4] =
    [(0, Gives::To(12)), (1, Gives::All), (2, Gives::All), (0, Gives::To(6))];

const SUM: [Align; 7] = [
    Align::Left,
    Align::Left,
    Align::Right,
    Align::Right,
    Align::Right,
    Align::Right,
    Align::Right,
];

fn sums(name: &str, action: &str, total: &Total) -> Vec<Cell> {
    [
        safe(name),
        action.to_owned(),
        total.holders.to_string(),
        total.notices.to_string(),
        total.ends.to_string(),
        hours(total.won_gpu_hours),
        hours(total.lost_gpu_hours),
    ]
    .map(Cell::plain)
    .to_vec()
}

fn of_rules(simulated: &Simulated, view: &View) -> Vec<String> {
    let headings = ["rule", "action", "holders", "notices", "ends", "GPU-h won", "worked on"];
    let cells: Vec<_> =
        simulated.rules.iter().map(|rule| sums(&rule.rule, rule.action, &rule.total)).collect();
    rows(&headings, &SUM, &cells, &SUM_GIVES, view)
}

fn of_people(simulated: &Simulated, view: &View) -> Vec<String> {
    let headings = ["who", "", "holders", "notices", "ends", "GPU-h won", "worked on"];
    let name = |user: &Option<String>| user.clone().unwrap_or_else(|| "unattributed".to_owned());
    let cells: Vec<_> = simulated
        .people
        .iter()
        .map(|person| sums(&name(&person.user), "", &person.total))
        .collect();
    rows(&headings, &SUM, &cells, &SUM_GIVES, view)
}

/// What it was and by which rule is told above; who, when and how much stays.
const HOLDER_GIVES: [(usize, Gives); 7] = [
    (PROGRAM, Gives::To(8)),
    (RULE, Gives::To(8)),
    (RULE, Gives::All),
    (PROGRAM, Gives::All),
    (CARD, Gives::All),
    (FIRST_NOTICE, Gives::All),
    (WHO, Gives::To(6)),
];
const WHO: usize = 0;
const PROGRAM: usize = 2;
const CARD: usize = 3;
const FIRST_NOTICE: usize = 4;
const RULE: usize = 7;

fn of_holders(simulated: &Simulated, view: &View) -> Vec<String> {
    let headings = ["who", "pid", "program", "card", "first notice", "ended", "GPU-h won", "rule"];
    let aligns = [
        Align::Left,
        Align::Right,
        Align::Left,
        Align::Left,
        Align::Left,
        Align::Left,
        Align::Right,
        Align::Left,
    ];
    let shown = simulated.holders.iter().take(MOST_HOLDERS);
    let cells: Vec<_> = shown.map(|holder| of_holder(holder, view)).collect();
    let mut lines = rows(&headings, &aligns, &cells, &HOLDER_GIVES, view);
    let rest = simulated.holders.len().saturating_sub(MOST_HOLDERS);
    if rest > 0 {
        let more = format!("  … and {rest} more; --json has all of them");
        lines.extend(hung(&more, 2, view.width));
    }
    lines
}

fn of_holder(holder: &OfHolder, view: &View) -> Vec<Cell> {
    let at = |unix_ms: Option<i64>, none: &str| {
        unix_ms.map_or_else(|| none.to_owned(), |unix_ms| moment(unix_ms, &view.zone))
    };
    [
        holder.user.as_deref().map_or("unattributed".to_owned(), safe),
        holder.pid.to_string(),
        holder.program.as_deref().map_or("?".to_owned(), safe),
        holder.cards.join(","),
        at(holder.notices_at_unix_ms.first().copied(), "none"),
        at(holder.ended_at_unix_ms, "no"),
        hours(holder.won_gpu_hours),
        safe(&holder.rule),
    ]
    .map(Cell::plain)
    .to_vec()
}

fn hours(hours: f64) -> String {
    if hours > 0.0 && hours < 0.05 { "<0.1".to_owned() } else { format!("{hours:.1}") }
}
