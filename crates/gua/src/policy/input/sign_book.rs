//! Signs as they are stored: a row while one lasts, and a new one each hour, so that rows can be deleted
//! by age (pure).

use std::collections::HashMap;

use gua_core::Period;
use gua_core::period::HOUR;
use gua_core::sign::Sign as StoredSign;
use gua_core::units::UnixMillis;

use super::samples::WorkSample;
use super::sign_time::SignTime;
use crate::policy::subject::Subject;

/// Signs that are stored, as far as they are needed.
#[derive(Debug, Clone, Default)]
pub struct SignBook {
    /// What was last read of each process.
    lasting: HashMap<Subject, SignTime>,
    /// Newest stretch of single samples of each process.
    sampled: HashMap<Subject, SignTime>,
    ended: Vec<SignTime>,
}

impl SignBook {
    /// Notes what was read of all processes over a period. Where nothing was read, what was read before
    /// stays. Returns the rows to store.
    pub fn add_read(
        &mut self,
        read: &[(Subject, Option<StoredSign>)],
        period: Period,
    ) -> Vec<SignTime> {
        let is_there = |subject: &Subject| read.iter().any(|(it, _)| it == subject);
        let gone: Vec<_> = self.lasting.keys().filter(|it| !is_there(it)).copied().collect();
        let mut rows = Vec::new();
        for subject in gone {
            rows.extend(self.end(subject, period.to));
        }
        for (subject, sign) in read {
            let before = self.lasting.get(subject).copied();
            let Some(sign) = sign.or(before.map(|before| before.sign)) else { continue };
            let is_same =
                |before: SignTime| before.sign == sign && hour(before.from) == hour(period.from);
            if before.is_some_and(is_same) {
                continue;
            }
            rows.extend(self.end(*subject, period.from));
            let row = SignTime { subject: *subject, sign, from: period.from, to: None };
            self.lasting.insert(*subject, row);
            rows.push(row);
        }
        rows
    }

    fn end(&mut self, subject: Subject, at: UnixMillis) -> Option<SignTime> {
        let sign = self.lasting.remove(&subject)?;
        let ended = SignTime { to: Some(at.max(sign.from)), ..sign };
        self.ended.push(ended);
        Some(ended)
    }

    /// Ends all signs that last. Returns the rows to store.
    pub fn end_all(&mut self, at: UnixMillis) -> Vec<SignTime> {
        let subjects: Vec<_> = self.lasting.keys().copied().collect();
        subjects.into_iter().filter_map(|subject| self.end(subject, at)).collect()
    }

    /// Notes single samples, in order of time. Those of one step, or of two that follow each other, are
    /// one row. Returns the rows to store.
    pub fn add_samples(&mut self, samples: &[WorkSample], step_ms: i64) -> Vec<SignTime> {
        let step = |at: UnixMillis| at.0.div_euclid(step_ms);
        let mut rows: Vec<SignTime> = Vec::new();
        for WorkSample { subject, at } in samples {
            let before = self.sampled.get(subject).copied();
            let joins = |before: &SignTime| {
                let until = before.to.unwrap_or(before.from);
                hour(before.from) == hour(*at) && before.from <= *at && step(*at) <= step(until) + 1
            };
            let row = match before.filter(joins) {
                Some(before) => SignTime { to: before.to.max(Some(*at)), ..before },
                None => {
                    self.ended.extend(before);
                    SignTime { subject: *subject, sign: StoredSign::Sm, from: *at, to: Some(*at) }
                }
            };
            self.sampled.insert(*subject, row);
            rows.retain(|known| (known.subject, known.from) != (*subject, row.from));
            rows.push(row);
        }
        rows
    }

    /// Returns the signs that last after the time that was last forgotten, and others.
    pub fn times(&self) -> Vec<SignTime> {
        let all = self.lasting.values().chain(self.sampled.values()).chain(&self.ended);
        all.copied().collect()
    }

    /// Forgets signs that ended before a time.
    pub fn forget_before(&mut self, time: UnixMillis) {
        let is_new = |sign: &SignTime| sign.to.is_none_or(|to| to >= time);
        self.ended.retain(is_new);
        // Samples soon after it would be joined to it.
        let recent = time.0.saturating_sub(HOUR);
        self.sampled.retain(|_, sign| sign.to.is_none_or(|to| to.0 >= recent));
    }
}

const fn hour(at: UnixMillis) -> i64 {
    at.0.div_euclid(HOUR)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::tests::subject;

    fn period(from: i64, to: i64) -> Period {
        Period::new(UnixMillis(from * 1000), UnixMillis(to * 1000))
    }

    fn told(rows: &[SignTime]) -> Vec<(StoredSign, i64, Option<i64>)> {
        rows.iter().map(|it| (it.sign, it.from.0 / 1000, it.to.map(|to| to.0 / 1000))).collect()
    }

    #[test]
    fn row_is_written_when_a_sign_changes_and_each_hour() {
        use StoredSign::{Cpu, Quiet};
        let mut book = SignBook::default();
        let mut read =
            |sign, from, to| told(&book.add_read(&[(subject(1), sign)], period(from, to)));
        assert_eq!(read(Some(Quiet), 10, 40), [(Quiet, 10, None)]);
        assert_eq!(read(Some(Quiet), 40, 70), []);
        assert_eq!(read(None, 70, 100), []);
        assert_eq!(read(Some(Cpu), 100, 130), [(Quiet, 10, Some(100)), (Cpu, 100, None)]);
        assert_eq!(read(Some(Cpu), 3610, 3640), [(Cpu, 100, Some(3610)), (Cpu, 3610, None)]);
        assert_eq!(told(&book.add_read(&[], period(3640, 3670))), [(Cpu, 3610, Some(3670))]);
        assert_eq!(book.end_all(UnixMillis(9)), []);
    }

    #[test]
    fn samples_of_steps_that_follow_each_other_are_one_row() {
        let mut book = SignBook::default();
        let mut add = |seconds: &[i64]| {
            let sample = |at: &i64| WorkSample { subject: subject(1), at: UnixMillis(at * 1000) };
            let samples: Vec<_> = seconds.iter().map(sample).collect();
            told(&book.add_samples(&samples, 30_000))
        };
        let sm = StoredSign::Sm;
        assert_eq!(add(&[5, 20, 50]), [(sm, 5, Some(50))]);
        assert_eq!(add(&[61]), [(sm, 5, Some(61))]);
        assert_eq!(add(&[121, 181]), [(sm, 121, Some(121)), (sm, 181, Some(181))]);
        assert_eq!(add(&[3600]), [(sm, 3600, Some(3600))]);
    }
}
