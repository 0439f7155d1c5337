//! `gua policy snooze`: leave one process alone for a time.

use std::path::PathBuf;
use std::time::Duration;

use probe::proc::Host;
use probe::process::{Presence, ProcessFacts};
use probe::units::UnixMillis;
use probe::{Reading, Why};
use rustix::process::geteuid;

use crate::calendar;
use crate::cli::PolicySnooze;
use crate::config::{self, Files};
use crate::context::Context;
use crate::failure::Failure;
use crate::policy::{Sleeper, Snoozes};
use crate::render::{json, words};
use crate::report::policy::snooze::Snoozed;

pub(super) fn run(
    files: &Files,
    typed: &PolicySnooze,
    context: &mut Context<'_>,
) -> Result<u8, Failure> {
    let most = files.settings()?.settled().policy.snooze_most;
    if typed.time > most {
        return Err(Failure::Usage {
            what: format!(
                "--for {} is longer than a snooze can be here",
                words::interval(typed.time)
            ),
            next: format!("Name at most {} (`snooze_most` in the config).", words::interval(most)),
        });
    }
    let sleeper = sleeper(typed.pid)?;
    let until = until(typed.time, context.clock.unix_millis());
    Snoozes::add(&config::snoozes(&context.env))?.write(sleeper, until)?;
    let snoozed = Snoozed { schema: "gua.policy_snooze/1", pid: typed.pid, until_unix_ms: until.0 };
    if typed.json {
        json::pretty(&mut context.out, &snoozed)?;
    } else {
        let at = typed.tz.zone.format(calendar::nearest(until), "%-d %b %H:%M %Z");
        writeln!(context.out, "no rule touches process {} until {at}", typed.pid)?;
    }
    context.out.flush()?;
    Ok(0)
}

fn until(time: Duration, now: UnixMillis) -> UnixMillis {
    UnixMillis(now.0.saturating_add(i64::try_from(time.as_millis()).unwrap_or(i64::MAX)))
}

/// The process, where it is ours to speak for.
fn sleeper(pid: u32) -> Result<Sleeper, Failure> {
    // Here, not on a host that is mounted somewhere: its pids would be others.
    let facts = match Host::new(Some(PathBuf::from("/"))).process(pid) {
        Presence::Here(facts) => facts,
        Presence::Gone | Presence::Foreign | Presence::Hidden(_) => {
            return Err(Failure::Usage {
                what: format!("there is no process {pid} that can be seen"),
                next: "`gua who` lists those that hold cards.".to_owned(),
            });
        }
    };
    let ProcessFacts { uid, start_ticks, started, .. } = &*facts;
    let owner = match uid {
        Reading::Known(owner) => *owner,
        Reading::Unknown(why) => return Err(nobodys(pid, why)),
    };
    if !geteuid().is_root() && geteuid().as_raw() != owner {
        return Err(Failure::Usage {
            what: format!("process {pid} is not yours, so it is not yours to exempt"),
            next: "Ask its owner, or root.".to_owned(),
        });
    }
    Ok(Sleeper { pid, start_ticks: *start_ticks, started: started.known(), owner })
}

/// A snooze counts for the process of one owner, so that has to be known.
fn nobodys(pid: u32, why: &Why) -> Failure {
    Failure::CannotTell {
        what: format!("the owner of process {pid} is unknown: {why}"),
        next: "Try again as its owner, or as root; `gua doctor` checks what can be seen."
            .to_owned(),
    }
}
