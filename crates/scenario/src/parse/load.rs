//! A load: a percentage, or a table whose keys tell its shape.

use std::time::Duration;

use toml::de::DeValue;

use crate::load::{Load, Shape};
use crate::moment::Moment;
use crate::parse::table::{Table, Value, Wrong, converted};
use crate::parse::value::{duration, moment, percentage};

/// The keys of each shape, the one that tells it first.
const SHAPES: [&[&str]; 4] = [
    &["constant"],
    &["duty", "period", "high", "low", "phase"],
    &["from", "to", "begin", "end"],
    &["points", "repeat"],
];

pub fn load(value: Value<'_>) -> Result<Load, Wrong> {
    match value.get_ref() {
        DeValue::Integer(_) | DeValue::Float(_) => converted(value, percentage).map(Load::constant),
        DeValue::Table(_) => of_table(Table::new(value)?),
        _ => Err(Wrong::unexpected(
            &value,
            "a percentage, or a table with `constant`, with `duty` and `period`, with `from`, `to` \
             and `end`, or with `points`",
        )),
    }
}

fn of_table(mut table: Table<'_>) -> Result<Load, Wrong> {
    let noise = table.get_as("noise", percentage).unwrap_or_default();
    let constant = table.get_as("constant", percentage);
    let duty = table.get_as("duty", percentage);
    let period = table.text("period", |text| positive("period", text));
    let high = table.get_as("high", percentage).unwrap_or(100.0);
    let low = table.get_as("low", percentage).unwrap_or(0.0);
    let phase = table.text("phase", duration).unwrap_or_default();
    let (from, to) = (table.get_as("from", percentage), table.get_as("to", percentage));
    let begin = table.text("begin", moment).unwrap_or(Moment::ORIGIN);
    let end = table.text("end", moment);
    let points = table.get_as("points", steps);
    let repeat = table.text("repeat", |text| positive("repeat", text));
    refuse_mixed(&mut table);
    let shape = if let Some(percent) = constant {
        Shape::Constant(percent)
    } else if let Some(duty) = duty {
        if period.is_none() {
            table.refuse("a duty cycle needs a `period`");
        }
        Shape::Duty { duty, period: period.unwrap_or_default(), high, low, phase }
    } else if let (Some(from), Some(to), Some(end)) = (from, to, end) {
        if end <= begin {
            table.refuse("a ramp must end after it begins");
        }
        Shape::Ramp { from, to, begin, end }
    } else if let Some(points) = points {
        Shape::Points { points, repeat }
    } else {
        table.refuse(
            "a load needs `constant`, or `duty` and `period`, or `from`, `to` and `end`, or `points`",
        );
        Shape::Constant(0.0)
    };
    table.finish(Load { shape, noise })
}

/// Refuses keys that belong to another shape; `noise` goes with every shape.
fn refuse_mixed(table: &mut Table<'_>) {
    let keys: Vec<_> = table.keys().filter(|key| *key != "noise").collect();
    let Some(shape) = SHAPES.iter().find(|shape| keys.contains(&shape[0])) else {
        return;
    };
    if let Some(key) = keys.iter().find(|key| !shape.contains(key)) {
        table.refuse(format!("`{key}` does not go with `{}`", shape[0]));
    }
}

fn steps(points: Vec<(String, f64)>) -> Result<Vec<(Moment, f64)>, String> {
    let point = |(at, value): (String, f64)| Ok((moment(&at)?, percentage(value)?));
    let points: Vec<_> = points.into_iter().map(point).collect::<Result<_, String>>()?;
    if points.is_empty() {
        return Err("`points` is empty; expected pairs like [\"10s\", 80]".into());
    }
    if !points.is_sorted_by(|a, b| a.0 < b.0) {
        return Err("`points` must be in the order of time, each later than the one before".into());
    }
    Ok(points)
}

fn positive(key: &str, text: &str) -> Result<Duration, String> {
    let span = duration(text)?;
    if span.as_micros() == 0 {
        return Err(format!("`{key}` must be longer than zero"));
    }
    Ok(span)
}
