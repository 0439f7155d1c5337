//! `gua query`: chosen fields of the cards or their holders, once or at an interval.

mod asked;
mod output;

use std::io::{self, BufWriter, Write};

use gua_query::snapshot::CardSelection;

use self::asked::{Asked, Until};
use self::output::Output;
use super::live;
use super::pace::Pace;
use crate::cli;
use crate::config::{Files, Machine};
use crate::failure::Failure;
use crate::render::query::fields;
use crate::talk::say;

pub(super) fn run(machine: &Machine, files: &Files, typed: &cli::Query) -> Result<u8, Failure> {
    if typed.list_fields {
        return explain(typed.json);
    }
    let config = files.settings()?.settled();
    let asked = Asked::new(typed)?;
    let needs = asked.question.needs();
    let mut source = live::open(machine, &config, needs.wants)?.with_commands(needs.commands);
    let mut selection = CardSelection::new(&typed.id);
    let mut pace = Pace::new(asked.every, needs.work);
    let first = selection.apply(source.snapshot())?;
    let mut output = Output::open(&asked)?;
    let answer = asked.question.answer(&first);
    output.show(&answer)?;
    if first.host.driver_error.is_none() && first.cards.is_empty() {
        say("the driver counts no cards on this host");
    }
    if asked.until == Until::Count(1) {
        live::check_driver(&source)?;
        return Ok(0);
    }
    output.talk(&answer);
    for looks in 1.. {
        pace.looked(&source);
        if asked.is_enough(looks, pace.next_after_the_first()) {
            break;
        }
        pace.wait(&mut source);
        let answer = asked.question.answer(&selection.apply(source.snapshot())?);
        output.show(&answer)?;
        output.talk(&answer);
    }
    Ok(0)
}

fn explain(json: bool) -> Result<u8, Failure> {
    let mut out = BufWriter::new(io::stdout().lock());
    if json { fields::write_json(&mut out) } else { fields::write(&mut out) }?;
    out.flush()?;
    Ok(0)
}
