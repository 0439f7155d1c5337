//! Whole summaries of made-up measurements.

use probe::units::Bytes;
use probe::{Reading, Why};
use proptest::prelude::*;
use track::usage::CardUsage;

use super::*;
use crate::render::json;
use crate::render::words::width;
use crate::report::tracked::{examples, tracked};

fn view(width: usize) -> View {
    View { paint: Paint(false), width, unit: MemoryUnit::Auto }
}

fn text(measured: &crate::report::tracked::Measured) -> String {
    lines(&tracked(measured), &view(80)).join("\n")
}

#[test]
fn each_case_as_text() {
    let all = examples::all();
    let texts: Vec<_> =
        all.iter().map(|(name, measured)| format!("== {name}\n{}\n", text(measured))).collect();
    insta::assert_snapshot!(texts.join("\n"));
}

/// The documents are tested too.
#[test]
fn the_summary_in_the_readme_is_real() {
    let readme = concat!(env!("CARGO_MANIFEST_DIR"), "/../../README.md");
    let shown = std::fs::read_to_string(readme).unwrap();
    assert!(shown.contains(&text(&examples::training())), "{}", text(&examples::training()));
}

#[test]
fn each_case_as_json() {
    for (name, measured) in examples::all() {
        let mut out = Vec::new();
        json::pretty(&mut out, &tracked(&measured)).unwrap();
        insta::assert_snapshot!(format!("json_{name}"), String::from_utf8(out).unwrap());
    }
}

#[test]
fn a_row_a_run_as_csv() {
    let mut out = Vec::new();
    for (_, measured) in examples::all() {
        csv::write(&mut out, &tracked(&measured)).unwrap();
    }
    let text = String::from_utf8(out).unwrap();
    let header = text.lines().next().unwrap().to_owned();
    let rows: Vec<_> = text.lines().filter(|line| *line != header).collect();
    insta::assert_snapshot!(format!("{header}\n{}", rows.join("\n")));
}

/// Returns the GPU percentages and the energy of the CSV row.
fn gpu_columns(measured: &crate::report::tracked::Measured) -> [String; 3] {
    let mut out = Vec::new();
    csv::write(&mut out, &tracked(measured)).unwrap();
    let text = String::from_utf8(out).unwrap();
    let mut lines = text.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let (header, row) = (lines.next().unwrap(), lines.next().unwrap());
    ["gpu_max_percent", "gpu_mean_percent", "gpu_energy_joules"].map(|column| {
        let at = header.iter().position(|name| *name == column).unwrap();
        row[at].to_owned()
    })
}

/// Regression: the work and the energy of other people's cards were counted.
#[test]
fn csv_counts_only_held_cards() {
    let mut measured = examples::training();
    let gpu = measured.usage.gpu.as_mut().unwrap();
    let own = gpu.cards[0].clone();
    let load = own.utilization.known().unwrap();
    let energy = own.energy.known().unwrap();
    gpu.cards.truncate(1);
    gpu.cards.push(CardUsage { index: 7, memory: Reading::Known(Bytes(0)), ..own.clone() });
    #[expect(clippy::cast_precision_loss, reason = "a small number")]
    let joules = energy.0 as f64 / 1000.0;
    let held = [load.max.0, load.mean.0, joules].map(|figure| format!("{figure:?}"));
    assert_eq!(gpu_columns(&measured), held);

    // That it held none is known: nothing was used.
    measured.usage.gpu.as_mut().unwrap().cards.remove(0);
    assert_eq!(gpu_columns(&measured), ["0.0"; 3]);

    // It is not known whether it held the card.
    let gpu = measured.usage.gpu.as_mut().unwrap();
    gpu.cards[0].memory = Reading::Unknown(Why::NoPermission);
    assert_eq!(gpu_columns(&measured), [""; 3]);

    // It held a card that does not say what it used.
    let gpu = measured.usage.gpu.as_mut().unwrap();
    gpu.cards[0] = CardUsage { energy: Reading::Unknown(Why::NotSupported), ..own };
    assert_eq!(gpu_columns(&measured)[2], "");
}

