//! The checkup as lines: the answer first, then what was found, each with the next step.

use std::io::{self, Write};

use probe::card;

use super::report::{Check, Checkup, Finding, Verdict};
use crate::render::paint::{Ink, Paint};
use crate::render::table::{Cell, Line};
use crate::render::words::safe;
use crate::wrap::wrapped;

/// Where the check stands, after its verdict, and where the text begins.
const CHECK_AT: usize = 9;
const TEXT_AT: usize = 21;

/// On a screen narrower than this the text stands below the check instead of beside it.
const ROOM_BESIDE: usize = 50;
const BELOW_AT: usize = 2;

/// What the findings are shown on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct View {
    pub paint: Paint,
    /// Columns; `None` where lines may be as long as they like.
    pub width: Option<usize>,
}

impl View {
    fn most(self) -> usize {
        self.width.unwrap_or(usize::MAX)
    }
}

/// Writes the findings.
///
/// # Errors
/// When the writer fails.
pub fn write(out: &mut impl Write, checkup: &Checkup, view: View) -> io::Result<()> {
    for line in lines(checkup, view) {
        writeln!(out, "{line}")?;
    }
    Ok(())
}

/// The findings as lines, none longer than the screen is wide.
#[must_use]
pub fn lines(checkup: &Checkup, view: View) -> Vec<String> {
    let ink = if checkup.ready { Ink::Good } else { Ink::Bad };
    let answer = wrapped(&answer(checkup), view.most());
    let mut lines: Vec<_> = answer.iter().map(|line| view.paint.text(ink, line)).collect();
    lines.extend(checkup.findings.iter().flat_map(|finding| of_finding(finding, view)));
    lines
}

fn answer(checkup: &Checkup) -> String {
    let words = [(Verdict::Error, "error"), (Verdict::Warning, "warning")];
    let counts = words.map(|(verdict, word)| (checkup.count(verdict), word));
    let remarks: Vec<_> =
        counts.into_iter().filter(|(count, _)| *count > 0).map(|(n, word)| some(n, word)).collect();
    let remarks = remarks.join(", ");
    if !checkup.ready {
        return format!("not ready: {remarks}");
    }
    let cards = &checkup.facts.cards;
    let readable = cards.iter().filter(|card| !card.readable.is_empty()).count();
    let shown = if readable == cards.len() {
        some(readable, "card")
    } else {
        format!("{readable} of {}", some(cards.len(), "card"))
    };
    let doubt = if remarks.is_empty() { String::new() } else { format!("; {remarks}") };
    format!("ready: {shown} can be audited{doubt}")
}

fn some(count: usize, word: &str) -> String {
    format!("{count} {word}{}", if count == 1 { "" } else { "s" })
}

