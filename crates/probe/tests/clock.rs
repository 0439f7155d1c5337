//! Utilization and shares stay current when the driver's clock is set or stamps a sample in the
//! future.

use probe::card::Basis;
use probe::nvml::{Look, Prober};
use probe::units::Percent;
use probe::{CardLook, Reading, Why, clocks};

use crate::machine::{look_until, on, percent};

/// Returns a scenario with a process that uses this share of a card, and with the sections `more`.
fn busy(sm: u32, more: &str) -> String {
    format!(
        "{more}\n[samples]\nperiod = \"20ms\"\n[[card]]\n[[process]]\npid = 1\ncard = 0\n\
         memory = \"1GiB\"\nbegin = \"-1h\"\nsm = {sm}\n"
    )
}

fn offset(seconds: i64) -> String {
    format!("[time]\nstamp_offset = \"{seconds}s\"")
}

/// Returns a stray sample of the card or of its process.
fn stray(of_process: bool) -> String {
    let pid = if of_process { "pid = 1\n" } else { "" };
    format!("[[stray_sample]]\ncard = 0\n{pid}sm = 93\nahead = \"1h\"\n")
}

fn share(card: &CardLook) -> Reading<Percent> {
    card.vitals.holders.seen[0].sm
}

/// Returns true if the card's samples and the process's share show this work and no other.
fn shows(look: &Look, sm: f64) -> bool {
    let card = &look.cards[0];
    let is_sampled =
        card.vitals.utilization.is_known_and(|work| matches!(work.basis, Basis::Samples { .. }));
    is_sampled && percent(card) == Reading::Known(sm) && share(card) == Reading::Known(Percent(sm))
}

fn look_until_it_shows(prober: &mut Prober, sm: f64) {
    look_until(prober, &format!("{sm} %"), |look| shows(look, sm));
}

/// The work changes together with the driver's clock, and once more after it.
fn work_is_seen_after_a_step(seconds: i64) {
    on(&busy(0, ""), |machine| {
        let mut prober = machine.prober();
        look_until_it_shows(&mut prober, 0.0);
        machine.becomes(&busy(65, &offset(seconds)));
        look_until_it_shows(&mut prober, 65.0);
        machine.becomes(&busy(30, &offset(seconds)));
        look_until_it_shows(&mut prober, 30.0);
    });
}

#[test]
fn work_is_seen_after_the_driver_clock_is_set_back() {
    work_is_seen_after_a_step(-600);
}

#[test]
fn work_is_seen_after_the_driver_clock_is_set_ahead() {
    work_is_seen_after_a_step(600);
}

#[test]
fn drains_see_work_after_the_driver_clock_is_set_back() {
    on(&busy(0, ""), |machine| {
        let mut prober = machine.prober();
        look_until_it_shows(&mut prober, 0.0);
        prober.drain();
        machine.becomes(&busy(65, &offset(-600)));
        crate::machine::look_until_with(
            &mut prober,
            "65 %",
            |look| shows(look, 65.0),
            |prober| {
                prober.drain();
            },
        );
    });
}

/// `clock` is the scenario's section on time.
fn strays_are_dropped(clock: &str) {
    for of_process in [false, true] {
        // While the process does nothing, its only sample is the stray one.
        let idle_share = match of_process {
            true => Reading::Unknown(Why::Garbled),
            false => Reading::Known(Percent(0.0)),
        };
        on(&(busy(0, clock) + &stray(of_process)), |machine| {
            let mut prober = machine.prober();
            // More often than there are samples, so that a stray comes alone, too.
            for _ in 0..20 {
                let look = prober.look();
                assert_eq!(percent(&look.cards[0]), Reading::Known(0.0));
                assert_eq!(share(&look.cards[0]), idle_share);
            }
            machine.becomes(&(busy(65, clock) + &stray(of_process)));
            look_until_it_shows(&mut prober, 65.0);
        });
    }
}

#[test]
fn samples_stamped_an_hour_ahead_are_dropped() {
    strays_are_dropped("");
}

/// Returns the section on time of a driver that stamps samples with the time since boot.
fn boot_clock() -> String {
    let now = clocks::now();
    let since_boot = i64::try_from(now.since_boot.as_secs()).unwrap();
    offset(since_boot - now.wall.0 / 1000)
}

/// Trap: some drivers stamp samples with the time since boot.
#[test]
fn samples_stamped_an_hour_ahead_are_dropped_on_the_boot_clock() {
    strays_are_dropped(&boot_clock());
}

#[test]
fn shares_are_known_on_either_clock_where_the_card_keeps_no_samples() {
    let no_samples = "[[fault]]\ncall = \"nvmlDeviceGetSamples\"\ncode = \"NOT_SUPPORTED\"\n";
    for clock in [String::new(), boot_clock()] {
        on(&(busy(65, &clock) + no_samples), |machine| {
            let mut prober = machine.prober();
            for sm in [65, 30] {
                machine.becomes(&(busy(sm, &clock) + no_samples));
                look_until(&mut prober, &format!("{sm} %"), |look| {
                    share(&look.cards[0]) == Reading::Known(Percent(f64::from(sm)))
                });
            }
        });
    }
}
