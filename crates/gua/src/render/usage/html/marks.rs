//! What a state looks like: a colour, a pattern and a word, so that each alone would do.

use gua_core::State;
use gua_query::usage::TotalState;
use maud::{Markup, PreEscaped, html};

/// What is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mark {
    Active,
    Held,
    Free,
    Unknown,
    /// Nothing was observed.
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
            Self::Active => TotalState::Active.word(),
            Self::Held => TotalState::IdleHeld.word(),
            Self::Free => TotalState::TrulyIdle.word(),
            Self::Unknown => TotalState::Unknown.word(),
            Self::Gap => "not observed",
        }
    }

    /// What it is filled with.
    pub(super) fn fill(self) -> String {
        format!("url(#p-{})", self.class())
    }
}

impl From<TotalState> for Mark {
    fn from(state: TotalState) -> Self {
        match state {
            TotalState::Active => Self::Active,
            TotalState::IdleHeld => Self::Held,
            TotalState::TrulyIdle => Self::Free,
            TotalState::Unknown => Self::Unknown,
        }
    }
}

impl From<Option<TotalState>> for Mark {
    fn from(state: Option<TotalState>) -> Self {
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
pub(super) fn legend(marks: impl Iterator<Item = (Mark, &'static str)>) -> Markup {
    html! {
        ul.legend {
            @for (mark, word) in marks { li { (swatch(mark)) " " (word) } }
        }
    }
}

/// A part of a whole as a bar. The figure is in words beside it.
pub(super) fn bar(share: f64, mark: Mark) -> Markup {
    stacked_bar(&[(share, mark)])
}

/// Parts of a whole as one bar. The figures are in words beside it.
pub(super) fn stacked_bar(parts: &[(f64, Mark)]) -> Markup {
    let mut end = 0.0;
    let mut place = |share: f64| {
        let begin = end;
        end = (begin + share).clamp(begin, 1.0);
        [begin, end - begin].map(|part| format!("{:.1}%", part * 100.0))
    };
    html! {
        svg.bar aria-hidden="true" focusable="false" height="8" {
            rect.rail width="100%" height="8" rx="4" {}
            @for (share, mark) in parts.iter().filter(|(share, _)| *share > 0.0) {
                @let [x, width] = place(*share);
                rect x=(x) width=(width) height="8" rx="4" fill=(mark.fill()) {}
            }
        }
    }
}
