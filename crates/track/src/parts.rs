//! A figure for the main process, for its descendants, and for both together.

/// What is told three times. `combined` is measured, not the sum of the other two: memory that
/// both share counts once there, and maxima need not fall on the same moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Parts<T> {
    pub main: T,
    pub descendants: T,
    pub combined: T,
}

impl<T> Parts<T> {
    /// The same of each.
    pub fn map<U>(self, mut change: impl FnMut(T) -> U) -> Parts<U> {
        Parts {
            main: change(self.main),
            descendants: change(self.descendants),
            combined: change(self.combined),
        }
    }

    /// Each with its counterpart.
    pub fn zip<U>(self, other: Parts<U>) -> Parts<(T, U)> {
        Parts {
            main: (self.main, other.main),
            descendants: (self.descendants, other.descendants),
            combined: (self.combined, other.combined),
        }
    }

    pub const fn as_ref(&self) -> Parts<&T> {
        Parts { main: &self.main, descendants: &self.descendants, combined: &self.combined }
    }
}
