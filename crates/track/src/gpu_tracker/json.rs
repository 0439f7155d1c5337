//! A report as JSON, laid out and with its floats written as Python's `json` does it with an
//! indent of 1.

use std::io;

use serde::Serialize;
use serde_json::Serializer;
use serde_json::ser::{Formatter, PrettyFormatter};

use super::number;
use super::tree::Tree;

/// The text, without a line's end after it.
#[must_use]
pub fn json(tree: &Tree) -> String {
    let mut bytes = Vec::new();
    let layout = Layout(PrettyFormatter::with_indent(b" "));
    // Neither a string nor a number can fail, and a Vec takes everything.
    let _ = tree.serialize(&mut Serializer::with_formatter(&mut bytes, layout));
    String::from_utf8(bytes).unwrap_or_default()
}

struct Layout(PrettyFormatter<'static>);

impl Formatter for Layout {
    fn write_f64<W: ?Sized + io::Write>(&mut self, writer: &mut W, value: f64) -> io::Result<()> {
        writer.write_all(number::repr(value).as_bytes())
    }

    fn begin_array<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.begin_array(writer)
    }

    fn end_array<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_array(writer)
    }

    fn begin_array_value<W: ?Sized + io::Write>(
        &mut self,
        writer: &mut W,
        first: bool,
    ) -> io::Result<()> {
        self.0.begin_array_value(writer, first)
    }

    fn end_array_value<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_array_value(writer)
    }

    fn begin_object<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.begin_object(writer)
    }

    fn end_object<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_object(writer)
    }

    fn begin_object_key<W: ?Sized + io::Write>(
        &mut self,
        writer: &mut W,
        first: bool,
    ) -> io::Result<()> {
        self.0.begin_object_key(writer, first)
    }

    fn begin_object_value<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.begin_object_value(writer)
    }

    fn end_object_value<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_object_value(writer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_layout_is_pythons() {
        let tree = Tree::group([
            ("a", Tree::group([("tiny", 1e-5.into()), ("whole", 1062.0.into())])),
            ("b", Tree::List(vec![2_u32.into(), Tree::Missing, Tree::List(vec![])])),
            ("c", Tree::Group(vec![])),
            ("d", "a \"name\"".into()),
        ]);
        assert_eq!(
            json(&tree),
            r#"{
 "a": {
  "tiny": 1e-05,
  "whole": 1062.0
 },
 "b": [
  2,
  null,
  []
 ],
 "c": {},
 "d": "a \"name\""
}"#
        );
    }
}