/// Every column finds its figure in the answer of a run of which all is known.
#[test]
fn no_column_looks_in_a_wrong_place() {
    let mut out = Vec::new();
    csv::write(&mut out, &tracked(&examples::training())).unwrap();
    let text = String::from_utf8(out).unwrap();
    let mut lines = text.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let (header, row) = (lines.next().unwrap(), lines.next().unwrap());
    let empty: Vec<_> = header
        .iter()
        .zip(row)
        .filter(|(_, value)| value.is_empty())
        .map(|(name, _)| *name)
        .collect();
    assert_eq!(empty, ["signal"]);
}

#[test]
fn two_cases_as_markdown() {
    let mut out = Vec::new();
    for measured in [examples::training(), examples::left_running()] {
        markdown::write(&mut out, &tracked(&measured), MemoryUnit::Gib).unwrap();
    }
    insta::assert_snapshot!(String::from_utf8(out).unwrap());
}

#[test]
fn figures_beyond_all_sense_are_survived() {
    let tracked = tracked(&examples::extreme());
    let shown = lines(&tracked, &view(80)).join("\n");
    assert!(!shown.contains('\x1b'), "{shown}");
    let mut out = Vec::new();
    csv::write(&mut out, &tracked).unwrap();
    markdown::write(&mut out, &tracked, MemoryUnit::Kib).unwrap();
    json::pretty(&mut out, &tracked).unwrap();
}

#[test]
fn a_live_line_leaves_out_what_does_not_fit() {
    let sample = examples::sample_with_gpu(249, 2_510_000_000, 120.0, 850_000_000, 4.0);
    let shown = |most| live::line("python train.py", &sample, MemoryUnit::Auto, most);
    let lines = [80, 62, 50, 24, 4].map(shown);
    let expected = [
        "python train…  4m09s  RAM 2.51 GB  CPU 120 %  GPU memory 850 MB  GPU 4 %",
        "4m09s  RAM 2.51 GB  CPU 120 %  GPU memory 850 MB  GPU 4 %",
        "4m09s  RAM 2.51 GB  CPU 120 %  GPU memory 850 MB",
        "4m09s  RAM 2.51 GB",
        "4m0…",
    ];
    assert_eq!(lines, expected);
}

/// Regression: between two lines the name came and went with the length of the figures.
#[test]
fn a_live_line_keeps_its_name() {
    for most in 0..100 {
        let shown = |second, ram, cpu| {
            let sample = examples::sample(second, ram, cpu);
            let line = live::line("python train.py", &sample, MemoryUnit::Auto, most);
            line.split_once("  ").unwrap_or_default().0.to_owned()
        };
        let name = |begin: String| begin.starts_with('p').then_some(begin);
        let first = name(shown(1, 1_000_000_000, 0.0));
        assert_eq!(first, name(shown(7_000, 12_340_000_000, 0.04)), "{most}");
        assert_eq!(first, name(shown(59, 1_230_000, 1_600.0)), "{most}");
    }
}

proptest! {
    #[test]
    fn no_line_is_wider_than_the_screen(most in 40_usize..200, which in 0_usize..13) {
        let mut all = examples::all();
        all.push(("extreme", examples::extreme()));
        let tracked = tracked(&all[which].1);
        for line in lines(&tracked, &view(most)) {
            prop_assert!(width(&line) <= most, "{} > {}: {}", width(&line), most, line);
        }
    }

    #[test]
    fn a_live_line_fits(most in 0_usize..120, name in "\\PC{0,40}", ram in any::<u64>(), cpu in any::<f64>()) {
        let sample = examples::sample_with_gpu(u64::MAX / 4, ram, cpu, ram, cpu);
        prop_assert!(width(&live::line(&name, &sample, MemoryUnit::Auto, most)) <= most);
    }
}
