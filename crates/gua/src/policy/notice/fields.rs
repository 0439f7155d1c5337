//! What is known of a holder, in words: what the places of a template are filled with.

use std::collections::BTreeMap;

use probe::identity::{Source, Who};
use serde::Serialize;

use crate::config::policy::{Action, Field, Rule, Template};
use crate::policy::watch::millis;
use crate::policy::{Card, Evidence, Facts, Person, Subject};
use crate::quantity::memory;
use crate::safe::safe;

/// What a place says that nothing is known for.
const UNKNOWN: &str = "unknown";

/// The fields of one notice.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Fields(BTreeMap<&'static str, String>);

impl Fields {
    /// Of a holder under a rule; `notice` counts from 1.
    #[must_use]
    pub fn of(
        subject: Subject,
        evidence: &Evidence,
        rule: &Rule,
        notice: usize,
        host: &str,
        message: &Template,
    ) -> Self {
        let mut fields = Self(BTreeMap::new());
        fields.put_facts(subject, &evidence.facts);
        fields.put(Field::Memory, evidence.memory.known().map(|bytes| memory(bytes.0)));
        fields.put(Field::Idle, Some(time(evidence.idle_millis)));
        fields.put(Field::Rule, Some(rule.name.to_string()));
        fields.put(Field::Notice, Some(notice.to_string()));
        fields.put(Field::Notices, Some(rule.notices.len().to_string()));
        fields.put(Field::Left, Some(left(rule, evidence.idle_millis, notice)));
        fields.put(Field::Host, Some(host.to_owned()));
        let message = fields.fill(message);
        fields.put(Field::Message, Some(message));
        fields
    }

    fn put_facts(&mut self, subject: Subject, facts: &Facts) {
        let who = facts.who.as_ref().known();
        let of = |get: fn(&Who) -> Option<String>| who.and_then(|who| get(who));
        self.put(Field::User, facts.person.as_ref().map(Person::shown));
        self.put(Field::Uid, facts.person.as_ref().map(|person| person.uid.to_string()));
        self.put(Field::Pid, Some(subject.pid.to_string()));
        self.put(Field::Program, facts.program.as_ref().map(ToString::to_string));
        self.put(Field::Cards, Some(cards(facts)));
        // A process can say in its environment that it is somebody else's job, and such a job
        // must not be the one that is ended.
        let job = |who: &Who| {
            let job = who.job.as_ref().filter(|job| job.source == Source::Cgroup)?;
            Some(job.value.id.to_string())
        };
        self.put(Field::Job, of(job));
        self.put(
            Field::Container,
            of(|who| {
                let container = &who.container.as_ref()?.value;
                Some(container.name.as_ref().unwrap_or(&container.id).to_string())
            }),
        );
        self.put(Field::Pod, of(|who| Some(who.pod.as_ref()?.value.name.as_ref()?.to_string())));
        self.put(
            Field::Notebook,
            of(|who| Some(who.notebook.as_ref()?.value.path.as_ref()?.to_string())),
        );
    }

    /// Whatever a process calls itself must not reach a terminal as it is.
    fn put(&mut self, field: Field, value: Option<String>) {
        if let Some(value) = value {
            self.0.insert(field.word(), safe(&value));
        }
    }

    /// `None` where it is not known.
    #[must_use]
    pub fn get(&self, field: Field) -> Option<&str> {
        self.0.get(field.word()).map(String::as_str)
    }

    /// A template with all of its places filled; what is not known says so.
    #[must_use]
    pub fn fill(&self, template: &Template) -> String {
        self.fill_with(template, str::to_owned)
    }

    /// The same, with every value written in the way of whom it is for.
    #[must_use]
    pub fn fill_with(&self, template: &Template, write: fn(&str) -> String) -> String {
        template.fill(|field| Some(write(self.get(field).unwrap_or(UNKNOWN)))).unwrap_or_default()
    }
}

/// `card 0`, `cards 0 and 3`.
fn cards(facts: &Facts) -> String {
    let shown: Vec<_> = facts.cards.iter().map(Card::shown).collect();
    match shown.split_last() {
        None => "no card".to_owned(),
        Some((one, [])) => format!("card {one}"),
        Some((last, others)) => format!("cards {} and {last}", others.join(", ")),
    }
}

fn left(rule: &Rule, idle_millis: i64, notice: usize) -> String {
    match rule.action {
        Action::End => {
            let after = rule.notices.get(notice.saturating_sub(1)).copied().unwrap_or_default();
            let left = millis(rule.idle_for.saturating_sub(after));
            let left = left.max(millis(rule.idle_for).saturating_sub(idle_millis));
            format!("It will be ended in {} unless it works again.", time(left))
        }
        Action::Notify | Action::Observe => {
            "Please let go of it when you do not need it.".to_owned()
        }
    }
}

/// In at most two units.
fn time(millis: i64) -> String {
    let seconds = millis / 1000;
    match seconds {
        ..60 => format!("{seconds} s"),
        60..3_600 => format!("{} min", seconds / 60),
        3_600..86_400 => format!("{} h {:02} min", seconds / 3_600, seconds % 3_600 / 60),
        _ => format!("{} d {} h", seconds / 86_400, seconds % 86_400 / 3_600),
    }
}
