//! `[[policy.rule]]`: one rule, as it is typed.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use toml::de::DeValue;

use super::fields::{Detail, Fields};
use super::many::Many;
use super::rule_values::{Cancel, Name, Size, Span};
use super::value::Value;
use crate::config::policy::{Action, Exempt, Match, Pattern, Rule};

/// What a process that was asked to end is given where nobody says.
const GRACE: Duration = Duration::from_secs(60);

impl Value for Match {
    const EXPECTED: &'static str = r#"whom the rule is for, such as { kind = "notebook" }"#;

    fn read(typed: &DeValue<'_>, home: Option<&Path>) -> Option<Self> {
        read_match(typed, home).filter(|(_, details)| details.is_empty()).map(|(it, _)| it)
    }

    fn details(typed: &DeValue<'_>, home: Option<&Path>) -> Vec<Detail> {
        read_match(typed, home).map(|(_, details)| details).unwrap_or_default()
    }

    fn toml(&self) -> Option<toml::Value> {
        let mut table = Table::default();
        table.list("user", &self.users);
        table.list("group", &names(&self.groups));
        table.list("program", &self.programs);
        table.list("kind", &self.kinds);
        table.put("memory_over", self.memory_over.map(Size).and_then(|size| size.toml()));
        table.list("card", &names(&self.cards));
        table.put("hours", self.hours.and_then(|hours| hours.toml()));
        Some(table.done())
    }

    fn json(&self) -> serde_json::Value {
        json!({
            "user": Many(self.users.clone()).json(),
            "group": self.groups,
            "program": Many(self.programs.clone()).json(),
            "kind": Many(self.kinds.clone()).json(),
            "memory_over_bytes": self.memory_over.map(|bytes| bytes.0),
            "card": self.cards,
            "hours": self.hours.map(|hours| hours.to_string()),
        })
    }
}

fn read_match(typed: &DeValue<'_>, home: Option<&Path>) -> Option<(Match, Vec<Detail>)> {
    let mut fields = Fields::of("match", typed.as_table()?, home);
    let lower = |names: Vec<String>| names.into_iter().map(|name| name.to_lowercase()).collect();
    let matches = Match {
        users: many(&mut fields, "user"),
        groups: plain(many(&mut fields, "group")),
        programs: many(&mut fields, "program"),
        kinds: many(&mut fields, "kind"),
        memory_over: fields.get("memory_over").map(|Size(bytes)| bytes),
        cards: lower(plain(many(&mut fields, "card"))),
        hours: fields.get("hours"),
    };
    Some((matches, fields.details()))
}

impl Value for Exempt {
    const EXPECTED: &'static str = r#"who is left alone, such as { users = ["ann"] }"#;

    fn read(typed: &DeValue<'_>, home: Option<&Path>) -> Option<Self> {
        read_exempt(typed, home).filter(|(_, details)| details.is_empty()).map(|(it, _)| it)
    }

    fn details(typed: &DeValue<'_>, home: Option<&Path>) -> Vec<Detail> {
        read_exempt(typed, home).map(|(_, details)| details).unwrap_or_default()
    }

    fn toml(&self) -> Option<toml::Value> {
        let mut table = Table::default();
        table.list("users", &self.users);
        table.list("groups", &names(&self.groups));
        table.list("programs", &self.programs);
        table.list("containers", &self.containers);
        Some(table.done())
    }

    fn json(&self) -> serde_json::Value {
        json!({
            "users": Many(self.users.clone()).json(),
            "groups": self.groups,
            "programs": Many(self.programs.clone()).json(),
            "containers": Many(self.containers.clone()).json(),
        })
    }
}

