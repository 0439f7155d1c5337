//! What a scenario file says, as it was typed. [`crate::parse`] turns it into what is meant.

mod load;

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use bytesize::ByteSize;
use serde::de::{self, Deserialize, Deserializer, Visitor};
use toml::Spanned;

use crate::fault::NvmlCode;
use crate::load::Load;
use crate::model::{Kind, ProcessUtilization, Stamps};
use crate::moment::Moment;

#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct File {
    #[serde(default)]
    pub seed: u64,
    #[serde(default)]
    pub host: Host,
    #[serde(default)]
    pub driver: Driver,
    #[serde(default)]
    pub time: Time,
    #[serde(default)]
    pub samples: Samples,
    #[serde(default)]
    pub card: Vec<Spanned<Card>>,
    #[serde(default)]
    pub process: Vec<Spanned<Process>>,
    #[serde(default)]
    pub fault: Vec<Spanned<Fault>>,
    #[serde(default)]
    pub stray_sample: Vec<StraySample>,
    #[serde(default)]
    pub container: Vec<Container>,
    #[serde(default)]
    pub pod: Vec<Pod>,
}

#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Host {
    pub name: String,
}

impl Default for Host {
    fn default() -> Self {
        Self { name: "pretend".into() }
    }
}

#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Driver {
    pub version: String,
    pub nvml_version: String,
    pub cuda: Spanned<String>,
    pub lacks: Vec<Spanned<String>>,
}

impl Default for Driver {
    fn default() -> Self {
        Self {
            version: "560.35.05".into(),
            nvml_version: "12.560.35.05".into(),
            cuda: Spanned::new(0..0, "12.6".into()),
            lacks: Vec::new(),
        }
    }
}

#[derive(Debug, Default, serde::Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Time {
    pub origin: Option<Spanned<String>>,
    pub speed: Option<Spanned<f64>>,
    pub stamp_offset: Option<Offset>,
    pub stamps: Option<Spanned<Stamps>>,
}

#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Samples {
    pub period: Spanned<Span>,
    pub capacity: Spanned<u32>,
    pub dry_when_idle: bool,
    pub lose: Spanned<f64>,
    pub processes: Spanned<ProcessUtilization>,
}

impl Default for Samples {
    /// A sixth of a second and 100 entries: what data-centre cards have been seen to keep.
    fn default() -> Self {
        Self {
            period: Spanned::new(0..0, Span(Duration::from_micros(166_667))),
            capacity: Spanned::new(0..0, 100),
            dry_when_idle: false,
            lose: Spanned::new(0..0, 0.0),
            processes: Spanned::new(0..0, ProcessUtilization::Newest),
        }
    }
}

#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Card {
    #[serde(default = "some_card")]
    pub name: String,
    pub uuid: Option<String>,
    pub minor: Option<u32>,
    pub serial: Option<String>,
    pub bus_id: Option<Spanned<String>>,
    #[serde(default = "some_memory")]
    pub memory: Spanned<Size>,
    pub reserved: Option<Size>,
    pub unattributed: Option<Size>,
    #[serde(default)]
    pub unified_memory: bool,
    pub utilization: Option<Load>,
    pub memory_utilization: Option<Load>,
    pub encoder: Option<Load>,
    pub decoder: Option<Load>,
    pub power: Option<Power>,
    pub temperature: Option<Ends>,
    pub sm_clock: Option<Ends>,
    pub memory_clock: Option<Ends>,
    pub fan: Option<Spanned<u32>>,
    #[serde(default = "yes")]
    pub persistence: bool,
    pub compute_capability: Option<Spanned<String>>,
    #[serde(default)]
    pub gpm: bool,
    #[serde(default)]
    pub accounting: bool,
    pub mig_slots: Option<u32>,
    #[serde(default)]
    pub mig: Vec<Spanned<Instance>>,
}

fn some_card() -> String {
    "NVIDIA A100-SXM4-80GB".into()
}

fn some_memory() -> Spanned<Size> {
    Spanned::new(0..0, Size(80 << 30))
}

fn yes() -> bool {
    true
}

#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Power {
    pub idle: Quantity,
    pub full: Quantity,
    pub limit: Option<Quantity>,
}

#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ends {
    pub idle: Quantity,
    pub full: Quantity,
}

#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Instance {
    pub slot: u32,
    pub uuid: Option<String>,
    pub profile: String,
    pub memory: Size,
    pub gpu_instance: Option<u32>,
    #[serde(default)]
    pub compute_instance: u32,
    pub utilization: Option<Load>,
}

#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Process {
    pub pid: u32,
    pub card: Option<CardRef>,
    pub cards: Option<Vec<CardRef>>,
    pub slot: Option<u32>,
    pub kind: Option<Kinds>,
    pub memory: MemoryHeld,
    pub peak: Option<Spanned<Size>>,
    pub sm: Option<Load>,
    pub memory_utilization: Option<Load>,
    pub encoder: Option<Load>,
    pub decoder: Option<Load>,
    pub begin: Option<Offset>,
    pub end: Option<Offset>,
    pub user: Option<Spanned<String>>,
    pub uid: Option<u32>,
    pub program: Option<String>,
    pub command: Option<Vec<String>>,
    pub parent: Option<u32>,
    #[serde(default)]
    pub gone: bool,
    pub cgroup: Option<String>,
    pub loginuid: Option<u32>,
    pub environ: Option<Spanned<BTreeMap<String, String>>>,
    pub folder: Option<Spanned<String>>,
    pub uid_map: Option<String>,
}

