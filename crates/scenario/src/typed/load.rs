//! A load as it was typed: a percentage, or a table whose keys tell its shape.

use std::fmt;
use std::time::Duration;

use serde::de::value::MapAccessDeserializer;
use serde::de::{self, Deserialize, Deserializer, MapAccess, Visitor};

use crate::load::{Load, Shape};
use crate::moment::Moment;
use crate::typed::{Offset, Span};

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

/// The keys of each shape, the one that tells it first.
const SHAPES: [&[&str]; 4] = [
    &["constant"],
    &["duty", "period", "high", "low", "phase"],
    &["from", "to", "begin", "end"],
    &["points", "repeat"],
];

impl LoadTable {
    /// The keys that are there, `noise` aside, which goes with every shape.
    fn keys(&self) -> Vec<&'static str> {
        let keys = [
            ("constant", self.constant.is_some()),
            ("duty", self.duty.is_some()),
            ("period", self.period.is_some()),
            ("high", self.high.is_some()),
            ("low", self.low.is_some()),
            ("phase", self.phase.is_some()),
            ("from", self.from.is_some()),
            ("to", self.to.is_some()),
            ("begin", self.begin.is_some()),
            ("end", self.end.is_some()),
            ("points", self.points.is_some()),
            ("repeat", self.repeat.is_some()),
        ];
        keys.into_iter().filter(|(_, is_there)| *is_there).map(|(key, _)| key).collect()
    }

    /// Refuses keys that another shape has.
    fn check_keys(&self) -> Result<(), String> {
        let keys = self.keys();
        let Some(shape) = SHAPES.iter().find(|shape| keys.contains(&shape[0])) else {
            return Ok(());
        };
        match keys.iter().find(|key| !shape.contains(key)) {
            Some(key) => Err(format!("`{key}` does not go with `{}`", shape[0])),
            None => Ok(()),
        }
    }

    fn meant(self) -> Result<Load, String> {
        self.check_keys()?;
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
