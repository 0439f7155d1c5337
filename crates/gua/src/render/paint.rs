//! Colours, where the screen has them. A colour repeats what a word says, never replaces it.

/// Whether to paint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Paint(pub bool);

/// What a piece of text is, not what it looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ink {
    Good,
    Notice,
    Bad,
    Quiet,
    Strong,
    Plain,
}

impl Ink {
    /// Colours of the terminal's own palette, so that light and dark themes both work.
    const fn code(self) -> &'static str {
        match self {
            Self::Good => "32",
            Self::Notice => "1;33",
            Self::Bad => "31",
            Self::Quiet => "2",
            Self::Strong => "1",
            Self::Plain => "",
        }
    }
}

impl Paint {
    #[must_use]
    pub fn text(self, ink: Ink, text: &str) -> String {
        if !self.0 || ink == Ink::Plain || text.is_empty() {
            return text.to_owned();
        }
        format!("\x1b[{}m{text}\x1b[0m", ink.code())
    }
}
