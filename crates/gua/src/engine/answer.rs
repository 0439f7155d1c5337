//! The JSON of an answer, read series by series: what is kept of it does not grow with it.

use std::cell::RefCell;
use std::fmt;
use std::io::Read;

use serde::de::{DeserializeSeed, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

/// One series of an answer.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
pub struct Series {
    #[serde(default)]
    pub metric: Labels,
    /// One for a moment, several for a time.
    #[serde(default, alias = "value")]
    pub values: Points,
}

/// Names and values of labels, in the order in which they came.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Labels(pub Vec<(String, String)>);

/// Times in milliseconds, and values.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Points(pub Vec<(i64, f64)>);

impl Series {
    /// The value of a label; empty where it has none, as the engines have it.
    #[must_use]
    pub fn label(&self, name: &str) -> &str {
        self.metric.0.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value)
    }

    #[must_use]
    pub fn points(&self) -> &[(i64, f64)] {
        &self.values.0
    }
}

/// Reads an answer and tells each series; gives why it is not whole, where it says so.
///
/// # Errors
/// When it is no answer, or breaks off.
pub fn read(from: impl Read, each: impl FnMut(Series)) -> serde_json::Result<Vec<String>> {
    let mut json = serde_json::Deserializer::from_reader(from);
    let each = RefCell::new(each);
    Answer(&each).deserialize(&mut json)
}

/// The words of an answer that is an error, else the text itself.
pub(super) fn error_in(text: &str) -> String {
    #[derive(Deserialize)]
    struct Told {
        error: String,
    }
    let told: Result<Told, _> = serde_json::from_str(text);
    told.map_or_else(|_| text.lines().next().unwrap_or_default().to_owned(), |told| told.error)
}

/// `{"status": …, "data": …}`
struct Answer<'a, F>(&'a RefCell<F>);

impl<'de, F: FnMut(Series)> DeserializeSeed<'de> for Answer<'_, F> {
    type Value = Vec<String>;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Vec<String>, D::Error> {
        from.deserialize_map(self)
    }
}

impl<'de, F: FnMut(Series)> Visitor<'de> for Answer<'_, F> {
    type Value = Vec<String>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an answer of the query API")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Vec<String>, A::Error> {
        let (mut has_data, mut flaws) = (false, Vec::new());
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "data" => {
                    map.next_value_seed(Data(self.0))?;
                    has_data = true;
                }
                // Thanos and Prometheus tell of stores that did not answer, VictoriaMetrics' cluster
                // only that there were some.
                "warnings" => {
                    flaws.extend(map.next_value::<Option<Vec<String>>>()?.unwrap_or_default());
                }
                "isPartial" if map.next_value()? => {
                    flaws.push("some of its storage did not answer".to_owned());
                }
                "isPartial" => {}
                "error" => return Err(Error::custom(map.next_value::<String>()?)),
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        if has_data { Ok(flaws) } else { Err(Error::custom("there is no data in it")) }
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
        f.write_str("the data of an answer")
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

/// One series after the other.
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

impl<'de> Deserialize<'de> for Labels {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Map;
        impl<'de> Visitor<'de> for Map {
            type Value = Labels;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("labels")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Labels, A::Error> {
                let mut labels = Vec::new();
                while let Some(label) = map.next_entry()? {
                    labels.push(label);
                }
                Ok(Labels(labels))
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

/// What stands in a list of points.
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

    /// What is no number is no value.
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

    fn told(json: &str) -> Result<Vec<Series>, String> {
        let mut all = Vec::new();
        let read = read(json.as_bytes(), |series| all.push(series));
        read.map(|_| all).map_err(|error| error.to_string())
    }

    #[test]
    fn both_kinds_of_answers_are_read() {
        let moment = r#"{"status":"success","data":{"resultType":"vector","result":[
            {"metric":{"__name__":"a","b":"c\"\u00e9"},"value":[1700000000.25,"12.5"]}]}}"#;
        let found = &told(moment).unwrap()[0];
        assert_eq!((found.label("b"), found.points()), ("c\"é", &[(1_700_000_000_250, 12.5)][..]));
        let time = r#"{"data":{"result":[{"metric":{},"values":[[1,"1"],[2.5,"NaN"],[3,"1e3"]]},
            {"metric":{"x":"y"},"values":[]}]},"status":"success"}"#;
        let found = told(time).unwrap();
        assert_eq!(found[0].points(), [(1000, 1.0), (3000, 1000.0)]);
        assert!(found[1].points().is_empty());
    }

    #[test]
    fn an_answer_that_is_not_whole_says_so() {
        let flaws = |json: &str| read(json.as_bytes(), |_| ()).unwrap();
        assert!(flaws(r#"{"status":"success","isPartial":false,"data":{"result":[]}}"#).is_empty());
        let partial = r#"{"status":"success","isPartial":true,"data":{"result":[]}}"#;
        assert_eq!(flaws(partial), ["some of its storage did not answer"]);
        let warned = r#"{"data":{"result":[]},"warnings":["no store matched"],"infos":["x"]}"#;
        assert_eq!(flaws(warned), ["no store matched"]);
        assert!(flaws(r#"{"data":{"result":[]},"warnings":null}"#).is_empty());
    }

    #[test]
    fn an_error_is_told_in_its_own_words() {
        let told = told(r#"{"status":"error","errorType":"bad_data","error":"parse error"}"#);
        assert!(told.unwrap_err().starts_with("parse error"));
        assert_eq!(error_in(r#"{"status":"error","error":"too many points"}"#), "too many points");
        assert_eq!(error_in("<html>\nno"), "<html>");
    }

    #[test]
    fn what_breaks_off_is_no_answer() {
        let half = r#"{"status":"success","data":{"result":[{"metric":{},"values":[[1,"1"],[2"#;
        assert!(told(half).is_err());
        assert!(told("[]").is_err() && told("<html>").is_err() && told("{}").is_err());
    }
}
