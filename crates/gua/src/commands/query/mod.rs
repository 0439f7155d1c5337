//! `gua query`: chosen fields of the cards or their holders, once or at a beat.

mod asked;
mod output;

use std::io::{self, BufWriter, Write};

use self::asked::{Asked, Until};
use self::output::Output;
use super::chosen::Chosen;
use super::pace::Pace;
use crate::cli;
use crate::config::{Files, Machine};
use crate::failure::Failure;
use crate::render::query::fields;
use crate::sampler::Sampler;
use crate::talk::say;

pub(super) fn run(machine: &Machine, files: &Files, typed: &cli::Query) -> Result<u8, Failure> {
    if typed.list_fields {
        return explain(typed.json);
    }
    let thresholds = files.settings()?.settled().thresholds.into();
    let asked = Asked::new(typed)?;
    let needs = asked.question.needs();
    let mut sampler = Sampler::open(machine, needs.wants)?.with_commands(needs.commands);
    let mut chosen = Chosen::new(&typed.id);
    let mut pace = Pace::new(asked.every, needs.work);
    let first = chosen.among(sampler.first_tick())?;
    let mut output = Output::open(&asked)?;
    let answer = asked.question.answer(&first, thresholds);
    output.show(&answer)?;
    if first.driver.is_ok() && first.cards.is_empty() {
        say("the driver counts no cards on this host");
    }
    if asked.until == Until::Count(1) {
        // It answered when it was opened and is gone since: what is shown is not the answer.
        first.driver?;
        return Ok(0);
    }
    output.talk(&answer);
    for looks in 1.. {
        pace.looked(&sampler);
        if asked.is_enough(looks, pace.next_after_the_first()) {
            break;
        }
        pace.wait(&mut sampler);
        let answer = asked.question.answer(&chosen.among(sampler.tick())?, thresholds);
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