fn read_exempt(typed: &DeValue<'_>, home: Option<&Path>) -> Option<(Exempt, Vec<Detail>)> {
    let mut fields = Fields::of("exempt", typed.as_table()?, home);
    let any_case = |patterns: Vec<Pattern>| {
        patterns.into_iter().map(Pattern::ignoring_case).collect::<Vec<_>>()
    };
    let exempt = Exempt {
        users: any_case(many(&mut fields, "users")),
        groups: plain(many(&mut fields, "groups")),
        programs: any_case(many(&mut fields, "programs")),
        containers: any_case(many(&mut fields, "containers")),
    };
    Some((exempt, fields.details()))
}

impl Value for Arc<Rule> {
    const EXPECTED: &'static str = "a rule with a `name` and `idle_for`, below [[policy.rule]]";

    fn read(typed: &DeValue<'_>, home: Option<&Path>) -> Option<Self> {
        let (rule, details) = read_rule(typed, home)?;
        rule.filter(|_| details.is_empty()).map(Self::new)
    }

    fn details(typed: &DeValue<'_>, home: Option<&Path>) -> Vec<Detail> {
        read_rule(typed, home).map(|(_, details)| details).unwrap_or_default()
    }

    fn toml(&self) -> Option<toml::Value> {
        let mut table = Table::default();
        table.put("name", Name(self.name.to_string()).toml());
        table.put("match", self.matches.toml());
        table.put("exempt", self.exempt.toml());
        table.put("idle_for", Span(self.idle_for).toml());
        table.put("notices", Many(self.notices.iter().copied().map(Span).collect()).toml());
        table.put("action", self.action.toml());
        table.put("grace", Span(self.grace).toml());
        table.put("kill", self.kill.toml());
        table.put("notify", Many(self.notify.clone()).toml());
        table.put("cancel", self.cancel.clone().and_then(|words| Cancel(words).toml()));
        Some(table.done())
    }

    fn json(&self) -> serde_json::Value {
        let seconds = |time: &Duration| time.as_secs_f64();
        json!({
            "name": &*self.name,
            "match": self.matches.json(),
            "exempt": self.exempt.json(),
            "idle_for_seconds": seconds(&self.idle_for),
            "notices_seconds": self.notices.iter().map(seconds).collect::<Vec<_>>(),
            "action": self.action.word(),
            "grace_seconds": seconds(&self.grace),
            "kill": self.kill,
            "notify": Many(self.notify.clone()).json(),
            "cancel": self.cancel.clone().map(|words| Cancel(words).json()),
        })
    }
}

/// All rules. What one is known by is its name.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Rules(pub Vec<Arc<Rule>>);

impl Value for Rules {
    const EXPECTED: &'static str = <Arc<Rule>>::EXPECTED;

    fn read(typed: &DeValue<'_>, home: Option<&Path>) -> Option<Self> {
        let rules = typed.as_array()?.iter().map(|rule| <Arc<Rule>>::read(rule.get_ref(), home));
        let rules: Vec<_> = rules.collect::<Option<_>>()?;
        repeated(&rules).is_empty().then_some(Self(rules))
    }

    fn details(typed: &DeValue<'_>, home: Option<&Path>) -> Vec<Detail> {
        let mut details = <Many<Arc<Rule>>>::details(typed, home);
        let Some(list) = typed.as_array().filter(|_| details.is_empty()) else { return details };
        let rules: Vec<_> =
            list.iter().filter_map(|rule| <Arc<Rule>>::read(rule.get_ref(), home)).collect();
        for place in repeated(&rules) {
            let (Some(rule), Some(typed)) = (rules.get(place), list.get(place)) else { continue };
            let reason =
                format!("there are two rules `{}`; give each a name of its own", rule.name);
            details.push((typed.span().start, reason));
        }
        details
    }

    fn toml(&self) -> Option<toml::Value> {
        Many(self.0.clone()).toml()
    }

    fn json(&self) -> serde_json::Value {
        Many(self.0.clone()).json()
    }
}

