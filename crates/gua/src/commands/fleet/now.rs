//! `gua fleet` and `gua who --prometheus`: the hosts now.

use std::io::{self, BufWriter, Write};

use jiff::Timestamp;
use probe::units::UnixMillis;

use super::access::{blamed, client, no_series, selection, told_of_flaws};
use crate::cli;
use crate::config::Screen;
use crate::failure::Failure;
use crate::render::fleet::now::{self as render, View};
use crate::render::json;
use crate::render::paint::Paint;
use crate::report::fleet::now::{Fleet, GatherNow, choice, questions};

pub(in crate::commands) fn fleet(typed: &cli::Fleet) -> Result<u8, Failure> {
    let url = typed.engine.prometheus.as_deref().ok_or_else(|| Failure::Usage {
        what: "it was not said which engine knows the hosts".to_owned(),
        next: "Name it with --prometheus URL, such as http://prometheus:9090.".to_owned(),
    })?;
    let (mut fleet, code) = ask(&typed.engine, url)?;
    if let Some(model) = &typed.model {
        fleet.keep_models(model);
    }
    let screen = Screen::of_stdout(&typed.color);
    let view = View { paint: Paint(screen.color), width: screen.columns };
    let mut out = BufWriter::new(io::stdout().lock());
    match (typed.json, typed.free) {
        (true, true) => json::pretty(&mut out, &fleet.free())?,
        (true, false) => json::pretty(&mut out, &fleet)?,
        (false, true) => render::free(&mut out, &fleet, typed.model.as_deref(), view)?,
        (false, false) => render::hosts(&mut out, &fleet, view)?,
    }
    out.flush()?;
    Ok(code)
}

pub(in crate::commands) fn who(typed: &cli::Who, url: &str) -> Result<u8, Failure> {
    let (fleet, code) = ask(&typed.engine, url)?;
    let mut holders = fleet.holders();
    holders.keep(typed.idle, &typed.user);
    let screen = Screen::of_stdout(&typed.color);
    let mut out = BufWriter::new(io::stdout().lock());
    if typed.json {
        json::pretty(&mut out, &holders)?;
    } else {
        let view = View { paint: Paint(screen.color), width: screen.columns };
        render::who(&mut out, &holders, view)?;
    }
    out.flush()?;
    Ok(code)
}

/// Everything that there is to know about now, and the exit code.
fn ask(typed: &cli::Engine, url: &str) -> Result<(Fleet, u8), Failure> {
    let (client, selection) = (client(typed, url)?, selection(typed));
    let now = UnixMillis(Timestamp::now().as_millisecond());
    let mut gather = GatherNow::default();
    for question in questions(&selection) {
        let asked = client.at(&question, now, |one| gather.add(one));
        asked.map_err(|error| blamed(error, &selection))?;
    }
    if let Some(choice) = choice(&selection) {
        gather.begin_choosing();
        let asked = client.at(&choice, now, |one| gather.choose(one));
        asked.map_err(|error| blamed(error, &selection))?;
    }
    if gather.is_empty() {
        return Err(no_series(&client, &selection));
    }
    let code = told_of_flaws(&client);
    let mut fleet = gather.finish(client.url(), now);
    fleet.flaws = client.flaws();
    Ok((fleet, code))
}
