//! What a line of the rules' log is about.

/// The kinds of lines, each with a stable word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DeedKind {
    WouldNotice,
    NoticeSent,
    NoticeFailed,
    WouldEnd,
    EndBegun,
    Ended,
    NotEnded,
    Relieved,
    SwitchedOn,
    SwitchedOff,
    ConfigTaken,
    ConfigRefused,
    SnoozesUnread,
    /// The word of a newer version.
    Other(String),
}

impl DeedKind {
    /// Those that this version writes.
    const OURS: [Self; 13] = [
        Self::WouldNotice,
        Self::NoticeSent,
        Self::NoticeFailed,
        Self::WouldEnd,
        Self::EndBegun,
        Self::Ended,
        Self::NotEnded,
        Self::Relieved,
        Self::SwitchedOn,
        Self::SwitchedOff,
        Self::ConfigTaken,
        Self::ConfigRefused,
        Self::SnoozesUnread,
    ];

    /// Its word.
    #[must_use]
    pub fn slug(&self) -> &str {
        match self {
            Self::WouldNotice => "would_notice",
            Self::NoticeSent => "notice_sent",
            Self::NoticeFailed => "notice_failed",
            Self::WouldEnd => "would_end",
            Self::EndBegun => "end_begun",
            Self::Ended => "ended",
            Self::NotEnded => "not_ended",
            Self::Relieved => "relieved",
            Self::SwitchedOn => "switched_on",
            Self::SwitchedOff => "switched_off",
            Self::ConfigTaken => "config_taken",
            Self::ConfigRefused => "config_refused",
            Self::SnoozesUnread => "snoozes_unread",
            Self::Other(word) => word,
        }
    }

    /// The kind of a word that was written down.
    pub(super) fn of(word: String) -> Self {
        Self::OURS.into_iter().find(|kind| kind.slug() == word).unwrap_or(Self::Other(word))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_comes_back_as_its_kind() {
        for kind in DeedKind::OURS {
            assert_eq!(DeedKind::of(kind.slug().to_owned()), kind);
        }
        let newer = DeedKind::of("hibernated".to_owned());
        assert_eq!((newer.slug(), &newer), ("hibernated", &DeedKind::Other("hibernated".into())));
    }
}
