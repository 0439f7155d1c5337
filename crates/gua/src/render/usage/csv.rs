//! Tables of the report as CSV: one row for each account, card, session, hour of the week or gap.

use std::io::{self, Write};

use gua_query::usage::{CardUsage, Compared, ComparedAccount, Usage};
use serde::Serialize;
use serde_json::{Value, json};

use crate::cli::ReportTable;
use crate::render::csv::{Column, table};

pub(in crate::render) const ACCOUNT: [Column; 29] = [
    ("by", "/by"),
    ("name", "/name"),
    ("user", "/user"),
    ("uid", "/uid"),
    ("id", "/id"),
    ("unattributed", "/unattributed"),
    ("active_gpu_hours", "/active_gpu_hours"),
    ("idle_held_gpu_hours", "/idle_held_gpu_hours"),
    ("unused_gpu_hours", "/unused_gpu_hours"),
    ("low_use_gpu_hours", "/low_use_gpu_hours"),
    ("unknown_gpu_hours", "/unknown_gpu_hours"),
    ("total_gpu_hours", "/total_gpu_hours"),
    ("share_of_total", "/share_of_total"),
    ("idle_held_share", "/idle_held_share"),
    ("active_cost", "/active_cost"),
    ("idle_held_cost", "/idle_held_cost"),
    ("currency", "/report/currency"),
    ("unpriced_active_gpu_hours", "/unpriced_active_gpu_hours"),
    ("unpriced_idle_held_gpu_hours", "/unpriced_idle_held_gpu_hours"),
    ("active_energy_kwh", "/active_energy_kwh"),
    ("idle_held_energy_kwh", "/idle_held_energy_kwh"),
    ("energy_unknown_gpu_hours", "/energy_unknown_gpu_hours"),
    ("held_idle_gib_hours", "/held_idle_gib_hours"),
    ("memory_unknown_process_hours", "/memory_unknown_process_hours"),
    ("peak_memory_bytes", "/peak_memory_bytes"),
    ("present_process_hours", "/present_process_hours"),
    ("working_process_hours", "/working_process_hours"),
    ("idle_process_hours", "/idle_process_hours"),
    ("idle_beside_process_hours", "/idle_beside_process_hours"),
];

const ACCOUNT_BEFORE: [Column; 8] = [
    ("active_gpu_hours_before", "/compared/active_gpu_hours/before"),
    ("active_gpu_hours_difference", "/compared/active_gpu_hours/difference"),
    ("idle_held_gpu_hours_before", "/compared/idle_held_gpu_hours/before"),
    ("idle_held_gpu_hours_difference", "/compared/idle_held_gpu_hours/difference"),
    ("total_gpu_hours_before", "/compared/total_gpu_hours/before"),
    ("total_gpu_hours_difference", "/compared/total_gpu_hours/difference"),
    ("before_from", "/report/before_from"),
    ("before_to", "/report/before_to"),
];

pub(in crate::render) const CARD: [Column; 18] = [
    ("index", "/index"),
    ("slot", "/slot"),
    ("uuid", "/uuid"),
    ("name", "/name"),
    ("active_gpu_hours", "/states/active/gpu_hours"),
    ("idle_held_gpu_hours", "/states/idle_held/gpu_hours"),
    ("truly_idle_gpu_hours", "/states/truly_idle/gpu_hours"),
    ("unknown_gpu_hours", "/states/unknown/gpu_hours"),
    ("observed_gpu_hours", "/observed_gpu_hours"),
    ("active_share", "/states/active/share"),
    ("idle_held_share", "/states/idle_held/share"),
    ("truly_idle_share", "/states/truly_idle/share"),
    ("unknown_share", "/states/unknown/share"),
    ("mean_utilization_percent", "/mean_utilization_percent"),
    ("mean_memory_used_bytes", "/mean_memory_used_bytes"),
    ("active_energy_kwh", "/active_energy_kwh"),
    ("idle_held_energy_kwh", "/idle_held_energy_kwh"),
    ("energy_unknown_gpu_hours", "/energy_unknown_gpu_hours"),
];

