//! What the rules did, as entries of the log (pure).

use gua_core::Reading;
use gua_core::units::{Percent, UnixMillis};
use gua_store::{LogEntry, LogKind};
use serde_json::{Value, json};

use super::actor::{By, NotEnded};
use super::decision::{Decision, Evidence, Relief, What};
use super::subject::{Facts, Person, Subject};
use crate::config::policy::Channel;
use crate::policy::notice::NotDelivered;

/// When, by both clocks.
#[derive(Debug, Clone, Copy)]
pub struct Moment {
    pub at: UnixMillis,
    pub clock_millis: i64,
}

/// Returns an entry that is about no process: the switch, the config.
#[must_use]
pub fn general(now: Moment, kind: LogKind, detail: String) -> LogEntry {
    LogEntry {
        at: now.at,
        clock_ms: now.clock_millis,
        kind,
        pid: None,
        start_ticks: None,
        uid: None,
        user: None,
        program: None,
        rule: None,
        detail,
        evidence: "{}".to_owned(),
    }
}

/// Returns the entry of a decision; `None` for a notice, which has one once it was delivered or not.
#[must_use]
pub fn decided(now: Moment, decision: &Decision) -> Option<LogEntry> {
    let (kind, detail) = match decision.what {
        What::Notice { .. } => return None,
        What::WouldNotice { number } => {
            (LogKind::WouldNotice, format!("would give notice {}", number + 1))
        }
        What::WouldEnd => (LogKind::WouldEnd, "would end it".to_owned()),
        What::End { .. } => (LogKind::EndBegun, "is about to be ended".to_owned()),
        What::Relieved { notices, why } => {
            let plural = if notices == 1 { "" } else { "s" };
            let why = relief(why);
            (LogKind::Relieved, format!("no further steps after {notices} notice{plural}: {why}"))
        }
    };
    Some(about(now, decision, kind, detail))
}

/// Returns the entry of a notice in one channel.
#[must_use]
pub fn noticed(
    now: Moment,
    decision: &Decision,
    channel: Channel,
    outcome: &Result<(), NotDelivered>,
) -> LogEntry {
    let number = match decision.what {
        What::Notice { number, .. } => number + 1,
        _ => 0,
    };
    let word = channel.word();
    match outcome {
        Ok(()) => about(
            now,
            decision,
            LogKind::NoticeSent,
            format!("notice {number} delivered by {word}"),
        ),
        Err(error) => {
            let detail = format!("notice {number} not delivered by {word}: {error}");
            about(now, decision, LogKind::NoticeFailed, detail)
        }
    }
}

/// Returns the entry of an end.
#[must_use]
pub fn ended(now: Moment, decision: &Decision, outcome: &Result<By, NotEnded>) -> LogEntry {
    let (kind, detail) = match outcome {
        Ok(By::Asked) => (LogKind::Ended, "ended when it was asked to (SIGTERM)".to_owned()),
        Ok(By::Killed) => (LogKind::Ended, "killed (SIGKILL)".to_owned()),
        Ok(By::Cancelled(words)) => (LogKind::Ended, format!("ended by `{words}`")),
        Err(error) => (LogKind::NotEnded, format!("not ended: {error}")),
    };
    about(now, decision, kind, detail)
}

fn about(now: Moment, decision: &Decision, kind: LogKind, detail: String) -> LogEntry {
    let Decision { subject, rule, evidence, .. } = decision;
    let person = evidence.facts.person.as_ref();
    LogEntry {
        pid: Some(subject.pid),
        start_ticks: subject.start_ticks,
        uid: person.map(|person| person.uid),
        user: person.map(Person::shown),
        program: evidence.facts.program.as_ref().map(ToString::to_string),
        rule: Some(rule.to_string()),
        evidence: told(*subject, evidence).to_string(),
        ..general(now, kind, detail)
    }
}

/// What a decision rests on; null is what is not known.
fn told(subject: Subject, evidence: &Evidence) -> Value {
    let Evidence { facts, company, memory, signs, idle_millis, missed_millis, notices } = evidence;
    let percent = |reading: Reading<Percent>| reading.known().map(|percent| percent.0);
    json!({
        "pid": subject.pid,
        "start_ticks": subject.start_ticks,
        "idle_seconds": seconds(*idle_millis),
        "missed_seconds": seconds(*missed_millis),
        "notices": notices,
        "memory_bytes": memory.known().map(|bytes| bytes.0),
        "sm_percent": percent(signs.sm),
        "encoder_percent": percent(signs.encoder),
        "decoder_percent": percent(signs.decoder),
        "cpu_percent": percent(signs.cpu),
        "cards": cards(facts),
        "company_pids": company.iter().map(|one| one.pid).collect::<Vec<_>>(),
        "user_source": facts.person.as_ref().map(|person| person.source.slug()),
        "cgroup": facts.cgroup.as_ref().known().map(|cgroup| cgroup.trim_end()),
    })
}

fn cards(facts: &Facts) -> Vec<&str> {
    facts.cards.iter().filter_map(|card| card.uuid.as_deref()).collect()
}

#[expect(clippy::cast_precision_loss, reason = "centuries in ms fit 53 bits")]
fn seconds(millis: i64) -> f64 {
    millis as f64 / 1000.0
}

/// Why somebody is left alone, in words.
#[must_use]
pub fn relief(why: Relief) -> String {
    match why {
        Relief::Works(sign) => format!("it works again ({})", sign.word()),
        Relief::LetGo => "it has let go of its cards".to_owned(),
        Relief::Snoozed => "it is snoozed".to_owned(),
        Relief::Exempt => "it is exempt".to_owned(),
        Relief::OtherRule => "that rule is not for it any more".to_owned(),
        Relief::RuleChanged => "that rule was changed".to_owned(),
        Relief::NotSeen => "too much of the time was not seen".to_owned(),
        Relief::SwitchedOff => "the rules are switched off".to_owned(),
    }
}

/// For the recorder's own log.
#[must_use]
pub fn sentence(deed: &LogEntry) -> String {
    match (deed.pid, &deed.rule) {
        (Some(pid), Some(rule)) => {
            let program = deed.program.as_deref().unwrap_or("?");
            let user = deed.user.as_deref().unwrap_or("unattributed");
            format!("policy: {program} (pid {pid}) of {user}: {} [{rule}]", deed.detail)
        }
        _ => format!("policy: {}", deed.detail),
    }
}
