//! The report as one long table: a row a figure.

use std::io::{self, Write};

use gua_query::usage::{
    Account, Basis, CardUsage, Compared, ComparedAccount, Cost, Energy, HeatCell, Money,
    PersonPage, Session, States, Unattributed, Usage, Verdict,
};

use super::person;
use crate::render::csv::{name, row};
use crate::render::words::safe;

/// What does not apply is empty.
const COLUMNS: [&str; 56] = [
    "kind",
    "card_index",
    "card_slot",
    "card_uuid",
    "card_name",
    "user",
    "uid",
    "weekday",
    "hour",
    "state",
    "gpu_hours",
    "share",
    "by",
    "name",
    "unattributed",
    "id",
    "held_idle_gib_hours",
    "cost",
    "cost_per_month",
    "unpriced_gpu_hours",
    "currency",
    "pid",
    "program",
    "from",
    "to",
    "open",
    "peak_memory_bytes",
    "job",
    "container",
    "pod",
    "notebook",
    "gpu_hours_difference",
    "from_seen",
    "to_seen",
    "busy_card_seconds",
    "idle_held_gpu_hours",
    "bare_context",
    "script",
    "command",
    "ask",
    "end",
    "sentence",
    "present_process_hours",
    "working_process_hours",
    "idle_process_hours",
    "idle_beside_process_hours",
    "active_energy_kwh",
    "idle_held_energy_kwh",
    "energy_unknown_gpu_hours",
    "mean_utilization_percent",
    "mean_memory_used_bytes",
    "imported",
    "active_percent",
    "held_mb",
    "worked_percent",
    "reason",
];