const CARD_BEFORE: [Column; 8] = [
    ("active_gpu_hours_before", "/compared/active_gpu_hours/before"),
    ("active_gpu_hours_difference", "/compared/active_gpu_hours/difference"),
    ("idle_held_gpu_hours_before", "/compared/idle_held_gpu_hours/before"),
    ("idle_held_gpu_hours_difference", "/compared/idle_held_gpu_hours/difference"),
    ("truly_idle_gpu_hours_before", "/compared/truly_idle_gpu_hours/before"),
    ("truly_idle_gpu_hours_difference", "/compared/truly_idle_gpu_hours/difference"),
    ("before_from", "/report/before_from"),
    ("before_to", "/report/before_to"),
];

const SESSION: [Column; 27] = [
    ("user", "/user"),
    ("uid", "/uid"),
    ("card_index", "/card_index"),
    ("card_slot", "/card_slot"),
    ("card_uuid", "/card_uuid"),
    ("pid", "/pid"),
    ("program", "/program"),
    ("from", "/from"),
    ("from_seen", "/from_seen"),
    ("to", "/to"),
    ("to_seen", "/to_seen"),
    ("open", "/open"),
    ("idle_seconds", "/idle_seconds"),
    ("busy_card_seconds", "/busy_card_seconds"),
    ("idle_held_gpu_hours", "/idle_held_gpu_hours"),
    ("peak_memory_bytes", "/peak_memory_bytes"),
    ("bare_context", "/bare_context"),
    ("job", "/identity/job/id"),
    ("container_name", "/identity/container/name"),
    ("container_id", "/identity/container/id"),
    ("pod_name", "/identity/pod/name"),
    ("pod_uid", "/identity/pod/uid"),
    ("notebook_path", "/identity/notebook/path"),
    ("script", "/identity/script"),
    ("command", "/command"),
    ("ask", "/ask"),
    ("end", "/end"),
];

pub(in crate::render) const HOUR: [Column; 5] = [
    ("weekday", "/weekday"),
    ("hour", "/hour"),
    ("active_share", "/active_share"),
    ("observed_seconds", "/observed_seconds"),
    ("tz", "/report/tz"),
];

const GAP: [Column; 4] =
    [("from", "/from"), ("to", "/to"), ("seconds", "/seconds"), ("reason", "/reason")];

/// Columns about the report, in every table. Files of several windows or hosts can be put together.
pub(in crate::render) const REPORT: [Column; 4] = [
    ("window_from", "/report/window_from"),
    ("window_to", "/report/window_to"),
    ("window_coverage", "/report/window_coverage"),
    ("host", "/report/host"),
];

/// Writes one table of the report. Its rows have no sum, so that they can be added up.
///
/// # Errors
/// When the writer fails.
pub fn write(out: &mut impl Write, usage: &Usage, which: ReportTable) -> io::Result<()> {
    let (mut columns, mut rows) = match which {
        ReportTable::Accounts => (ACCOUNT.to_vec(), values(&usage.accounts)?),
        ReportTable::Cards => (CARD.to_vec(), cards(&usage.cards)?),
        ReportTable::Sessions => (SESSION.to_vec(), values(&usage.sessions)?),
        ReportTable::Hours => (HOUR.to_vec(), values(usage.heatmap.iter().flatten())?),
        ReportTable::Gaps => (GAP.to_vec(), values(&usage.gaps)?),
    };
    if let Some(compared) = &usage.compared {
        let before = match which {
            ReportTable::Accounts => Some((&ACCOUNT_BEFORE, compared_accounts(compared)?)),
            ReportTable::Cards => Some((&CARD_BEFORE, compared_cards(compared)?)),
            ReportTable::Sessions | ReportTable::Hours | ReportTable::Gaps => None,
        };
        if let Some((more, before)) = before {
            columns.extend(more);
            add_before(&mut rows, before);
        }
    }
    columns.extend(REPORT);
    let about = about(usage);
    table(out, &columns, rows.into_iter().map(|row| with(row, "report", &about)))
}

