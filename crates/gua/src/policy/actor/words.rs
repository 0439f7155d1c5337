//! The words of a command that ends a job or a container in place of a signal.
//!
//! What is named to a scheduler or an engine must be what the process is really in. An
//! environment says what its owner likes, and below a session of their own people make control
//! groups by any name: such a command would end what is somebody else's.

use probe::identity::{Cgroup, Source, Told};

use super::order::Order;
use crate::config::policy::{Field, Template};

/// The words of the rule's command, where all that they need is known and can be trusted.
pub(super) fn words(order: &Order) -> Option<Vec<String>> {
    let words = order.rule.cancel.as_ref()?;
    let fill = |word: &Template| word.fill(|field| trusted(order, field)).ok();
    words.iter().map(fill).collect()
}

fn trusted(order: &Order, field: Field) -> Option<String> {
    let value = order.fields.get(field).map(str::to_owned);
    match field {
        Field::Job => value.filter(|job| placed_job(order).as_ref() == Some(job)),
        Field::Container | Field::Pod => value.filter(|_| is_placed_by_the_system(order)),
        field => value.filter(|_| field.may_be_ended_by()),
    }
}

/// The job of its control group: a number, at the top where only root makes any.
fn placed_job(order: &Order) -> Option<String> {
    let cgroup = order.facts.cgroup.as_ref().known()?;
    Cgroup::new(cgroup).job().map(|job| job.to_string())
}

/// Whether whoever made its container's and its pod's control groups was not a person.
fn is_placed_by_the_system(order: &Order) -> bool {
    fn is_trusted<T>(told: Option<&Told<T>>) -> bool {
        told.is_none_or(|told| told.source <= Source::PodLogs)
    }
    let facts = &order.facts;
    let is_outside = |text: &str| !Cgroup::new(text).is_below("user.slice");
    facts.cgroup.as_ref().known().is_some_and(|text| is_outside(text))
        && facts
            .who
            .as_ref()
            .known()
            .is_some_and(|who| is_trusted(who.container.as_ref()) && is_trusted(who.pod.as_ref()))
}
