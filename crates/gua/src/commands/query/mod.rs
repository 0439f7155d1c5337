//! `gua query`: chosen fields of the cards or their holders, once or at an interval.

mod asked;
mod output;

use std::io::Write;

use gua_query::snapshot::CardSelection;

use self::asked::{Asked, Until};
use self::output::Output;
use super::live;
use super::pace::Pace;
use crate::cli;
use crate::config::{Files, Machine};
use crate::context::Context;
use crate::failure::Failure;
use crate::render::query::fields;

pub(super) fn run(
    machine: &Machine,
    files: &Files,
    typed: &cli::Query,
    context: &mut Context<'_>,
) -> Result<u8, Failure> {
    if typed.list_fields {
        return explain(typed.json, context);
    }
    let config = files.settings()?.settled();
    let asked = Asked::new(typed)?;
    let needs = asked.question.needs();
    let source = live::open(machine, &config, needs.wants, context)?;
    let mut source = source.with_commands(needs.commands);
    let mut selection = CardSelection::new(&typed.id);
    let mut pace = Pace::new(asked.every, needs.work, context.clock);
    let first = selection.apply(source.snapshot(context.clock))?;
    let mut output = Output::open(&asked)?;
    let answer = asked.question.answer(&first);
    output.show(&answer, context)?;
    if first.host.driver_error.is_none() && first.cards.is_empty() {
        context.say("the driver counts no cards on this host");
    }
    if asked.until == Until::Count(1) {
        source.check_driver()?;
        return Ok(0);
    }
    output.talk(&answer, context);
    for looks in 1.. {
        pace.looked(&source, context.clock);
        if asked.is_enough(looks, pace.next_after_the_first()) {
            break;
        }
        pace.wait(&mut source, &mut context.clock);
        let answer = asked.question.answer(&selection.apply(source.snapshot(context.clock))?);
        output.show(&answer, context)?;
        output.talk(&answer, context);
    }
    Ok(0)
}

fn explain(json: bool, context: &mut Context<'_>) -> Result<u8, Failure> {
    let out = &mut context.out;
    if json { fields::write_json(out) } else { fields::write(out) }?;
    out.flush()?;
    Ok(0)
}
