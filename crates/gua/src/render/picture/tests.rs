//! Pictures of made-up runs.

use proptest::prelude::*;

use super::*;
use crate::report::tracked::{Measured, Points, examples, tracked};
use track::Sample;

fn drawn(measured: &Measured, samples: &[Sample]) -> (String, String) {
    let mut points = Points::default();
    samples.iter().for_each(|sample| points.push(sample));
    let (tracked, points) = (tracked(measured), points.finish());
    let picture = Picture { tracked: &tracked, points: &points, unit: MemoryUnit::Auto };
    let (mut image, mut page) = (Vec::new(), Vec::new());
    svg(&mut image, &picture).unwrap();
    html::write(&mut page, &picture).unwrap();
    (String::from_utf8(image).unwrap(), String::from_utf8(page).unwrap())
}

/// Loading, training in epochs, evaluating: what a person wants to see at a glance.
fn phases(seconds: u64) -> Vec<Sample> {
    let mut noise = 7_u64;
    let mut some = |most: f64| {
        noise =
            noise.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (noise >> 40) as f64 / (1_u64 << 24) as f64 * most
    };
    let sample = |second| {
        let part = second as f64 / seconds as f64;
        let (ram, cpu, memory, gpu) = match part {
            p if p < 0.14 => (0.3 + 11.0 * p, 90.0 + some(30.0), 0.0, 0.0),
            p if p < 0.8 => {
                let is_between = (p * 40.0).fract() < 0.12;
                let work = if is_between { 6.0 } else { 84.0 };
                (2.1 + some(0.08), 210.0 + some(160.0), 6.9, work + some(12.0))
            }
            p if p < 0.93 => (2.3 + some(0.05), 60.0 + some(40.0), 7.4, 35.0 + some(30.0)),
            _ => (1.1, 12.0 + some(10.0), 0.5, 0.0),
        };
        examples::sample_with_gpu(second, gb(ram), cpu, gb(memory), gpu)
    };
    (1..=seconds).map(sample).collect()
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "small figures")]
fn gb(amount: f64) -> u64 {
    (amount * 1e9) as u64
}

fn few() -> Vec<Sample> {
    let values = [(0.2, 40.0), (0.9, 96.0), (1.6, 101.0), (2.4, 340.0), (2.4, 512.0), (0.8, 22.0)];
    let all = values.iter().enumerate();
    all.map(|(second, (ram, cpu))| examples::sample(second as u64 + 1, gb(*ram), *cpu)).collect()
}

/// Whether a picture is good, only a person sees: `PICTURES=folder` keeps them.
#[test]
fn every_element_is_closed() {
    let with_unknown: Vec<_> = phases(600)
        .into_iter()
        .enumerate()
        .map(|(second, sample)| match second {
            250..420 => Sample { gpu: probe::Reading::Unknown(probe::Why::DriverGone), ..sample },
            _ => sample,
        })
        .collect();
    let long = |seconds: u64| {
        let mut measured = examples::shared();
        measured.usage.wall = std::time::Duration::from_secs(seconds);
        measured
    };
    let mut short = examples::without_gpu();
    short.usage.wall = std::time::Duration::from_millis(6_200);
    let all = [
        ("long", drawn(&long(5_382), &phases(5_382))),
        ("unknown", drawn(&long(600), &with_unknown)),
        ("few", drawn(&short, &few())),
        ("one", drawn(&examples::short(), &[])),
        ("oom", drawn(&examples::out_of_memory(), &phases(5_382))),
        ("training", drawn(&examples::training(), &phases(5_382))),
    ];
    for (name, (image, page)) in all {
        assert_eq!(left_open(&image), Vec::<&str>::new(), "{name}");
        if let Some(folder) = std::env::var_os("PICTURES") {
            let path = std::path::Path::new(&folder).join(name);
            std::fs::write(path.with_extension("svg"), image).unwrap();
            std::fs::write(path.with_extension("html"), page).unwrap();
        }
    }
}

/// The elements that are opened and not closed, or closed in the wrong place.
fn left_open(image: &str) -> Vec<&str> {
    let mut open = Vec::new();
    for tag in image.split('<').skip(1).filter(|tag| !tag.starts_with(['?', '!'])) {
        let name = tag.split(|c: char| c.is_whitespace() || c == '>').next().unwrap();
        let is_single = tag.split('>').next().is_some_and(|inside| inside.ends_with('/'));
        match name.strip_prefix('/') {
            Some(closed) if open.last() == Some(&closed) => drop(open.pop()),
            Some(_) => open.push(name),
            None if is_single => {}
            None => open.push(name),
        }
    }
    open
}

/// A few seconds, so that a person can read the whole of it.
#[test]
fn a_short_run_as_a_picture_and_as_a_page() {
    let mut measured = examples::without_gpu();
    measured.usage.wall = std::time::Duration::from_millis(6_200);
    let (image, page) = drawn(&measured, &few());
    insta::assert_snapshot!("svg", image);
    insta::assert_snapshot!("html", page);
}

#[test]
fn what_is_unknown_is_left_blank_and_says_why() {
    let samples: Vec<_> = phases(60)
        .into_iter()
        .enumerate()
        .map(|(second, sample)| match second {
            20..40 => Sample { gpu: probe::Reading::Unknown(probe::Why::DriverGone), ..sample },
            _ => sample,
        })
        .collect();
    let mut measured = examples::training();
    measured.usage.wall = std::time::Duration::from_secs(60);
    let (image, _) = drawn(&measured, &samples);
    assert_eq!(image.matches("<rect class=\"unknown\"").count(), 2, "GPU and GPU memory");
    assert!(image.contains(">unknown: the driver went away</text>"));
}

#[test]
fn a_week_makes_no_larger_picture_than_an_hour() {
    let of = |seconds| {
        let mut measured = examples::training();
        measured.usage.wall = std::time::Duration::from_secs(seconds);
        drawn(&measured, &phases(seconds)).0.len()
    };
    assert!(of(604_800 / 10) < 120_000 && of(3_600) < 120_000);
}

#[test]
fn no_name_gets_out_of_its_place() {
    let (image, page) = drawn(&examples::extreme(), &few());
    for text in [image, page] {
        assert!(!text.contains("<script") && !text.contains("<b>") && !text.contains('\x1b'));
        assert!(!text.contains("NaN") && !text.contains("inf"), "{text}");
    }
}

proptest! {
    /// Whatever was measured, all that is drawn lies on the sheet.
    #[test]
    fn everything_is_on_the_sheet(
        values in proptest::collection::vec((any::<u64>(), any::<f64>(), any::<u64>(), any::<f64>()), 0..40),
    ) {
        let samples: Vec<_> = values
            .iter()
            .enumerate()
            .map(|(second, (ram, cpu, memory, gpu))| {
                examples::sample_with_gpu(second as u64 * 7, *ram, *cpu, *memory, *gpu)
            })
            .collect();
        let (image, _) = drawn(&examples::training(), &samples);
        prop_assert!(!image.contains("NaN") && !image.contains("inf"));
        for number in numbers_of_paths(&image) {
            prop_assert!((0.0..=960.0).contains(&number), "{}", number);
        }
    }
}

fn numbers_of_paths(image: &str) -> Vec<f64> {
    let paths = image.split(" d=\"").skip(1).filter_map(|rest| rest.split('"').next());
    let words =
        paths.flat_map(|path| path.split(|c: char| !c.is_ascii_digit() && c != '.' && c != '-'));
    words.filter(|word| !word.is_empty()).map(|word| word.parse().unwrap()).collect()
}
