//! What an account is called in a table.

use gua_query::usage::{Account, By, Unattributed, Usage};

use super::sections::called;
use crate::render::identity::UNATTRIBUTED;
use crate::render::words::safe;

/// So much of a long number tells one from another.
const SHORT_ID: usize = 12;
/// Longer names are not for reading, whatever they take of a screen.
const LONGEST: usize = 200;

pub(super) fn label(account: &Account, usage: &Usage) -> String {
    let Account { by, name, id, unattributed, .. } = account;
    let label = label_of(*by, name.as_deref(), id.as_deref(), *unattributed, usage);
    match id.as_deref().filter(|_| has_a_namesake(account, usage)) {
        Some(id) => format!("{label} ({})", shortened(id, SHORT_ID)),
        None => label,
    }
}

/// A container or a pod that was made anew under its old name is another one.
fn has_a_namesake(account: &Account, usage: &Usage) -> bool {
    let is_one = |other: &&Account| {
        (other.by, &other.name, &other.user) == (account.by, &account.name, &account.user)
    };
    let is_called_by_another_name = account.name.is_some() && account.name != account.id;
    is_called_by_another_name && usage.accounts.iter().filter(is_one).nth(1).is_some()
}

pub(super) fn label_of(
    by: By,
    name: Option<&str>,
    id: Option<&str>,
    why: Option<Unattributed>,
    usage: &Usage,
) -> String {
    match name {
        Some(name) if by == By::Card => card(name, id, usage),
        Some(name) => named(name, id),
        None => unattributed(by, why).to_owned(),
    }
}

/// A name, or the beginning of an id that stands for one.
pub(super) fn named(name: &str, id: Option<&str>) -> String {
    let most = if id == Some(name) { SHORT_ID } else { LONGEST };
    shortened(name, most)
}

/// A name made fit to be shown, of at most so many characters.
pub(super) fn shortened(name: &str, most: usize) -> String {
    let mut short: String = name.chars().take(most).collect();
    if short.len() < name.len() && most == LONGEST {
        short.push('…');
    }
    safe(&short)
}

fn card(place: &str, uuid: Option<&str>, usage: &Usage) -> String {
    let card = usage.cards.iter().find(|card| uuid.is_some() && card.uuid.as_deref() == uuid);
    card.map_or_else(|| place.to_owned(), |card| format!("{place} {}", called(card)))
}

const fn unattributed(by: By, why: Option<Unattributed>) -> &'static str {
    match (why, by) {
        (Some(Unattributed::Unlisted), _) => "unlisted",
        (Some(Unattributed::HoldersUnknown), _) => "holders unknown",
        (Some(Unattributed::None), By::Job) => "no job",
        (Some(Unattributed::None), By::Container) => "no container",
        (Some(Unattributed::None), By::Pod) => "no pod",
        (Some(Unattributed::None), By::Notebook) => "no notebook",
        _ => UNATTRIBUTED,
    }
}
