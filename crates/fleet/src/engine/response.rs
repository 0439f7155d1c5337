//! JSON of a response, read series by series: memory does not grow with the response.

use std::cell::RefCell;
use std::fmt;
use std::io::Read;

use serde::de::{DeserializeSeed, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

/// One series of a response.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
pub struct Series {
    #[serde(default)]
    pub metric: SeriesLabels,
    /// One for an instant query, several for a range.
    #[serde(default, alias = "value")]
    pub values: Points,
}

/// Names and values of labels, in the order of the response.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SeriesLabels(pub Vec<(String, String)>);

/// Times in milliseconds, and values.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Points(pub Vec<(i64, f64)>);

impl Series {
    /// Returns the value of a label; empty if there is none, as engines have it.
    #[must_use]
    pub fn label(&self, name: &str) -> &str {
        self.metric.0.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value)
    }

    #[must_use]
    pub fn points(&self) -> &[(i64, f64)] {
        &self.values.0
    }
}

/// Calls `each` with every series of a response. Returns its warnings: why it is incomplete.
///
/// # Errors
/// When it is not a response of the query API, or breaks off.
pub fn read_series(from: impl Read, each: impl FnMut(Series)) -> serde_json::Result<Vec<String>> {
    let mut json = serde_json::Deserializer::from_reader(from);
    let each = RefCell::new(each);
    ResponseVisitor(&each).deserialize(&mut json)
}

/// Returns the error of a response, or the first line if it is none.
pub(super) fn error_text(text: &str) -> String {
    #[derive(Deserialize)]
    struct ErrorBody {
        error: String,
    }
    let body: Result<ErrorBody, _> = serde_json::from_str(text);
    body.map_or_else(|_| text.lines().next().unwrap_or_default().to_owned(), |body| body.error)
}

/// `{"status": …, "data": …}`
struct ResponseVisitor<'a, F>(&'a RefCell<F>);

impl<'de, F: FnMut(Series)> DeserializeSeed<'de> for ResponseVisitor<'_, F> {
    type Value = Vec<String>;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Vec<String>, D::Error> {
        from.deserialize_map(self)
    }
}

impl<'de, F: FnMut(Series)> Visitor<'de> for ResponseVisitor<'_, F> {
    type Value = Vec<String>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a response of the query API")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Vec<String>, A::Error> {
        let (mut has_data, mut warnings) = (false, Vec::new());
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "data" => {
                    map.next_value_seed(Data(self.0))?;
                    has_data = true;
                }
                // Thanos and Prometheus name stores that did not respond; VictoriaMetrics' cluster says
                // only that there are some.
                "warnings" => {
                    warnings.extend(map.next_value::<Option<Vec<String>>>()?.unwrap_or_default());
                }
                "isPartial" if map.next_value()? => {
                    warnings.push("some of its storage did not respond".to_owned());
                }
                "isPartial" => {}
                "error" => return Err(Error::custom(map.next_value::<String>()?)),
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        if has_data { Ok(warnings) } else { Err(Error::custom("it has no data")) }
    }
}

/// `{"resultType": …, "result": …}`
struct Data<'a, F>(&'a RefCell<F>);

impl<'de, F: FnMut(Series)> DeserializeSeed<'de> for Data<'_, F> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_map(self)
    }
}

impl<'de, F: FnMut(Series)> Visitor<'de> for Data<'_, F> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the data of a response")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "result" => map.next_value_seed(Results(self.0))?,
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(())
    }
}

/// A list of series.
struct Results<'a, F>(&'a RefCell<F>);

impl<'de, F: FnMut(Series)> DeserializeSeed<'de> for Results<'_, F> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_seq(self)
    }
}

impl<'de, F: FnMut(Series)> Visitor<'de> for Results<'_, F> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("series")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut series: A) -> Result<(), A::Error> {
        while let Some(one) = series.next_element::<Series>()? {
            (self.0.borrow_mut())(one);
        }
        Ok(())
    }
}

impl<'de> Deserialize<'de> for SeriesLabels {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Map;
        impl<'de> Visitor<'de> for Map {
            type Value = SeriesLabels;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("labels")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<SeriesLabels, A::Error> {
                let mut labels = Vec::new();
                while let Some(label) = map.next_entry()? {
                    labels.push(label);
                }
                Ok(SeriesLabels(labels))
            }
        }
        from.deserialize_map(Map)
    }
}

