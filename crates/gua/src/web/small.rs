//! A small page: a heading and what is to be said, in the dress of the large one.

use maud::{DOCTYPE, Markup, html};

/// A page of this title and heading.
pub(super) fn page(title: &str, heading: &str, said: &Markup) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) " — gua" }
                link rel="icon" href="/assets/icon.svg" type="image/svg+xml";
                link rel="stylesheet" href="/assets/style.css";
            }
            body {
                main.sign-in {
                    h1 { (heading) }
                    (said)
                }
            }
        }
    }
}
