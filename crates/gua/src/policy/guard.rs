//! What is never ended, whatever the rules say.

use probe::identity::Source;

use super::subject::{Facts, Nature, Subject};

/// Below this, an account is the system's.
pub const FIRST_PERSON: u32 = 1000;

/// What the kernel shows for an owner that it cannot name here.
const NOBODY: u32 = 65_534;

/// Why a process is never ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Guard {
    #[error("the host does not show the process")]
    NotShown,
    #[error("its user is unknown")]
    Unattributed,
    #[error("it belongs to an account of the system (uid below 1000)")]
    SystemAccount,
    #[error("whose it is, is not certain: its owner is another, or may be anybody")]
    Uncertain,
    #[error("it shares its cards through MPS")]
    Mps,
    #[error("it shows somebody's screen")]
    Display,
    #[error("it is gua itself, or what started it")]
    Ourselves,
}

impl Guard {
    /// A stable word for machine-readable output.
    #[must_use]
    pub const fn slug(self) -> &'static str {
        match self {
            Self::NotShown => "not_shown",
            Self::Unattributed => "unattributed",
            Self::SystemAccount => "system_account",
            Self::Uncertain => "uncertain",
            Self::Mps => "mps",
            Self::Display => "display",
            Self::Ourselves => "ourselves",
        }
    }

    /// What stands before a process, where something does.
    #[must_use]
    pub fn of(subject: Subject, facts: &Facts) -> Option<Self> {
        if subject.start_ticks.is_none() {
            return Some(Self::NotShown);
        }
        match facts.nature {
            Nature::Ordinary => {}
            Nature::Mps => return Some(Self::Mps),
            Nature::Display => return Some(Self::Display),
            Nature::Ourselves => return Some(Self::Ourselves),
        }
        let Some(person) = &facts.person else { return Some(Self::Unattributed) };
        // It has ended, too, where only the driver still lists it.
        let Some(owner) = facts.owner.known() else { return Some(Self::NotShown) };
        if person.uid < FIRST_PERSON || owner.lowest() < FIRST_PERSON {
            return Some(Self::SystemAccount);
        }
        (!is_certain(facts)).then_some(Self::Uncertain)
    }
}

/// Whether somebody who is told of a process is sure to be the one who has it to lose.
#[must_use]
pub fn is_certain(facts: &Facts) -> bool {
    let (Some(person), Some(owner)) = (&facts.person, facts.owner.known()) else { return false };
    // A program that acts for somebody else is nobody's alone.
    let Some(owner) = owner.only() else { return false };
    if person.uid == NOBODY || owner == NOBODY {
        return false;
    }
    // An image has users of its own, with numbers that are somebody else's outside.
    let is_contained =
        facts.who.as_ref().is_known_and(|who| who.container.is_some() || who.pod.is_some());
    let is_by_group = matches!(person.source, Source::Cgroup | Source::UserSlice);
    let is_by_owner = matches!(person.source, Source::Uid | Source::Loginuid);
    match is_contained {
        true => is_by_group,
        false => (is_by_group || is_by_owner) && person.uid == owner,
    }
}

/// Programs that show a screen, by the kernel's short name.
const DISPLAYS: [&str; 22] = [
    "X",
    "Xorg",
    "Xwayland",
    "Xvnc",
    "Xtigervnc",
    "gnome-shell",
    "gdm",
    "gdm3",
    "gdm-x-session",
    "gdm-wayland-ses",
    "sddm",
    "lightdm",
    "kwin_x11",
    "kwin_wayland",
    "plasmashell",
    "mutter",
    "weston",
    "sway",
    "Hyprland",
    "cinnamon",
    "xfwm4",
    "nvidia-settings",
];

/// How the names of MPS's programs begin.
const MPS: &str = "nvidia-cuda-mps";

/// What a program is by its name, and by how it uses its cards.
#[must_use]
pub fn nature(program: Option<&str>, kinds: probe::Kinds) -> Nature {
    let is_mps = kinds.mps || program.is_some_and(|name| name.starts_with(MPS));
    let is_display =
        program.is_some_and(|name| DISPLAYS.contains(&name)) || (kinds.graphics && !kinds.compute);
    if is_mps {
        Nature::Mps
    } else if is_display {
        Nature::Display
    } else {
        Nature::Ordinary
    }
}
