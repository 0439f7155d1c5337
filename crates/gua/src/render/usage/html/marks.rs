//! What a state looks like: a colour, a pattern and a word, so that each alone would do.

use maud::{Markup, PreEscaped, html};

use crate::classify::State;
use crate::report::usage::Shown;

/// What is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mark {
    Active,
    Held,
    Free,
    Unknown,
    /// Nobody recorded.
    Gap,
}

impl Mark {
    pub(super) const ALL: [Self; 5] =
        [Self::Active, Self::Held, Self::Free, Self::Unknown, Self::Gap];

    /// Its class.
    pub(super) const fn class(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Held => "held",
            Self::Free => "free",
            Self::Unknown => "unknown",
            Self::Gap => "gap",
        }
    }

    /// The word for it over a time.
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Active => Shown::Active.word(),
            Self::Held => Shown::IdleHeld.word(),
            Self::Free => Shown::TrulyIdle.word(),
            Self::Unknown => Shown::Unknown.word(),
            Self::Gap => "not observed",
        }
    }

    /// What it is filled with.
    pub(super) fn fill(self) -> String {
        format!("url(#p-{})", self.class())
    }
}

impl From<Shown> for Mark {
    fn from(state: Shown) -> Self {
        match state {
            Shown::Active => Self::Active,
            Shown::IdleHeld => Self::Held,
            Shown::TrulyIdle => Self::Free,
            Shown::Unknown => Self::Unknown,
        }
    }
}

impl From<Option<Shown>> for Mark {
    fn from(state: Option<Shown>) -> Self {
        state.map_or(Self::Gap, Self::from)
    }
}

impl From<State> for Mark {
    fn from(state: State) -> Self {
        match state {
            State::Active => Self::Active,
            State::IdleHeld => Self::Held,
            State::TrulyIdle => Self::Free,
            State::Unknown(_) => Self::Unknown,
        }
    }
}

/// What each pattern consists of, in units of a pixel.
const PATTERNS: &str = r#"<pattern id="p-active" width="8" height="8" patternUnits="userSpaceOnUse"><rect class="ground active" width="8" height="8"/></pattern>
<pattern id="p-held" width="8" height="8" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><rect class="ground held" width="8" height="8"/><rect class="figure held" width="3" height="8"/></pattern>
<pattern id="p-free" width="8" height="8" patternUnits="userSpaceOnUse"><rect class="ground free" width="8" height="8"/></pattern>
<pattern id="p-unknown" width="6" height="6" patternUnits="userSpaceOnUse"><rect class="ground unknown" width="6" height="6"/><circle class="figure unknown" cx="3" cy="3" r="1.3"/></pattern>
<pattern id="p-gap" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(-45)"><rect class="ground gap" width="6" height="6"/><rect class="figure gap" width="1.2" height="6"/></pattern>"#;

/// The patterns, for all pictures of a page.
pub(super) fn patterns() -> Markup {
    html! { svg.patterns width="0" height="0" aria-hidden="true" focusable="false" { (defs()) } }
}

/// The patterns, for a picture by itself.
pub(super) fn defs() -> Markup {
    html! { defs { (PreEscaped(PATTERNS)) } }
}

/// A little field of it.
pub(super) fn swatch(mark: Mark) -> Markup {
    html! {
        svg.swatch width="16" height="16" aria-hidden="true" focusable="false" {
            rect width="16" height="16" rx="3" fill=(mark.fill()) {}
        }
    }
}

/// What the marks mean.
pub(super) fn legend() -> Markup {
    html! {
        ul.legend {
            @for mark in Mark::ALL { li { (swatch(mark)) " " (mark.word()) } }
        }
    }
}

/// A part of a whole as a bar, which is told beside it in words.
pub(super) fn bar(share: f64, mark: Mark) -> Markup {
    let width = format!("{:.1}%", share.clamp(0.0, 1.0) * 100.0);
    html! {
        svg.bar aria-hidden="true" focusable="false" height="8" {
            rect.rail width="100%" height="8" rx="4" {}
            rect width=(width) height="8" rx="4" fill=(mark.fill()) {}
        }
    }
}