#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Container {
    pub id: Spanned<String>,
    pub name: Spanned<String>,
}

#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pod {
    pub uid: Spanned<String>,
    pub namespace: Spanned<String>,
    pub name: Spanned<String>,
}

#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fault {
    pub call: Spanned<String>,
    pub card: Option<CardRef>,
    pub slot: Option<u32>,
    pub code: Option<Code>,
    pub from: Option<Offset>,
    pub to: Option<Spanned<Offset>>,
    pub times: Option<Spanned<u32>>,
    pub latency: Option<Span>,
    #[serde(default)]
    pub hang: bool,
    pub grow: Option<u32>,
    pub extra_bytes: Option<u32>,
}

#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StraySample {
    pub card: Spanned<CardRef>,
    pub pid: Option<u32>,
    pub sm: u32,
    pub age: Option<Span>,
    pub ahead: Option<Span>,
}

/// A card by its index or by its UUID.
#[derive(Debug, Clone, PartialEq, Eq, serde::Deserialize)]
#[serde(untagged, expecting = "expected a card's index or its UUID")]
pub enum CardRef {
    Index(u32),
    Uuid(String),
}

impl fmt::Display for CardRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Index(index) => write!(f, "{index}"),
            Self::Uuid(uuid) => f.write_str(uuid),
        }
    }
}

/// The longest time that a scenario can speak of: what a [`Moment`] holds exactly.
const CENTURY: Duration = Duration::from_secs(100 * 31_557_600);

/// A length of time, typed as `167ms` or `1h30m`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span(pub Duration);

/// A moment relative to the origin, typed as `90s` or `-5h12m`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Offset(pub Moment);

/// Watts, degrees or MHz.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Quantity(pub f64);

/// A number of bytes, typed as `80GiB` or `500MB`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size(pub u64);

/// A process's memory: a size, or `unknown`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemoryHeld(pub Option<u64>);

/// One kind, or several joined by `+` as in `compute+graphics`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kinds(pub Vec<Kind>);

/// An NVML code by name or number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Code(pub NvmlCode);

impl FromStr for Span {
    type Err = String;
    fn from_str(typed: &str) -> Result<Self, String> {
        let span = humantime::parse_duration(typed).map_err(|_| {
            format!("`{typed}` is not a duration; expected one like 500ms or 1h30m")
        })?;
        if span > CENTURY {
            return Err(format!("`{typed}` is too long; expected at most 100 years"));
        }
        Ok(Self(span))
    }
}

impl FromStr for Offset {
    type Err = String;
    fn from_str(typed: &str) -> Result<Self, String> {
        match typed.strip_prefix('-') {
            Some(before) => Ok(Self(Moment::ORIGIN - before.parse::<Span>()?.0)),
            None => Ok(Self(Moment::ORIGIN + typed.parse::<Span>()?.0)),
        }
    }
}

impl FromStr for Size {
    type Err = String;
    fn from_str(typed: &str) -> Result<Self, String> {
        typed
            .parse::<ByteSize>()
            .map(|size| Self(size.as_u64()))
            .map_err(|_| format!("`{typed}` is not a size; expected one like 80GiB or 500MB"))
    }
}

impl FromStr for MemoryHeld {
    type Err = String;
    fn from_str(typed: &str) -> Result<Self, String> {
        if typed == "unknown" {
            return Ok(Self(None));
        }
        typed.parse::<Size>().map(|size| Self(Some(size.0))).map_err(|_| {
            format!("`{typed}` is not a size; expected one like 80GiB or 500MB, or `unknown`")
        })
    }
}

impl FromStr for Kinds {
    type Err = String;
    fn from_str(typed: &str) -> Result<Self, String> {
        let kinds = typed.split('+').map(|kind| match kind.trim() {
            "compute" => Ok(Kind::Compute),
            "graphics" => Ok(Kind::Graphics),
            "mps" => Ok(Kind::Mps),
            other => Err(format!(
                "`{other}` is not a kind of process; expected compute, graphics or mps, \
                 several joined by `+`"
            )),
        });
        kinds.collect::<Result<Vec<_>, _>>().map(Self)
    }
}

macro_rules! deserialize_from_str {
    ($($type:ty),+) => {$(
        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                String::deserialize(from)?.parse().map_err(de::Error::custom)
            }
        }
    )+};
}

deserialize_from_str!(Span, Offset, Size, MemoryHeld, Kinds);

impl<'de> Deserialize<'de> for Quantity {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let value = f64::deserialize(from)?;
        if value.is_finite() && value >= 0.0 {
            return Ok(Self(value));
        }
        Err(de::Error::custom(format!("{value} cannot be; expected a number from 0 up")))
    }
}

impl<'de> Deserialize<'de> for Code {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct CodeVisitor;

        impl Visitor<'_> for CodeVisitor {
            type Value = Code;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an NVML code, by name like GPU_IS_LOST or by number")
            }

            fn visit_i64<E: de::Error>(self, code: i64) -> Result<Code, E> {
                u32::try_from(code).map(|code| Code(NvmlCode(code))).map_err(|_| {
                    E::custom(format!(
                        "{code} is not an NVML code; expected a name like GPU_IS_LOST or a \
                         number from 0 to {}",
                        u32::MAX
                    ))
                })
            }

            fn visit_str<E: de::Error>(self, name: &str) -> Result<Code, E> {
                name.parse().map(Code).map_err(E::custom)
            }
        }

        from.deserialize_any(CodeVisitor)
    }
}