/// The places of rules that have the name of an earlier one.
fn repeated(rules: &[Arc<Rule>]) -> Vec<usize> {
    let is_repeated = |place: &usize| {
        let (before, rest) = rules.split_at(*place);
        rest.first().is_some_and(|rule| before.iter().any(|earlier| earlier.name == rule.name))
    };
    (0..rules.len()).filter(is_repeated).collect()
}

/// `None` in place of the rule where a part of it is missing.
fn read_rule(typed: &DeValue<'_>, home: Option<&Path>) -> Option<(Option<Rule>, Vec<Detail>)> {
    let mut fields = Fields::of("rule", typed.as_table()?, home);
    let name = fields.must("name").map(|Name(name)| name);
    let idle_for = fields.must("idle_for").map(|Span(time)| time);
    let matches = fields.get("match").unwrap_or_default();
    let exempt = fields.get("exempt").unwrap_or_default();
    let notices: Many<Span> = fields.get("notices").unwrap_or_default();
    let action = fields.get("action").unwrap_or(Action::Observe);
    let grace = fields.get("grace").map_or(GRACE, |Span(time)| time);
    let kill = fields.get("kill").unwrap_or(false);
    let notify = many(&mut fields, "notify");
    let cancel = fields.get("cancel").map(|Cancel(words)| words);
    let rule = name.zip(idle_for).map(|(name, idle_for)| Rule {
        name: name.into(),
        matches,
        exempt,
        idle_for,
        notices: notices.0.into_iter().map(|Span(time)| time).collect(),
        action,
        grace,
        kill,
        notify,
        cancel,
    });
    if let Some(rule) = &rule {
        check(rule, &mut fields);
    }
    Some((rule, fields.details()))
}

/// What each part says by itself may not go with the others.
fn check(rule: &Rule, fields: &mut Fields<'_, '_>) {
    let Rule { idle_for, notices, action, notify, .. } = rule;
    if !notices.is_sorted_by(|one, next| one < next) {
        fields.wrong_at("notices", "`notices` go up, such as [\"1h\", \"1h45m\"]".to_owned());
    }
    if notices.last().is_some_and(|last| last >= idle_for) {
        let reason = "`notices` come before `idle_for`: somebody who is told needs time to act";
        fields.wrong_at("notices", reason.to_owned());
    }
    let acts = *action != Action::Observe;
    if acts && notices.is_empty() {
        let reason = format!(
            "a rule with `action = \"{}\"` needs `notices`: nobody is ended who was not told",
            action.word()
        );
        fields.wrong_at("action", reason);
    }
    if acts && notify.is_empty() {
        let reason = format!(
            "a rule with `action = \"{}\"` needs `notify`, such as [\"tty\", \"mail\"]",
            action.word()
        );
        fields.wrong_at("action", reason);
    }
}

fn many<T: Value>(fields: &mut Fields<'_, '_>, key: &'static str) -> Vec<T> {
    fields.get(key).map(|Many(list)| list).unwrap_or_default()
}

fn plain(names: Vec<Name>) -> Vec<String> {
    names.into_iter().map(|Name(name)| name).collect()
}

fn names(names: &[String]) -> Vec<Name> {
    names.iter().map(|name| Name(name.clone())).collect()
}

/// A table that is written on one line.
#[derive(Default)]
pub(super) struct Table(toml::Table);

impl Table {
    pub fn put(&mut self, key: &str, value: Option<toml::Value>) {
        let is_empty = |value: &toml::Value| value.as_table().is_some_and(toml::Table::is_empty);
        if let Some(value) = value.filter(|value| !is_empty(value)) {
            self.0.insert(key.to_owned(), value);
        }
    }

    /// Nothing where the list is empty.
    fn list<T: Value + Clone>(&mut self, key: &str, list: &[T]) {
        if !list.is_empty() {
            self.put(key, Many(list.to_vec()).toml());
        }
    }

    pub fn done(self) -> toml::Value {
        toml::Value::Table(self.0)
    }
}
