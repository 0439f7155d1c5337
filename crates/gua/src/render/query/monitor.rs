//! The columns of `nvidia-smi dmon -s u` and `pmon -s u`.

use gua_core::Reason;
use gua_core::unknowns::NullReason;

use super::{Shown, cell};
use crate::render::words::width;
use crate::report::query::{Cell, Column, NoValue};

/// A choice of fields under short names in fixed columns.
#[derive(Debug, PartialEq, Eq)]
pub struct Monitor {
    pub heads: &'static [Head],
    /// Whether a line ends with why something of it is not known.
    has_remark: bool,
}

/// One column.
#[derive(Debug, PartialEq, Eq)]
pub struct Head {
    pub field: &'static str,
    title: &'static str,
    unit: &'static str,
    /// The last column has none: it ends where its text ends.
    width: Option<usize>,
}

const fn head(field: &'static str, title: &'static str, unit: &'static str, width: usize) -> Head {
    Head { field, title, unit, width: Some(width) }
}

/// A line a card.
pub const DMON: Monitor = Monitor {
    heads: &[
        head("card", "# gpu", "# Idx", 5),
        head("utilization.gpu", "sm", "%", 7),
        head("utilization.memory", "mem", "%", 7),
        head("utilization.encoder", "enc", "%", 7),
        head("utilization.decoder", "dec", "%", 7),
    ],
    has_remark: true,
};

/// A line a holder.
pub const PMON: Monitor = Monitor {
    heads: &[
        head("card", "# gpu", "# Idx", 5),
        head("pid", "pid", "#", 12),
        head("type", "type", "C/G", 7),
        head("sm", "sm", "%", 7),
        head("mem", "mem", "%", 7),
        head("enc", "enc", "%", 7),
        head("dec", "dec", "%", 7),
        Head { field: "program", title: "command", unit: "name", width: None },
    ],
    has_remark: false,
};

impl Monitor {
    /// The names of its fields.
    #[must_use]
    pub fn fields(&self) -> Vec<&'static str> {
        self.heads.iter().map(|head| head.field).collect()
    }

    pub(super) fn head(&self) -> Vec<String> {
        let line = |text: fn(&Head) -> &str| put(self.heads.iter().map(|head| (head, text(head))));
        vec![line(|head| head.title), line(|head| head.unit)]
    }

    pub(super) fn line(&self, columns: &[Column], cells: &[Cell], shown: &Shown) -> String {
        let remark = cells.iter().filter(|_| self.has_remark).find_map(trouble);
        let cells = columns.iter().zip(cells).zip(self.heads);
        let texts: Vec<_> =
            cells.map(|((column, cell), head)| (head, text(head, column, cell, shown))).collect();
        let line = put(texts.iter().map(|(head, text)| (*head, text.as_str())));
        remark.map_or_else(|| line.clone(), |remark| format!("{line}    {remark}"))
    }
}

/// Why a cell is empty that should not be. What a card does not have is no trouble.
fn trouble(cell: &Cell) -> Option<String> {
    match cell {
        Ok(_)
        | Err(
            NoValue::NoHolder
            | NoValue::Null(NullReason::Unread(Reason::NotSupported | Reason::NotTold)),
        ) => None,
        Err(reason) => Some(cell::unknown(*reason)),
    }
}

/// There is room for the reason only in the last column.
fn text(head: &Head, column: &Column, cell: &Cell, shown: &Shown) -> String {
    match cell {
        Ok(value) => cell::bare(value, column.unit, &shown.zone.tz),
        Err(NoValue::NoHolder) => "-".to_owned(),
        Err(reason) if head.width.is_none() => cell::unknown(*reason),
        Err(_) => "-".to_owned(),
    }
}

fn put<'a>(cells: impl Iterator<Item = (&'a Head, &'a str)>) -> String {
    cells.fold(String::new(), |mut line, (head, text)| {
        let pad = match head.width {
            Some(most) => most.saturating_sub(width(text)),
            None => 4,
        };
        line.push_str(&" ".repeat(pad));
        line.push_str(text);
        line
    })
}
