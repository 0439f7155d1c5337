//! The report as one long table: a row a figure.

use std::io::{self, Write};

use super::person;
use crate::render::csv::{name, row};
use crate::render::words::safe;
use crate::report::accounts::Unattributed;
use crate::report::usage::{
    Account, Card, Compared, ComparedAccount, Cost, HeatCell, Money, Person, PersonPage, Session,
    States, Usage, Verdict,
};

/// What does not apply is empty. Those at the end came later, so that places stay.
const COLUMNS: [&str; 43] = [
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
    "gb_hours",
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
    "as_the_card_seconds",
    "idle_held_gpu_hours",
    "bare_context",
    "script",
    "command",
    "ask",
    "end",
    "sentence",
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

/// Writes the report. Shares are of what the row is about: of all card time, of the card's,
/// of the person's, of the hour's; of all idle-held time for what is idle-held in an account.
///
/// # Errors
/// When the writer fails.
pub fn write(out: &mut impl Write, usage: &Usage) -> io::Result<()> {
    row(out, &COLUMNS.map(str::to_owned))?;
    states(out, &usage.states, &Row::of("total"))?;
    for card in &usage.cards {
        states(out, &card.states, &of_card(card))?;
    }
    for one in usage.identities.iter().flatten() {
        identity(out, one)?;
    }
    usage.heatmap.iter().try_for_each(|cell| hour(out, cell))?;
    let currency = usage.money.as_ref().map(|money| money.currency.as_str());
    for one in usage.accounts.iter().flatten() {
        account(out, one, currency)?;
    }
    usage.sessions.iter().flatten().try_for_each(|one| session(out, one))?;
    usage.money.iter().try_for_each(|money| costs(out, money))?;
    usage.compared.iter().try_for_each(|compared| before(out, compared))?;
    verdict(out, &usage.verdict)?;
    usage.person.iter().try_for_each(|person| suggestion(out, usage, person))
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

fn of_card(card: &Card) -> Row {
    Row::of("card")
        .maybe("card_index", card.index)
        .maybe("card_slot", card.slot)
        .text("card_uuid", card.uuid.as_deref())
        .text("card_name", card.name.as_deref())
}

/// All of the time, and what of it was idle-held.
fn identity(out: &mut impl Write, person: &Person) -> io::Result<()> {
    let row = Row::of("identity").text("user", person.user.as_deref()).maybe("uid", person.uid);
    let all = row.clone().with("state", "all").with("gpu_hours", person.gpu_hours);
    all.with("share", 1.0).write(out)?;
    let idle_held = row.with("state", "idle_held").with("gpu_hours", person.idle_held_gpu_hours);
    idle_held.maybe("share", person.idle_held_share).write(out)
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
    let all = row.clone().with("state", "all").with("gpu_hours", account.gpu_hours);
    all.write(out)?;
    let worked = row.clone().with("state", "worked").with("gpu_hours", account.worked_gpu_hours);
    worked.write(out)?;
    row.clone()
        .with("state", "idle_held")
        .with("gpu_hours", account.idle_held_gpu_hours)
        .maybe("share", account.idle_held_share)
        .maybe("cost", account.cost)
        .maybe("unpriced_gpu_hours", currency.map(|_| account.unpriced_gpu_hours))
        .text("currency", currency)
        .write(out)?;
    row.clone()
        .with("state", "idle")
        .with("gpu_hours", account.idle_gpu_hours)
        .with("gb_hours", account.held_idle_gb_hours)
        .write(out)?;
    let little = account.worked_on_idle_held_gpu_hours;
    for (state, hours) in [
        ("unknown", account.unknown_gpu_hours),
        ("as_the_card", account.as_the_card_gpu_hours),
        ("worked_on_idle_held", little),
    ] {
        row.clone().with("state", state).with("gpu_hours", hours).write(out)?;
    }
    Ok(())
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
    let job = identity.and_then(|it| it.job.as_ref()).map(|job| &*job.value.id);
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
        .with("as_the_card_seconds", session.as_the_card_seconds)
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
    for account in compared.accounts.iter().flatten() {
        let row = of_compared(row.clone(), account);
        for (state, pair) in
            [("all", account.gpu_hours), ("idle_held", account.idle_held_gpu_hours)]
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
