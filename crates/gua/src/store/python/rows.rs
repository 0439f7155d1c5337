//! Rows with values that make sense.

use std::collections::HashMap;

use probe::process::Kinds;
use rusqlite::Row;
use rusqlite::types::ValueRef;

use crate::classify::CentiPercent;

/// More mebibytes than any card has: 1 PiB.
const MOST_MIB: i64 = 1 << 30;

/// A text that was seen before, by its number.
pub(super) type Text = u32;

/// Texts that repeat in millions of rows, each kept once.
#[derive(Debug, Default)]
pub(super) struct Texts {
    numbers: HashMap<Box<str>, Text>,
    texts: Vec<Box<str>>,
}

impl Texts {
    pub fn number(&mut self, text: &str) -> Text {
        if let Some(number) = self.numbers.get(text) {
            return *number;
        }
        let number = Text::try_from(self.texts.len()).unwrap_or(Text::MAX);
        self.numbers.insert(text.into(), number);
        self.texts.push(text.into());
        number
    }

    pub fn text(&self, number: Text) -> Option<&str> {
        self.texts.get(usize::try_from(number).ok()?).map(|text| &**text)
    }
}

/// The columns of a card's sample, after its time and run.
pub(super) const GPU_COLUMNS: [&str; 7] = [
    "gpu_uuid",
    "util_pct",
    "gpu_index",
    "memory_used_mb",
    "temperature_c",
    "power_w",
    "usage_state",
];

/// One card at one tick.
#[derive(Debug, Clone, Copy)]
pub(super) struct GpuRow {
    pub uuid: Text,
    pub work: Option<CentiPercent>,
    pub index: Option<u32>,
    pub used_mib: Option<u64>,
    pub temperature: Option<u32>,
    pub power_watts: Option<u32>,
    pub was_judged: bool,
}

impl GpuRow {
    /// `None` where a value makes no sense.
    pub fn read(row: &Row<'_>, texts: &mut Texts) -> rusqlite::Result<Option<Self>> {
        let Some(uuid) = name(row.get_ref(2)?) else { return Ok(None) };
        let Ok(work) = work(row.get_ref(3)?) else { return Ok(None) };
        Ok(Some(Self {
            uuid: texts.number(uuid),
            work,
            index: small(row.get_ref(4)?),
            used_mib: mib(row.get_ref(5)?).unwrap_or_default(),
            temperature: small(row.get_ref(6)?),
            power_watts: small(row.get_ref(7)?),
            was_judged: row.get_ref(8)? != ValueRef::Null,
        }))
    }
}

/// The columns of a process's sample, after its time and run.
pub(super) const PROCESS_COLUMNS: [&str; 7] = [
    "gpu_uuid",
    "pid",
    "mem_used_mb",
    "loginuid_user",
    "owner_user",
    "process_name",
    "process_type",
];

/// One process on one card at one tick.
#[derive(Debug, Clone, Copy)]
pub(super) struct ProcessRow {
    pub uuid: Text,
    pub pid: u32,
    /// `None` where the driver did not tell.
    pub mib: Option<u64>,
    pub user: Option<Text>,
    pub program: Option<Text>,
    pub kinds: Kinds,
}

impl ProcessRow {
    /// `None` where a value makes no sense.
    pub fn read(row: &Row<'_>, texts: &mut Texts) -> rusqlite::Result<Option<Self>> {
        let Some(uuid) = name(row.get_ref(2)?) else { return Ok(None) };
        let Some(pid) = small(row.get_ref(3)?) else { return Ok(None) };
        let Ok(mib) = mib(row.get_ref(4)?) else { return Ok(None) };
        let user = name(row.get_ref(5)?).or(name(row.get_ref(6)?));
        let kind = name(row.get_ref(8)?);
        Ok(Some(Self {
            uuid: texts.number(uuid),
            pid,
            mib,
            user: user.map(|user| texts.number(user)),
            program: name(row.get_ref(7)?).map(|program| texts.number(program)),
            // The versions that did not say listed processes of this kind only.
            kinds: Kinds {
                compute: kind.is_none_or(|kind| kind == "compute"),
                graphics: kind == Some("graphics"),
                mps: false,
            },
        }))
    }
}

fn name(value: ValueRef<'_>) -> Option<&str> {
    value.as_str().ok().filter(|text| !text.is_empty())
}

fn small(value: ValueRef<'_>) -> Option<u32> {
    match value {
        ValueRef::Integer(number) => u32::try_from(number).ok(),
        ValueRef::Real(number) if (0.0..=1e9).contains(&number) =>
        {
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "fits")]
            Some(number.round() as u32)
        }
        _ => None,
    }
}

/// It is there but makes no sense.
struct Senseless;

fn work(value: ValueRef<'_>) -> Result<Option<CentiPercent>, Senseless> {
    match value {
        ValueRef::Null => Ok(None),
        ValueRef::Integer(percent @ 0..=100) => {
            Ok(u32::try_from(percent * 100).ok().map(CentiPercent))
        }
        ValueRef::Real(percent) if (0.0..=100.0).contains(&percent) => {
            Ok(Some(probe::units::Percent(percent).into()))
        }
        _ => Err(Senseless),
    }
}

fn mib(value: ValueRef<'_>) -> Result<Option<u64>, Senseless> {
    match value {
        ValueRef::Null => Ok(None),
        ValueRef::Integer(mib @ 0..=MOST_MIB) => Ok(u64::try_from(mib).ok()),
        _ => Err(Senseless),
    }
}
