//! Tables that may be wider than a screen: each is moved by itself, and has a name.

use maud::{Markup, html};

/// What holds such a table; its name is its caption.
pub(in crate::render) fn wide(id: &str, table: &Markup) -> Markup {
    html! {
        div.wide id=(id) role="region" aria-labelledby=(name_of(id)) tabindex="0" { (table) }
    }
}

/// A caption for who cannot see that it is told above.
pub(in crate::render) fn caption(id: &str, words: &str) -> Markup {
    html! { caption.hidden id=(name_of(id)) { (words) } }
}

/// The id of the caption of such a table.
pub(super) fn name_of(id: &str) -> String {
    format!("{id}-caption")
}
