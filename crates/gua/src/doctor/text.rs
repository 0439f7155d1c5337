//! The diagnosis as text: the answer first, then each finding with its next step.

use probe::card;

use super::Diagnosis;
use super::finding::{Entry, Verdict, counted};
use crate::render::paint::{Ink, Paint};
use crate::render::table::{Cell, Line};
use crate::render::words::safe;
use crate::wrap::wrapped;

/// Columns at which the name of a check and the text begin; the verdict stands at 0.
const CHECK_AT: usize = 9;
const TEXT_AT: usize = 21;

/// On a narrower screen the text stands below the name of its check instead of beside it.
const MIN_WIDTH_BESIDE: usize = 50;
const BELOW_AT: usize = 2;

/// Returns the lines, none wider than `width`.
pub(super) fn lines(diagnosis: &Diagnosis, width: usize, paint: Paint) -> Vec<String> {
    let ink = if diagnosis.ready { Ink::Good } else { Ink::Bad };
    let answer = wrapped(&answer(diagnosis), width);
    let mut lines: Vec<_> = answer.iter().map(|line| paint.text(ink, line)).collect();
    lines.extend(diagnosis.findings.iter().flat_map(|entry| entry_lines(entry, width, paint)));
    lines
}

fn answer(diagnosis: &Diagnosis) -> String {
    let remark = |verdict, noun| {
        let has = |entry: &&Entry| entry.finding.verdict == verdict;
        let count = diagnosis.findings.iter().filter(has).count();
        (count > 0).then(|| counted(count, noun))
    };
    let remarks = [remark(Verdict::Error, "error"), remark(Verdict::Warning, "warning")];
    let remarks = remarks.into_iter().flatten().collect::<Vec<_>>().join(", ");
    if !diagnosis.ready {
        return format!("not ready: {remarks}");
    }
    let cards = &diagnosis.facts.cards;
    let readable = cards.iter().filter(|card| !card.readable.is_empty()).count();
    let all = counted(cards.len(), "card");
    let cards = if readable == cards.len() { all } else { format!("{readable} of {all}") };
    let remarks = if remarks.is_empty() { remarks } else { format!("; {remarks}") };
    format!("ready: {cards} can be audited{remarks}")
}

fn entry_lines(entry: &Entry, width: usize, paint: Paint) -> Vec<String> {
    let is_beside = width >= MIN_WIDTH_BESIDE;
    let text_at = if is_beside { TEXT_AT } else { BELOW_AT };
    let mut head = Line::default();
    head.put(0, &verdict(entry.finding.verdict), width, paint);
    head.put(CHECK_AT, &Cell::plain(label(entry)), width, paint);
    let mut texts = texts(entry, width.saturating_sub(text_at)).into_iter();
    if is_beside && let Some(first) = texts.next() {
        head.put(TEXT_AT, &first, width, paint);
    }
    let below = texts.map(|text| {
        let mut line = Line::default();
        line.put(text_at, &text, width, paint);
        line
    });
    std::iter::once(head).chain(below).map(|line| line.text).collect()
}

fn verdict(verdict: Verdict) -> Cell {
    match verdict {
        Verdict::Ok => Cell::new("ok", Ink::Good),
        Verdict::Warning => Cell::new("warning", Ink::Notice),
        Verdict::Error => Cell::new("error", Ink::Bad),
        Verdict::Skipped => Cell::new("skipped", Ink::Quiet),
    }
}

fn label(entry: &Entry) -> String {
    match (entry.check, entry.card) {
        (_, Some(card)) => format!("card {}", card::label(card.index, card.mig_slot)),
        ("card", None) => "cards".to_owned(),
        (check, None) => check.to_owned(),
    }
}

