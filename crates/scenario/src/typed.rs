//! What a scenario file says, as it was typed. [`crate::parse`] turns it into what is meant.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use bytesize::ByteSize;
use serde::de::{
    self, Deserialize, Deserializer, MapAccess, Visitor, value::MapAccessDeserializer,
};
use toml::Spanned;

use crate::fault::NvmlCode;
use crate::load::{Load, Shape};
use crate::model::Kind;
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
    pub lacks: Vec<String>,
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
}

#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Samples {
    pub period: Spanned<Span>,
    pub capacity: u32,
}

impl Default for Samples {
    /// A sixth of a second and 100 entries: what data-centre cards have been seen to keep.
    fn default() -> Self {
        let period = Span(Duration::from_micros(166_667));
        Self { period: Spanned::new(0..0, period), capacity: 100 }
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
    pub fan: Option<u32>,
    #[serde(default = "yes")]
    pub persistence: bool,
    pub compute_capability: Option<Spanned<String>>,
    #[serde(default)]
    pub gpm: bool,
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
    pub idle: f64,
    pub full: f64,
    pub limit: Option<f64>,
}

#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ends {
    pub idle: f64,
    pub full: f64,
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
    pub sm: Option<Load>,
    pub begin: Option<Offset>,
    pub end: Option<Offset>,
    pub user: Option<String>,
    pub uid: Option<u32>,
    pub program: Option<String>,
    pub command: Option<Vec<String>>,
    pub parent: Option<u32>,
    #[serde(default)]
    pub gone: bool,
}

#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fault {
    pub call: String,
    pub card: Option<CardRef>,
    pub slot: Option<u32>,
    pub code: Option<Code>,
    pub from: Option<Offset>,
    pub to: Option<Offset>,
    pub times: Option<u32>,
    pub latency: Option<Span>,
    #[serde(default)]
    pub hang: bool,
    pub grow: Option<u32>,
}

#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StraySample {
    pub card: Spanned<CardRef>,
    pub pid: u32,
    pub sm: u32,
    pub age: Option<Span>,
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

/// A length of time, typed as `167ms` or `1h30m`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span(pub Duration);

/// A moment relative to the origin, typed as `90s` or `-5h12m`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Offset(pub Moment);

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
        humantime::parse_duration(typed)
            .map(Self)
            .map_err(|_| format!("`{typed}` is not a duration; expected one like 500ms or 1h30m"))
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

impl<'de> Deserialize<'de> for Code {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct CodeVisitor;

        impl Visitor<'_> for CodeVisitor {
            type Value = Code;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an NVML code, by name like GPU_IS_LOST or by number")
            }

            fn visit_i64<E: de::Error>(self, code: i64) -> Result<Code, E> {
                u32::try_from(code).map(|code| Code(NvmlCode(code))).map_err(E::custom)
            }

            fn visit_str<E: de::Error>(self, name: &str) -> Result<Code, E> {
                name.parse().map(Code).map_err(E::custom)
            }
        }

        from.deserialize_any(CodeVisitor)
    }
}

impl<'de> Deserialize<'de> for Load {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct LoadVisitor;

        impl<'de> Visitor<'de> for LoadVisitor {
            type Value = Load;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(
                    "a percentage, or a table with `constant`, with `duty` and `period`, \
                     with `from`, `to` and `end`, or with `points`",
                )
            }

            #[expect(clippy::cast_precision_loss, reason = "refused above 100 anyway")]
            fn visit_i64<E: de::Error>(self, percent: i64) -> Result<Load, E> {
                self.visit_f64(percent as f64)
            }

            fn visit_f64<E: de::Error>(self, percent: f64) -> Result<Load, E> {
                percentage(percent).map(Load::constant).map_err(E::custom)
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Load, A::Error> {
                let table = LoadTable::deserialize(MapAccessDeserializer::new(map))?;
                table.meant().map_err(de::Error::custom)
            }
        }

        from.deserialize_any(LoadVisitor)
    }
}

/// All keys that a load's table may have; which of them are there tells its shape.
#[derive(Debug, Default, serde::Deserialize)]
#[serde(deny_unknown_fields, default)]
struct LoadTable {
    noise: f64,
    constant: Option<f64>,
    duty: Option<f64>,
    period: Option<Span>,
    high: Option<f64>,
    low: Option<f64>,
    phase: Option<Span>,
    from: Option<f64>,
    to: Option<f64>,
    begin: Option<Offset>,
    end: Option<Offset>,
    points: Option<Vec<(Offset, f64)>>,
    repeat: Option<Span>,
}

impl LoadTable {
    fn meant(self) -> Result<Load, String> {
        percentage(self.noise)?;
        let noise = self.noise;
        let shape = match self {
            Self { constant: Some(percent), .. } => Shape::Constant(percentage(percent)?),
            Self { duty: Some(duty), period, high, low, phase, .. } => Shape::Duty {
                duty: percentage(duty)?,
                period: positive("period", period.ok_or("a duty cycle needs a `period`")?)?,
                high: percentage(high.unwrap_or(100.0))?,
                low: percentage(low.unwrap_or(0.0))?,
                phase: phase.map_or(Duration::ZERO, |phase| phase.0),
            },
            Self { from: Some(from), to: Some(to), begin, end: Some(end), .. } => {
                ramp(from, to, begin, end)?
            }
            Self { points: Some(points), repeat, .. } => steps(&points, repeat)?,
            _ => {
                return Err(
                    "a load needs `constant`, or `duty` and `period`, or `from`, `to` and \
                            `end`, or `points`"
                        .into(),
                );
            }
        };
        Ok(Load { shape, noise })
    }
}

fn ramp(from: f64, to: f64, begin: Option<Offset>, end: Offset) -> Result<Shape, String> {
    let begin = begin.map_or(Moment::ORIGIN, |begin| begin.0);
    if end.0 <= begin {
        return Err("a ramp must end after it begins".into());
    }
    Ok(Shape::Ramp { from: percentage(from)?, to: percentage(to)?, begin, end: end.0 })
}

fn steps(points: &[(Offset, f64)], repeat: Option<Span>) -> Result<Shape, String> {
    let points = points
        .iter()
        .map(|(at, value)| Ok((at.0, percentage(*value)?)))
        .collect::<Result<Vec<_>, String>>()?;
    if points.is_empty() {
        return Err("`points` is empty; expected pairs like [\"10s\", 80]".into());
    }
    if !points.is_sorted_by(|a, b| a.0 < b.0) {
        return Err("`points` must be in the order of time, each later than the one before".into());
    }
    let repeat = repeat.map(|repeat| positive("repeat", repeat)).transpose()?;
    Ok(Shape::Points { points, repeat })
}

fn percentage(value: f64) -> Result<f64, String> {
    if (0.0..=100.0).contains(&value) {
        return Ok(value);
    }
    Err(format!("{value} is not a percentage; expected 0 to 100"))
}

fn positive(key: &str, span: Span) -> Result<Duration, String> {
    if span.0.as_micros() == 0 {
        return Err(format!("`{key}` must be longer than zero"));
    }
    Ok(span.0)
}