fn of_finding(finding: &Finding, view: View) -> Vec<String> {
    let most = view.most();
    let is_beside = most >= ROOM_BESIDE;
    let text_at = if is_beside { TEXT_AT } else { BELOW_AT };
    let mut head = Line::default();
    head.put(0, &verdict(finding.verdict), most, view.paint);
    head.put(CHECK_AT, &Cell::plain(label(finding)), most, view.paint);
    let mut texts = texts(finding, most.saturating_sub(text_at)).into_iter();
    if is_beside && let Some(first) = texts.next() {
        head.put(TEXT_AT, &first, most, view.paint);
    }
    let below = texts.map(|text| {
        let mut line = Line::default();
        line.put(text_at, &text, most, view.paint);
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

fn label(finding: &Finding) -> String {
    let name = match finding.check {
        Check::System => "system",
        Check::Devices => "devices",
        Check::NvidiaSmi => "nvidia-smi",
        Check::Nvml => "nvml",
        Check::Card => "cards",
        Check::Processes => "processes",
        Check::Config => "config",
        Check::Database => "database",
        Check::Daemon => "daemon",
    };
    match finding.card {
        None => name.to_owned(),
        Some(place) => format!("card {}", card::label(place.index, place.mig_slot)),
    }
}

/// What was found and, set off by an arrow, what to do about it.
fn texts(finding: &Finding, room: usize) -> Vec<Cell> {
    let ink = if finding.verdict == Verdict::Skipped { Ink::Quiet } else { Ink::Plain };
    let detail = wrapped(&safe(&finding.detail), room);
    let mut texts: Vec<_> = detail.into_iter().map(|line| Cell::new(line, ink)).collect();
    let step = finding.next_step.as_deref().unwrap_or_default();
    let marks = std::iter::once("→ ").chain(std::iter::repeat("  "));
    let step = marks.zip(wrapped(&safe(step), room.saturating_sub(2)));
    texts.extend(step.map(|(mark, line)| Cell::plain(format!("{mark}{line}"))));
    texts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::report::{
        CardReport, DaemonFacts, DriverVersions, Facts, Place, Quantity, SmiFacts, SystemFacts,
    };
    use crate::render::words::width;
    use proptest::prelude::*;

    fn card(index: u32, readable: Vec<Quantity>) -> CardReport {
        CardReport {
            place: Place { index, mig_slot: None },
            uuid: None,
            name: None,
            readable,
            unreadable: Vec::new(),
            untried: Vec::new(),
            utilization_is_instant: false,
            shares_host_memory: false,
        }
    }

    fn checkup(findings: Vec<Finding>, cards: Vec<CardReport>) -> Checkup {
        let facts = Facts {
            system: SystemFacts {
                kernel: String::new(),
                architecture: String::new(),
                os: None,
                is_wsl: false,
                is_container: false,
            },
            devices: None,
            nvidia_smi: SmiFacts { path: None, gpu_count: None },
            driver: DriverVersions::default(),
            cards,
            processes: None,
            config_files: Vec::new(),
            database: None,
            daemon: DaemonFacts { pid_file: None, running: None, pid: None },
        };
        Checkup::new(findings, facts)
    }

    fn shown(checkup: &Checkup, width: Option<usize>) -> String {
        lines(checkup, View { paint: Paint(false), width }).join("\n")
    }

    fn findings() -> Vec<Finding> {
        vec![
            Finding::new(Check::System, Verdict::Ok, "an ordinary host"),
            Finding::new(Check::Card, Verdict::Warning, "H100: everything but this and that")
                .of_card(Place { index: 0, mig_slot: Some(4) })
                .next("Do this, then that, then have a rest from all the doing."),
            Finding::new(Check::Daemon, Verdict::Skipped, "evil\x1b[2Jname"),
        ]
    }

    #[test]
    fn a_wide_screen_has_the_text_beside() {
        let checkup = checkup(findings(), vec![card(0, vec![Quantity::Memory]), card(1, vec![])]);
        insta::assert_snapshot!(shown(&checkup, Some(60)), @r"
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
        let checkup = checkup(findings(), vec![card(0, vec![Quantity::Memory])]);
        insta::assert_snapshot!(shown(&checkup, Some(24)), @r"
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
        let error = || Finding::new(Check::Nvml, Verdict::Error, "no");
        let two = vec![card(0, vec![Quantity::Memory]), card(1, vec![Quantity::Memory])];
        assert_eq!(shown(&checkup(vec![], two), None), "ready: 2 cards can be audited");
        let all = [findings(), vec![error(), error()]].concat();
        let answer = shown(&checkup(all, vec![]), None);
        assert!(answer.starts_with("not ready: 2 errors, 1 warning\n"), "{answer}");
    }

    proptest! {
        #[test]
        fn no_line_is_wider_than_the_screen(
            detail in "[ -~あé]{0,90}", step in "[ -~あé]{0,90}", most in 1_usize..90,
        ) {
            let finding = Finding::new(Check::Database, Verdict::Error, detail).next(step);
            for line in lines(&checkup(vec![finding], vec![]), View { paint: Paint(false), width: Some(most) }) {
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
