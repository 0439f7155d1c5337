//! One end, step by step.

use std::path::Path;
use std::time::Duration;

use probe::proc::{stat, status};
use probe::{Kinds, Reading};
use rustix::process::Signal;

use super::look::{Look, Looked};
use super::order::{By, NotEnded, Order};
use super::words::words;
use crate::policy::guard::FIRST_PERSON;
use crate::policy::notice::run;
use crate::policy::{Activity, Guard, Nature, nature, own};
use crate::process_handle::{NotSent, ProcessHandle, read};

/// What a process that was killed is waited for: it may hang in the driver.
const AFTER_KILL: Duration = Duration::from_secs(10);

/// Looks once more, and ends it if everything is still as it was decided on.
///
/// # Errors
/// When something is not, or it cannot be ended; then it was not touched, unless it was asked
/// to end and did not.
pub fn act(order: &Order, look: &mut dyn Look) -> Result<By, NotEnded> {
    if order.root != Path::new("/") {
        return Err(NotEnded::Elsewhere(order.root.clone()));
    }
    // The slow look first, so that as little as can be lies between the rest and the signal.
    still_due(order, look)?;
    let start = order.subject.start_ticks.ok_or(NotEnded::Guarded(Guard::NotShown))?;
    let handle = ProcessHandle::of(order.subject.pid, start)?;
    check(order)?;
    go_on(order)?;
    match words(order) {
        Some(words) => {
            run(&words, b"", order.timeout).map_err(NotEnded::Cancel)?;
            wait(&handle, order.rule.grace, By::Cancelled(words.join(" ")))
        }
        None => end(order, &handle, look),
    }
}

fn still_due(order: &Order, look: &mut dyn Look) -> Result<(), NotEnded> {
    match look.look(order) {
        Looked::Holds(Activity::Idle) => Ok(()),
        Looked::Holds(Activity::Works(sign)) => Err(NotEnded::Works(sign)),
        Looked::Holds(Activity::HoldsLittle) | Looked::LetGo => Err(NotEnded::LetGo),
        Looked::Holds(Activity::Unknown(why)) => Err(NotEnded::Doubt(why.to_string())),
        Looked::Relieved(why) => Err(NotEnded::Relieved(why)),
        Looked::Untold(why) => Err(NotEnded::Doubt(why)),
    }
}

/// Everything that the handle alone does not tell. It is held already, so what is read is of
/// the process that was meant.
fn check(order: &Order) -> Result<(), NotEnded> {
    let pid = order.subject.pid;
    let text =
        |file: &str| read(pid, file).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    let owner = status::uids(&text("status")?);
    if owner.is_none() || owner != order.facts.owner.known() {
        return Err(NotEnded::AnotherOwner);
    }
    if owner.is_some_and(|owner| owner.lowest() < FIRST_PERSON) {
        return Err(NotEnded::Guarded(Guard::SystemAccount));
    }
    match &order.facts.cgroup {
        Reading::Known(cgroup) if **cgroup == *text("cgroup")? => {}
        _ => return Err(NotEnded::AnotherCgroup),
    }
    if own::lineage().contains(&pid) {
        return Err(NotEnded::Guarded(Guard::Ourselves));
    }
    let name = stat::parse(&read(pid, "stat")?).map(|stat| stat.comm);
    match nature(name.as_deref(), Kinds::COMPUTE) {
        Nature::Ordinary => Ok(()),
        Nature::Mps => Err(NotEnded::Guarded(Guard::Mps)),
        Nature::Display => Err(NotEnded::Guarded(Guard::Display)),
        Nature::Ourselves => Err(NotEnded::Guarded(Guard::Ourselves)),
    }
}

/// One switch stops everything, also between a request and a kill.
fn go_on(order: &Order) -> Result<(), NotEnded> {
    if order.brake.is_held() { Err(NotEnded::Stopped) } else { Ok(()) }
}

fn end(order: &Order, handle: &ProcessHandle, look: &mut dyn Look) -> Result<By, NotEnded> {
    handle.send(Signal::TERM)?;
    match wait(handle, order.rule.grace, By::Asked) {
        Err(NotEnded::StillThere(_)) if order.rule.kill => {}
        // Also where its end could not be waited for: then it did not have its grace.
        asked => return asked,
    }
    // A grace is long enough to work again, or to be snoozed.
    go_on(order)?;
    still_due(order, look)?;
    check(order)?;
    go_on(order)?;
    match handle.send(Signal::KILL) {
        // It has just ended by itself.
        Err(NotSent::Gone) => Ok(By::Asked),
        Err(error) => Err(error.into()),
        Ok(()) => wait(handle, AFTER_KILL, By::Killed),
    }
}

fn wait(handle: &ProcessHandle, most: Duration, by: By) -> Result<By, NotEnded> {
    if handle.ends_within(most)? { Ok(by) } else { Err(NotEnded::StillThere(most)) }
}
