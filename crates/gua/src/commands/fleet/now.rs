//! `gua fleet` and `gua who --prometheus`: the hosts now.

use std::io::{self, BufWriter, Write};

use jiff::Timestamp;
use probe::units::UnixMillis;

use super::access::{client, no_series, selection};
use crate::cli;
use crate::config::Screen;
use crate::failure::Failure;
use crate::render::fleet::now as render;
use crate::render::json;
use crate::render::paint::Paint;
use crate::report::fleet::now::{Fleet, GatherNow, choice, questions};

pub(in crate::commands) fn fleet(typed: &cli::Fleet) -> Result<u8, Failure> {
    let url = typed.engine.prometheus.as_deref().ok_or_else(|| Failure::Usage {
        what: "it was not said which engine knows the hosts".to_owned(),
        next: "Name it with --prometheus URL, such as http://prometheus:9090.".to_owned(),
    })?;
    let mut fleet = ask(&typed.engine, url)?;
    if let Some(model) = &typed.model {
        fleet.keep_models(model);
    }
    let screen = Screen::of_stdout(&typed.color);
    let paint = Paint(screen.color);
    let mut out = BufWriter::new(io::stdout().lock());
    match (typed.json, typed.free) {
        (true, true) => json::pretty(&mut out, &fleet.free())?,
        (true, false) => json::pretty(&mut out, &fleet)?,
        (false, true) => render::free(&mut out, &fleet, typed.model.as_deref(), paint)?,
        (false, false) => render::hosts(&mut out, &fleet, paint)?,
    }
    out.flush()?;
    Ok(0)
}

pub(in crate::commands) fn who(typed: &cli::Who, url: &str) -> Result<u8, Failure> {
    let mut holders = ask(&typed.engine, url)?.holders();
    holders.keep(typed.idle, &typed.user);
    let screen = Screen::of_stdout(&typed.color);
    let mut out = BufWriter::new(io::stdout().lock());
    if typed.json {
        json::pretty(&mut out, &holders)?;
    } else {
        render::who(&mut out, &holders, Paint(screen.color))?;
    }
    out.flush()?;
    Ok(0)
}

/// Everything that there is to know about now.
fn ask(typed: &cli::Engine, url: &str) -> Result<Fleet, Failure> {
    let (client, selection) = (client(typed, url)?, selection(typed));
    let now = UnixMillis(Timestamp::now().as_millisecond());
    let mut gather = GatherNow::default();
    for question in questions(&selection) {
        client.at(&question, now, |one| gather.add(one))?;
    }
    if let Some(choice) = choice(&selection) {
        gather.begin_choosing();
        client.at(&choice, now, |one| gather.choose(&one))?;
    }
    if gather.is_empty() {
        return Err(no_series(&client, &selection));
    }
    Ok(gather.finish(client.url(), now))
}