/// Returns what was found and, after an arrow, what to do about it.
fn texts(entry: &Entry, width: usize) -> Vec<Cell> {
    let finding = &entry.finding;
    let ink = if finding.verdict == Verdict::Skipped { Ink::Quiet } else { Ink::Plain };
    let detail = wrapped(&safe(&finding.detail), width);
    let mut texts: Vec<_> = detail.into_iter().map(|line| Cell::new(line, ink)).collect();
    let step = finding.next_step.as_deref().unwrap_or_default();
    let marks = std::iter::once("→ ").chain(std::iter::repeat("  "));
    let step = marks.zip(wrapped(&safe(step), width.saturating_sub(2)));
    texts.extend(step.map(|(mark, line)| Cell::plain(format!("{mark}{line}"))));
    texts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::cards::{CardReport, Quantity};
    use crate::doctor::finding::{CardPlace, Finding};
    use crate::doctor::{Facts, daemon, nvidia_smi, nvml, system};
    use crate::render::words::width;
    use proptest::prelude::*;

    fn card(index: u32, readable: Vec<Quantity>) -> CardReport {
        CardReport {
            place: CardPlace { index, mig_slot: None },
            uuid: None,
            name: None,
            readable,
            unreadable: Vec::new(),
            untried: Vec::new(),
            utilization_is_instant: false,
            shares_host_memory: false,
        }
    }

    fn diagnosis(findings: Vec<Entry>, cards: Vec<CardReport>) -> Diagnosis {
        let facts = Facts {
            system: system::SystemFacts::default(),
            devices: None,
            nvidia_smi: nvidia_smi::SmiFacts::default(),
            driver: nvml::DriverVersions::default(),
            cards,
            processes: None,
            config_files: Vec::new(),
            database: None,
            daemon: daemon::DaemonFacts::default(),
        };
        Diagnosis::new(findings, facts)
    }

    fn shown(diagnosis: &Diagnosis, width: usize) -> String {
        lines(diagnosis, width, Paint(false)).join("\n")
    }

    fn findings() -> Vec<Entry> {
        let partly = Finding::warning("H100: everything but this and that")
            .next("Do this, then that, then have a rest from all the doing.");
        vec![
            Entry::new("system", Finding::ok("an ordinary host")),
            Entry::of_card(CardPlace { index: 0, mig_slot: Some(4) }, partly),
            Entry::new("daemon", Finding::skipped("evil\x1b[2Jname")),
        ]
    }

    #[test]
    fn a_wide_screen_has_the_text_beside() {
        let diagnosis =
            diagnosis(findings(), vec![card(0, vec![Quantity::Memory]), card(1, vec![])]);
        insta::assert_snapshot!(shown(&diagnosis, 60), @r"
        ready: 1 of 2 cards can be audited; 1 warning
        ok       system      an ordinary host
        warning  card 0:4    H100: everything but this and that
                             → Do this, then that, then have a rest
                               from all the doing.
        skipped  daemon      evil?[2Jname
        ");
    }

    #[test]
    fn a_narrow_screen_has_the_text_below() {
        let diagnosis = diagnosis(findings(), vec![card(0, vec![Quantity::Memory])]);
        insta::assert_snapshot!(shown(&diagnosis, 24), @r"
        ready: 1 card can be
        audited; 1 warning
        ok       system
          an ordinary host
        warning  card 0:4
          H100: everything but
          this and that
          → Do this, then that,
            then have a rest
            from all the doing.
        skipped  daemon
          evil?[2Jname
        ");
    }

    #[test]
    fn the_answer_counts() {
        let error = || Entry::new("nvml", Finding::error("no"));
        let two = vec![card(0, vec![Quantity::Memory]), card(1, vec![Quantity::Memory])];
        assert_eq!(shown(&diagnosis(vec![], two), usize::MAX), "ready: 2 cards can be audited");
        let all = findings().into_iter().chain([error(), error()]).collect();
        let answer = shown(&diagnosis(all, vec![]), usize::MAX);
        assert!(answer.starts_with("not ready: 2 errors, 1 warning\n"), "{answer}");
    }

    proptest! {
        #[test]
        fn no_line_is_wider_than_the_screen(
            detail in "[ -~あé]{0,90}", step in "[ -~あé]{0,90}", most in 1_usize..90,
        ) {
            let finding = Entry::new("database", Finding::error(detail).next(step));
            for line in lines(&diagnosis(vec![finding], vec![]), most, Paint(false)) {
                prop_assert!(width(&line) <= most, "{} > {}: {}", width(&line), most, line);
            }
        }

        #[test]
        fn wrapping_loses_nothing(text in "[a-zé ]{0,60}", most in 1_usize..30) {
            let letters = |text: &str| text.replace(' ', "");
            prop_assert_eq!(letters(&wrapped(&text, most).concat()), letters(&text));
        }
    }
}