/// Returns rows as JSON.
pub(in crate::render) fn values<T: Serialize>(
    rows: impl IntoIterator<Item = T>,
) -> io::Result<Vec<Value>> {
    rows.into_iter().map(|row| Ok(serde_json::to_value(row)?)).collect()
}

/// Returns cards as JSON, with their observed time.
pub(in crate::render) fn cards(cards: &[CardUsage]) -> io::Result<Vec<Value>> {
    let observed = |card: &CardUsage| json!((card.states.gpu_hours() * 1e9).round() / 1e9);
    let rows = values(cards)?.into_iter().zip(cards);
    Ok(rows.map(|(row, card)| with(row, "observed_gpu_hours", &observed(card))).collect())
}

/// Returns a row with one more field.
pub(in crate::render) fn with(mut row: Value, key: &str, value: &Value) -> Value {
    if let Some(fields) = row.as_object_mut() {
        fields.insert(key.to_owned(), value.clone());
    }
    row
}

/// Returns what every row says of the report.
pub(in crate::render) fn about(usage: &Usage) -> Value {
    let before = usage.compared.as_ref().map(|compared| &compared.window);
    json!({
        "window_from": usage.window.from,
        "window_to": usage.window.to,
        "window_coverage": usage.window.coverage,
        "tz": usage.window.tz,
        "host": usage.host.as_ref().map(|host| &host.name),
        "currency": usage.money.as_ref().map(|money| &money.currency),
        "before_from": before.map(|window| window.from),
        "before_to": before.map(|window| window.to),
    })
}

/// Returns accounts of either window as JSON: each is a row without time now, and its figures.
fn compared_accounts(compared: &Compared) -> io::Result<Vec<(Value, Value)>> {
    const HOURS: [&str; 6] = [
        "active_gpu_hours",
        "idle_held_gpu_hours",
        "unused_gpu_hours",
        "low_use_gpu_hours",
        "unknown_gpu_hours",
        "total_gpu_hours",
    ];
    let row = |account: &ComparedAccount| {
        let pairs = serde_json::to_value(account)?;
        let zero = json!(0);
        let row = HOURS.iter().fold(pairs.clone(), |row, hours| with(row, hours, &zero));
        Ok((row, pairs))
    };
    compared.accounts.iter().map(row).collect()
}

/// Returns cards of either window as JSON: each is a row of a card that was not observed now, and its
/// figures.
fn compared_cards(compared: &Compared) -> io::Result<Vec<(Value, Value)>> {
    let pairs = values(&compared.cards)?.into_iter();
    Ok(pairs.map(|pairs| (with(pairs.clone(), "observed_gpu_hours", &json!(0)), pairs)).collect())
}

/// Adds the figures of the earlier window. Rows that are gone come after those of now.
fn add_before(rows: &mut Vec<Value>, before: Vec<(Value, Value)>) {
    for (place, (gone, pairs)) in before.into_iter().enumerate() {
        if place >= rows.len() {
            rows.push(gone);
        }
        if let Some(row) = rows.get_mut(place) {
            *row = with(std::mem::take(row), "compared", &pairs);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::usage::examples::week_of;

    /// A field that is new in JSON gets a column, too.
    #[test]
    fn accounts_have_every_field_of_the_json() {
        let usage = week_of("bob", "x.ipynb", |_| {});
        let row = values(&usage.accounts).unwrap().remove(0);
        let keys = row.as_object().unwrap().keys();
        let missing: Vec<_> =
            keys.filter(|key| !ACCOUNT.iter().any(|(title, _)| title == key)).collect();
        assert!(missing.is_empty(), "{missing:?}");
    }
}
