//! `gua query`: chosen fields of the cards or their holders, once or at a beat.

mod asked;
mod output;

use std::io::{self, BufWriter, Write};
use std::time::Instant;

use self::asked::{Asked, Until};
use self::output::Output;
use super::chosen::Chosen;
use crate::cli;
use crate::config::Machine;
use crate::failure::Failure;
use crate::render::query::fields;
use crate::sampler::{Beat, Sampler, Tick};

pub(super) fn run(machine: &Machine, typed: &cli::Query) -> Result<u8, Failure> {
    if typed.list_fields {
        return explain(typed.json);
    }
    let asked = Asked::new(typed)?;
    let needs = asked.question.needs();
    let mut sampler = Sampler::open(machine, needs.wants)?.with_commands(needs.commands);
    let mut chosen = Chosen::new(&typed.id);
    let first = chosen.among(sampler.first_tick())?;
    let mut output = Output::open(&asked)?;
    let answer = asked.question.answer(&first);
    output.show(&answer)?;
    if asked.until == Until::Count(1) {
        // It answered when it was opened and is gone since: what is shown is not the answer.
        first.driver?;
        return Ok(0);
    }
    output.talk(&answer);
    let mut next = || chosen.among(sampler.tick());
    repeat(&asked, &mut output, &mut next)?;
    Ok(0)
}

/// Looks at the beat until it is enough.
fn repeat(
    asked: &Asked,
    output: &mut Output,
    next: &mut impl FnMut() -> Result<Tick, Failure>,
) -> Result<(), Failure> {
    let started = Instant::now();
    let mut beat = Beat::new(asked.every);
    let mut looks = 1;
    while !asked.is_enough(looks, started.elapsed()) {
        beat.wait();
        let answer = asked.question.answer(&next()?);
        output.show(&answer)?;
        output.talk(&answer);
        looks += 1;
    }
    Ok(())
}

fn explain(json: bool) -> Result<u8, Failure> {
    let mut out = BufWriter::new(io::stdout().lock());
    if json { fields::write_json(&mut out) } else { fields::write(&mut out) }?;
    out.flush()?;
    Ok(0)
}
