//! Which cards there are, and which are meant.

use std::time::{Duration, Instant};

use probe::nvml::OpenError;
use probe::units::Bytes;
use probe::{Reading, Why};
use track::gpu::available::FOR_NAMED as WITHIN;
use track::gpu::{Available, available, choose};
use track::gpu_tracker::tracking_file::CountedCards;
use track::{Cards, Options};

use crate::machine::on;

#[test]
fn cards_are_told_with_what_they_can_be_chosen_by() {
    let cards = "[[card]]\nuuid = \"GPU-a\"\nname = \"One\"\nmemory = \"16GiB\"\n\
                 [[card]]\nuuid = \"GPU-b\"\nname = \"Two\"\nmemory = \"32GiB\"\n";
    on(cards, |_| {
        let there = available(&Options::default(), WITHIN).unwrap();
        let card = |index, uuid: &str, name: &str, gib: u64| Available {
            index,
            uuid: Reading::Known(uuid.to_owned()),
            name: Reading::Known(name.to_owned()),
            memory: Reading::Known(Bytes::from_mib(gib << 10)),
        };
        assert_eq!(there, [card(0, "GPU-a", "One", 16), card(1, "GPU-b", "Two", 32)]);
        assert_eq!(choose("1", &there), Ok(Cards::Only(vec!["GPU-b".to_owned()])));
        assert_eq!(
            choose("GPU-c", &there).unwrap_err().to_string(),
            "GPU UUID of GPU-c is not valid. Available UUIDs are: GPU-a, GPU-b"
        );
    });
}

#[test]
fn a_lost_card_has_a_place_only() {
    let cards = "[[card]]\n[[card]]\nuuid = \"GPU-b\"\n\
                 [[fault]]\ncall = \"nvmlDevice*\"\ncard = 0\ncode = \"GPU_IS_LOST\"\n";
    on(cards, |_| {
        let there = available(&Options::default(), WITHIN).unwrap();
        assert_eq!((there[0].index, there[0].uuid.why()), (0, Some(Why::Lost)));
        assert_eq!(there[1].uuid, Reading::Known("GPU-b".to_owned()));
    });
}

#[test]
fn without_a_driver_there_is_a_reason() {
    let options =
        Options { library: Some("/nowhere/libnvidia-ml.so.1".into()), ..Options::default() };
    let error = available(&options, WITHIN).unwrap_err();
    assert!(matches!(error, OpenError::LibraryNotFound { .. }), "{error:?}");
}

/// Regression: half a minute was waited before anything began.
#[test]
fn a_driver_that_hangs_is_not_waited_for_longer_than_said() {
    on("[[card]]\n[[fault]]\ncall = \"nvmlInit*\"\nhang = true\n", |_| {
        let begun = Instant::now();
        let error = available(&Options::default(), Duration::from_millis(50)).unwrap_err();
        assert!(matches!(error, OpenError::TimedOut { .. }), "{error:?}");
        assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
        let counted = CountedCards::new(Err(&error), &Cards::All);
        assert_eq!(counted.all, Reading::Unknown(Why::TimedOut));
    });
}
