//! A small page: a heading and what is to be said, in the dress of the large one.

use maud::{DOCTYPE, Markup, html};

use crate::render::usage::html::head;

/// A page of this title and heading.
pub(super) fn page(title: &str, heading: &str, said: &Markup) -> Markup {
    let dress = html! {
        link rel="icon" href="/assets/icon.svg" type="image/svg+xml";
        link rel="stylesheet" href="/assets/style.css";
    };
    html! {
        (DOCTYPE)
        html lang="en" {
            (head(&format!("{title} — gua"), &dress))
            body {
                main.sign-in {
                    h1 { (heading) }
                    (said)
                }
            }
        }
    }
}
