//! When a notice counts as delivered: as soon as one way has reached the person, and as not
//! delivered when the last has failed.

use std::collections::HashMap;

use crate::policy::{Answer, Token};

/// The notices that are on their way.
#[derive(Debug, Default)]
pub struct Answers(HashMap<Token, Way>);

#[derive(Debug)]
struct Way {
    open: usize,
    is_told: bool,
}

impl Answers {
    /// A notice sets out on so many ways.
    pub fn expect(&mut self, token: Token, ways: usize) {
        self.0.insert(token, Way { open: ways, is_told: false });
    }

    /// Whether a way is still open.
    #[must_use]
    pub fn awaits(&self, token: Token) -> bool {
        self.0.contains_key(&token)
    }

    /// One way has come to its end; gives the answer where it is one.
    pub fn hear(&mut self, token: Token, is_delivered: bool) -> Option<Answer> {
        let way = self.0.get_mut(&token)?;
        way.open = way.open.saturating_sub(1);
        let is_first = is_delivered && !way.is_told;
        way.is_told |= is_delivered;
        let (is_over, is_told) = (way.open == 0, way.is_told);
        if is_over {
            self.0.remove(&token);
        }
        if is_first {
            return Some(Answer::Told);
        }
        (is_over && !is_told).then_some(Answer::NotTold)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_way_is_enough_and_none_is_not() {
        let mut answers = Answers::default();
        let token = Token(1);
        answers.expect(token, 3);
        assert_eq!(answers.hear(token, false), None);
        assert_eq!(answers.hear(token, true), Some(Answer::Told));
        assert_eq!(answers.hear(token, true), None, "once");
        answers.expect(token, 2);
        assert_eq!(answers.hear(token, false), None);
        assert_eq!(answers.hear(token, false), Some(Answer::NotTold));
        assert_eq!(answers.hear(token, true), None, "it is over");
    }
}
