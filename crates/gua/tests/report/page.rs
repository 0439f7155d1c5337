//! `--format html` and `svg`: what they say is what the report says.

use super::{BOTH_DAYS, HOUR, Histories, SATURDAY};
use crate::history::{CardUse, MINUTE, Recording, card};
use crate::machine::{program, run};

const A100: &str = "NVIDIA A100-SXM4-80GB";

fn page(histories: &Histories, args: &[&str]) -> String {
    let run = histories.report(&[args, &["--format", "html"]].concat());
    assert_eq!(run.code, Some(0), "{run:?}");
    run.stdout
}

fn picture(histories: &Histories, which: &str, args: &[&str]) -> String {
    let run = histories.report(&[args, &["--format", "svg", "--picture", which]].concat());
    assert_eq!(run.code, Some(0), "{run:?}");
    run.stdout
}

/// What stands between two texts, wherever it does.
fn all_between<'a>(text: &'a str, begin: &str, end: &str) -> Vec<&'a str> {
    text.split(begin).skip(1).filter_map(|rest| rest.split(end).next()).collect()
}

/// Half a day of cards that do this.
fn recorded(doing: impl Fn(i64) -> Vec<CardUse>) -> Histories {
    let new = Histories::new();
    let mut recording = Recording::begin(&new.path(), SATURDAY, 15 * MINUTE);
    recording.until(SATURDAY + 12 * HOUR, 1, doing);
    recording.end("stopped");
    new
}

/// A column shows what took most of it; what took less is still counted.
#[test]
fn a_band_in_words_has_the_figures_of_the_report() {
    let histories = recorded(|at| {
        let is_working = (at - SATURDAY) / MINUTE % 10 == 0;
        vec![card(A100, if is_working { 90.0 } else { 0.0 }).held_by("ann", 1000, 9_000)]
    });
    let window = ["--from", "2024-10-20", "--until", "2024-11-10"];
    let report = histories.json(&window);
    let share = report.pointer("/cards/0/states/active/share").unwrap().as_f64().unwrap();
    assert!((share - 0.1).abs() < 0.01, "{report}");
    let page = page(&histories, &window);
    let [band] = all_between(&page, "<svg class=\"band\" role=\"img\" aria-label=\"", "\"")[..]
    else {
        panic!("{page}")
    };
    let told = format!("active {:.1} % (1h", share * 100.0);
    assert!(band.contains(&told) && band.contains("not observed 20d12h"), "{band}, not {told}");
    assert!(page.contains("of 12h observed"), "{page}");
}

/// What could not be read may have been idle-held.
#[test]
fn unknown_is_not_nought() {
    let histories = recorded(|at| {
        let is_lost = (at - SATURDAY) / MINUTE % 2 == 0;
        let second = card(A100, 0.0).held_by("ann", 1000, 9_000);
        vec![card(A100, 0.0).lost(), if is_lost { second.lost() } else { second }]
    });
    let window = ["--from", "2024-11-09T00:00", "--until", "2024-11-09T12:00"];
    let page = page(&histories, &window);
    let shares = all_between(&page, "<span class=\"held\">", " idle-held");
    assert_eq!(shares, ["unknown", "≥\u{a0}50.0 %"], "{page}");
    let picture = picture(&histories, "time", &window);
    assert!(picture.contains(">unknown</text>"), "{picture}");
}

#[test]
fn a_picture_says_why_nothing_is_on_it() {
    let free = recorded(|_| vec![card(A100, 0.0)]);
    let people = picture(&free, "people", &["--from", "2024-11-09", "--until", "2024-11-10"]);
    assert!(people.contains("Nobody held a card."), "{people}");
    let before = ["--from", "2024-10-01", "--until", "2024-10-02"];
    for which in ["time", "habit", "states", "people"] {
        let picture = picture(&free, which, &before);
        assert!(picture.contains("Nothing was recorded in this window."), "{which}: {picture}");
    }
}

/// A container often has no zones of its own.
#[test]
fn zones_are_known_where_the_host_has_none() {
    let histories = Histories::two_days();
    let mut command = program(&["report", "--tz", "Europe/Berlin", "--db"]);
    command.arg(histories.path()).args(BOTH_DAYS).env("TZDIR", "/nonexistent");
    let run = run(command);
    assert_eq!(run.code, Some(0), "{run:?}");
    assert!(run.stdout.contains("Europe/Berlin"), "{}", run.stdout);
}