/// One row, by the names of its columns.
#[derive(Debug, Clone, Default)]
struct Row(Vec<(&'static str, String)>);

impl Row {
    fn of(kind: &'static str) -> Self {
        Self(vec![("kind", kind.to_owned())])
    }

    #[expect(clippy::needless_pass_by_value, reason = "figures and words")]
    fn with(mut self, column: &'static str, value: impl ToString) -> Self {
        self.0.push((column, value.to_string()));
        self
    }

    fn maybe(self, column: &'static str, value: Option<impl ToString>) -> Self {
        match value {
            Some(value) => self.with(column, value),
            None => self,
        }
    }

    /// A text from outside.
    fn text(self, column: &'static str, value: Option<&str>) -> Self {
        self.maybe(column, value.map(|value| name(&safe(value))))
    }

    fn write(&self, out: &mut impl Write) -> io::Result<()> {
        let value = |column: &&str| {
            let found = self.0.iter().find(|(name, _)| name == column);
            found.map(|(_, value)| value.clone()).unwrap_or_default()
        };
        row(out, &COLUMNS.iter().map(value).collect::<Vec<_>>())
    }
}

/// Writes the report. Shares are of what the row is about: of all card time, of the card's, of the hour's;
/// of an account, of the time of all accounts in that state.
///
/// # Errors
/// When the writer fails.
pub fn write(out: &mut impl Write, usage: &Usage) -> io::Result<()> {
    row(out, &COLUMNS.map(str::to_owned))?;
    usage.basis.iter().try_for_each(|one| basis(out, one))?;
    usage.gaps.iter().try_for_each(|gap| {
        let row = Row::of("gap").with("from", gap.from).with("to", gap.to);
        row.with("reason", gap.reason.slug()).write(out)
    })?;
    states(out, &usage.states, &Row::of("total"))?;
    energy(Row::of("total").with("state", "all"), &usage.energy.total).write(out)?;
    usage.cards.iter().try_for_each(|one| card(out, one))?;
    usage.heatmap.iter().try_for_each(|cell| hour(out, cell))?;
    let currency = usage.money.as_ref().map(|money| money.currency.as_str());
    usage.accounts.iter().try_for_each(|one| account(out, one, currency))?;
    usage.sessions.iter().try_for_each(|one| session(out, one))?;
    usage.money.iter().try_for_each(|money| costs(out, money))?;
    usage.compared.iter().try_for_each(|compared| before(out, compared))?;
    verdict(out, &usage.verdict)?;
    usage.person.iter().try_for_each(|person| suggestion(out, usage, person))
}

/// The rule by which a stretch of the window was classified.
fn basis(out: &mut impl Write, basis: &Basis) -> io::Result<()> {
    Row::of("basis")
        .with("from", basis.from)
        .with("to", basis.to)
        .with("imported", basis.imported)
        .maybe("active_percent", basis.thresholds.active_percent)
        .maybe("held_mb", basis.thresholds.held_mb)
        .maybe("worked_percent", basis.thresholds.worked_percent)
        .text("sentence", Some(&basis.rule))
        .write(out)
}

/// What the figures mean: whether the rule's line is exceeded, or not known.
fn verdict(out: &mut impl Write, verdict: &Verdict) -> io::Result<()> {
    let state = match verdict.exceeded {
        Some(true) => "exceeded",
        Some(false) => "not_exceeded",
        None => "unknown",
    };
    Row::of("verdict")
        .with("name", verdict.rule)
        .with("state", state)
        .maybe("share", verdict.idle_held_share)
        .text("sentence", Some(&verdict.sentence))
        .write(out)
}

/// The one thing that would help most.
fn suggestion(out: &mut impl Write, usage: &Usage, person: &PersonPage) -> io::Result<()> {
    Row::of("suggestion")
        .text("user", person.account.name.as_deref())
        .with("name", person.suggestion.slug())
        .text("end", person::command(person))
        .text("sentence", Some(&person::suggestion(usage, person)))
        .write(out)
}

fn states(out: &mut impl Write, states: &States, about: &Row) -> io::Result<()> {
    states.all().into_iter().try_for_each(|(state, amount)| {
        let row = about.clone().with("state", state.slug()).with("gpu_hours", amount.gpu_hours);
        row.maybe("share", amount.share).write(out)
    })
}

fn card(out: &mut impl Write, card: &CardUsage) -> io::Result<()> {
    let row = Row::of("card")
        .maybe("card_index", card.index)
        .maybe("card_slot", card.slot)
        .text("card_uuid", card.uuid.as_deref())
        .text("card_name", card.name.as_deref());
    states(out, &card.states, &row)?;
    energy(row.with("state", "all"), &card.energy.total)
        .with("gpu_hours", rounded(card.states.gpu_hours()))
        .maybe("mean_utilization_percent", card.mean_utilization_percent)
        .maybe("mean_memory_used_bytes", card.mean_memory_used_bytes)
        .write(out)
}

fn energy(row: Row, energy: &Energy) -> Row {
    row.maybe("active_energy_kwh", energy.active_energy_kwh)
        .maybe("idle_held_energy_kwh", energy.idle_held_energy_kwh)
        .with("energy_unknown_gpu_hours", energy.energy_unknown_gpu_hours)
}

/// Rounds sums of hours to the billionth, as hours are.
fn rounded(hours: f64) -> f64 {
    (hours * 1e9).round() / 1e9
}

fn hour(out: &mut impl Write, cell: &HeatCell) -> io::Result<()> {
    let hours = cell.observed_seconds / 3_600.0 * cell.active_share;
    Row::of("heatmap")
        .with("weekday", cell.weekday)
        .with("hour", cell.hour)
        .with("state", "active")
        .with("gpu_hours", (hours * 1e6).round() / 1e6)
        .with("share", cell.active_share)
        .write(out)
}

fn account(out: &mut impl Write, account: &Account, currency: Option<&str>) -> io::Result<()> {
    let row = of_account(Row::of("account"), account);
    let of_state = |state: &'static str, gpu_hours: f64| {
        row.clone().with("state", state).with("gpu_hours", gpu_hours)
    };
    of_state("active", account.active_gpu_hours).write(out)?;
    of_state("idle_held", account.idle_held_gpu_hours)
        .maybe("share", account.idle_held_share)
        .maybe("cost", account.cost)
        .maybe("unpriced_gpu_hours", currency.map(|_| account.unpriced_gpu_hours))
        .text("currency", currency)
        .write(out)?;
    of_state("unused", account.unused_gpu_hours).write(out)?;
    of_state("low_use", account.low_use_gpu_hours).write(out)?;
    of_state("unknown", account.unknown_gpu_hours).write(out)?;
    let all = of_state("all", account.total_gpu_hours)
        .maybe("share", account.share_of_total)
        .maybe("held_idle_gib_hours", account.held_idle_gib_hours)
        .maybe("peak_memory_bytes", account.peak_memory_bytes)
        .maybe("present_process_hours", account.present_process_hours)
        .maybe("working_process_hours", account.working_process_hours)
        .maybe("idle_process_hours", account.idle_process_hours)
        .maybe("idle_beside_process_hours", account.idle_beside_process_hours);
    energy(all, &account.energy).write(out)
}

fn of_account(row: Row, account: &Account) -> Row {
    row.text("user", account.user.as_deref())
        .with("by", account.by.slug())
        .text("name", account.name.as_deref())
        .maybe("unattributed", account.unattributed.map(Unattributed::slug))
        .text("id", account.id.as_deref())
}

fn session(out: &mut impl Write, session: &Session) -> io::Result<()> {
    let identity = session.identity.as_ref();
    let job = identity.and_then(|it| it.job.as_ref()).map(|job| job.value.id.as_ref());
    let container = identity.and_then(|it| it.container.as_ref()).map(|it| &it.value);
    let container = container.map(|it| it.name.as_deref().unwrap_or(&it.id));
    let pod = identity.and_then(|it| it.pod.as_ref()).map(|it| &it.value);
    let pod = pod.map(|it| it.name.as_deref().unwrap_or(&it.uid));
    let notebook = identity.and_then(|it| it.notebook.as_ref());
    Row::of("session")
        .maybe("card_index", session.card_index)
        .maybe("card_slot", session.card_slot)
        .text("card_uuid", session.card_uuid.as_deref())
        .text("user", session.user.as_deref())
        .maybe("uid", session.uid)
        .with("state", "idle")
        .with("gpu_hours", (session.idle_seconds / 3_600.0 * 1e9).round() / 1e9)
        .with("pid", session.pid)
        .text("program", session.program.as_deref())
        .with("from", session.from)
        .with("to", session.to)
        .maybe("open", session.open)
        .maybe("peak_memory_bytes", session.peak_memory_bytes)
        .text("job", job)
        .text("container", container)
        .text("pod", pod)
        .text("notebook", notebook.and_then(|it| it.value.path.as_deref()))
        .with("from_seen", session.from_seen)
        .with("to_seen", session.to_seen)
        .with("busy_card_seconds", session.busy_card_seconds)
        .with("idle_held_gpu_hours", session.idle_held_gpu_hours)
        .maybe("bare_context", session.bare_context)
        .text("script", identity.and_then(|it| it.script.as_deref()))
        .text("command", session.command.as_deref())
        .text("ask", session.ask.as_deref())
        .text("end", session.end.as_deref())
        .write(out)
}

fn costs(out: &mut impl Write, money: &Money) -> io::Result<()> {
    let of = |state: &'static str, cost: &Cost| {
        Row::of("money")
            .with("state", state)
            .maybe("cost", cost.cost)
            .maybe("cost_per_month", cost.cost_per_month)
            .with("unpriced_gpu_hours", cost.unpriced_gpu_hours)
            .text("currency", Some(&money.currency))
    };
    of("idle_held", &money.idle_held).write(out)?;
    of("truly_idle", &money.truly_idle).write(out)
}

/// How it was in the earlier window, with what has come to it since.
fn before(out: &mut impl Write, compared: &Compared) -> io::Result<()> {
    let row = Row::of("before").with("from", compared.window.from).with("to", compared.window.to);
    for state in &compared.states {
        let row = row.clone().with("state", state.state.slug());
        row.maybe("gpu_hours", state.gpu_hours.before)
            .maybe("share", state.share.before)
            .maybe("gpu_hours_difference", state.gpu_hours.difference)
            .write(out)?;
    }
    for account in &compared.accounts {
        let row = of_compared(row.clone(), account);
        for (state, pair) in
            [("all", account.total_gpu_hours), ("idle_held", account.idle_held_gpu_hours)]
        {
            row.clone()
                .with("state", state)
                .maybe("gpu_hours", pair.before)
                .maybe("gpu_hours_difference", pair.difference)
                .write(out)?;
        }
    }
    Ok(())
}

fn of_compared(row: Row, account: &ComparedAccount) -> Row {
    row.text("user", account.user.as_deref())
        .with("by", account.by.slug())
        .text("name", account.name.as_deref())
        .maybe("unattributed", account.unattributed.map(Unattributed::slug))
        .text("id", account.id.as_deref())
}