/// `[1700000000.5, "12.3"]`, or a list of those.
impl<'de> Deserialize<'de> for Points {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct List;
        impl<'de> Visitor<'de> for List {
            type Value = Points;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a time and a value, or several")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Points, A::Error> {
                let mut points = Vec::new();
                let mut time = None;
                while let Some(element) = seq.next_element::<Element>()? {
                    match element {
                        Element::Time(at) => time = Some(at),
                        Element::Value(value) => points.extend(point(time.take(), value)),
                        Element::Point(at, value) => points.extend(point(Some(at), value)),
                    }
                }
                Ok(Points(points))
            }
        }
        from.deserialize_seq(List)
    }
}

/// Element of a list of points.
enum Element {
    Time(f64),
    Value(f64),
    Point(f64, f64),
}

impl<'de> Deserialize<'de> for Element {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(AnyElement)
    }
}

struct AnyElement;

impl<'de> Visitor<'de> for AnyElement {
    type Value = Element;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a time, a value or both")
    }

    fn visit_f64<E: Error>(self, at: f64) -> Result<Element, E> {
        Ok(Element::Time(at))
    }

    #[expect(clippy::cast_precision_loss, reason = "seconds of a calendar")]
    fn visit_u64<E: Error>(self, at: u64) -> Result<Element, E> {
        Ok(Element::Time(at as f64))
    }

    #[expect(clippy::cast_precision_loss, reason = "seconds of a calendar")]
    fn visit_i64<E: Error>(self, at: i64) -> Result<Element, E> {
        Ok(Element::Time(at as f64))
    }

    /// A value that is not a number is left out.
    fn visit_str<E: Error>(self, value: &str) -> Result<Element, E> {
        Ok(Element::Value(value.parse().unwrap_or(f64::NAN)))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut point: A) -> Result<Element, A::Error> {
        let both = (point.next_element::<Element>()?, point.next_element::<Element>()?);
        match both {
            (Some(Element::Time(at)), Some(Element::Value(value))) => Ok(Element::Point(at, value)),
            _ => Err(Error::custom("a point is a time and a value")),
        }
    }
}

fn point(at: Option<f64>, value: f64) -> Option<(i64, f64)> {
    #[expect(clippy::cast_possible_truncation, reason = "milliseconds of a calendar")]
    let at = (at? * 1000.0).round() as i64;
    value.is_finite().then_some((at, value))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(json: &str) -> Result<Vec<Series>, String> {
        let mut all = Vec::new();
        let read = read_series(json.as_bytes(), |series| all.push(series));
        read.map(|_| all).map_err(|error| error.to_string())
    }

    #[test]
    fn both_kinds_of_responses_are_read() {
        let moment = r#"{"status":"success","data":{"resultType":"vector","result":[
            {"metric":{"__name__":"a","b":"c\"\u00e9"},"value":[1700000000.25,"12.5"]}]}}"#;
        let found = &parse(moment).unwrap()[0];
        assert_eq!((found.label("b"), found.points()), ("c\"é", &[(1_700_000_000_250, 12.5)][..]));
        let time = r#"{"data":{"result":[{"metric":{},"values":[[1,"1"],[2.5,"NaN"],[3,"1e3"]]},
            {"metric":{"x":"y"},"values":[]}]},"status":"success"}"#;
        let found = parse(time).unwrap();
        assert_eq!(found[0].points(), [(1000, 1.0), (3000, 1000.0)]);
        assert!(found[1].points().is_empty());
    }

    #[test]
    fn incomplete_response_has_warnings() {
        let warnings = |json: &str| read_series(json.as_bytes(), |_| ()).unwrap();
        assert!(
            warnings(r#"{"status":"success","isPartial":false,"data":{"result":[]}}"#).is_empty()
        );
        let partial = r#"{"status":"success","isPartial":true,"data":{"result":[]}}"#;
        assert_eq!(warnings(partial), ["some of its storage did not respond"]);
        let warned = r#"{"data":{"result":[]},"warnings":["no store matched"],"infos":["x"]}"#;
        assert_eq!(warnings(warned), ["no store matched"]);
        assert!(warnings(r#"{"data":{"result":[]},"warnings":null}"#).is_empty());
    }

    #[test]
    fn error_is_that_of_the_response() {
        let error = parse(r#"{"status":"error","errorType":"bad_data","error":"parse error"}"#);
        assert!(error.unwrap_err().starts_with("parse error"));
        assert_eq!(
            error_text(r#"{"status":"error","error":"too many points"}"#),
            "too many points"
        );
        assert_eq!(error_text("<html>\nno"), "<html>");
    }

    #[test]
    fn response_that_breaks_off_is_an_error() {
        let half = r#"{"status":"success","data":{"result":[{"metric":{},"values":[[1,"1"],[2"#;
        assert!(parse(half).is_err());
        assert!(parse("[]").is_err() && parse("<html>").is_err() && parse("{}").is_err());
    }
}
