//! What is reported is what a scenario did: days of it, recorded by the real pipeline, held
//! against the scenario itself.

/// What it did, and what is said of it.
mod account;
/// How it is recorded.
mod recorded;

use serde_json::Value;

use self::account::{account, truth};
use self::recorded::Recorded;

const HOUR: i64 = 3600;
const DAY: i64 = 24 * HOUR;

/// The ends of the ticks in seconds since the beginning, from some interval to some other.
fn ticks(parts: &[(i64, i64)]) -> Vec<i64> {
    let mut ticks = vec![0];
    for (until, interval) in parts {
        while *ticks.last().unwrap() < *until {
            ticks.push(ticks.last().unwrap() + interval);
        }
    }
    ticks
}

/// Within half a percent; of what never was, nothing.
fn assert_close(what: &str, said: f64, true_hours: f64) {
    let off = (said - true_hours).abs();
    assert!(off <= 0.005 * true_hours, "{what}: said {said} h, true are {true_hours} h");
}

fn assert_true(text: &str, parts: &[(i64, i64)]) {
    let scenario = scenario::parse::from_str("truth.toml", text).unwrap();
    let ticks = ticks(parts);
    let report = Recorded::new(&scenario, &ticks).report();
    let (said, truth) = (account(&report), truth(&scenario, &ticks));
    for (user, share) in &truth.shares {
        let said = said.shares.get(user).copied().unwrap_or(0.0);
        assert_close(&format!("{user}, share"), said, *share);
    }
    assert_eq!(said.cards.len(), truth.cards.len());
    for (card, (said, truth)) in said.cards.iter().zip(&truth.cards).enumerate() {
        for (state, (said, truth)) in said.iter().zip(truth).enumerate() {
            assert_close(&format!("card {card}, state {state}"), *said, *truth);
        }
    }
    assert!(said.people.keys().eq(truth.people.keys()), "{said:?} {truth:?}");
    for (user, (all, idle)) in &truth.people {
        assert_close(user, said.people[user].0, *all);
        assert_close(&format!("{user}, idle"), said.people[user].1, *idle);
    }
    // All together too, as the headline has it.
    for (place, state) in ["active", "idle_held", "truly_idle"].into_iter().enumerate() {
        let sum = truth.cards.iter().map(|hours| hours[place]).sum();
        assert_close(state, report["states"][state]["gpu_hours"].as_f64().unwrap(), sum);
    }
}

#[test]
fn steady_work() {
    let text = r#"
        [[card]]
        [[card]]
        [[card]]
        [[process]]
        pid = 1
        card = 0
        memory = "60GiB"
        sm = 80
        user = "alice"
        begin = "-1h"
        [[process]]
        pid = 2
        card = 1
        memory = "8GiB"
        sm = 3
        user = "bob"
        begin = "7h13m"
        end = "61h40m"
        [[process]]
        pid = 3
        card = 2
        memory = "90MiB"
        user = "carol"
    "#;
    assert_true(text, &[(3 * DAY, 30)]);
}

/// Bursts within a tick, over several ticks, and hours long.
#[test]
fn duty_cycles() {
    let text = r#"
        [[card]]
        utilization = { duty = 30, period = "20s", high = 95, low = 0 }
        [[card]]
        utilization = { duty = 50, period = "1h", high = 90, low = 1 }
        [[card]]
        utilization = { duty = 10, period = "30s", high = 90, low = 0 }
        [[card]]
        utilization = { duty = 12, period = "50s", high = 100, low = 0 }
        [[card]]
        utilization = { duty = 40, period = "17m", high = 60, low = 4, phase = "7s" }
        [[process]]
        pid = 1
        cards = [0, 1, 2, 3]
        memory = "20GiB"
        user = "alice"
        [[process]]
        pid = 2
        card = 4
        memory = "50MiB"
        user = "bob"
    "#;
    assert_true(text, &[(3 * DAY, 30)]);
}

/// A job that works, and those who sleep beside it.
#[test]
fn shared_cards() {
    let text = r#"
        [[card]]
        [[card]]
        [[process]]
        pid = 1
        cards = [0, 1]
        memory = "30GiB"
        sm = { points = [["0s", 70], ["9h10m", 2]], repeat = "24h" }
        user = "alice"
        begin = "3h"
        end = "80h"
        [[process]]
        pid = 2
        card = 0
        memory = "11GiB"
        user = "bob"
        begin = "10h20m"
        end = "70h5m"
        [[process]]
        pid = 3
        card = 0
        memory = "40MiB"
        user = "carol"
        begin = "20h"
        [[process]]
        pid = 4
        card = 0
        memory = "80MiB"
        user = "carol"
        begin = "40h"
        [[process]]
        pid = 5
        card = 1
        memory = "500MiB"
        gone = true
        begin = "30h"
        end = "90h"
    "#;
    assert_true(text, &[(4 * DAY, 30)]);
}

/// Several people on one card who come and go at odd times, with pids that are used again, and
/// memory that nobody is seen to hold.
#[test]
fn people_who_come_and_go() {
    let visits: String = (0..90)
        .zip(["alice", "bob", "carol", "dave"].into_iter().cycle())
        .map(|(visit, user)| {
            let (begin, length) = (visit * 3_571 % 340_000, 5_000 + visit * 907 % 30_000);
            let (card, gib) = (visit % 2, 1 + visit * 7 % 23);
            let sm = if visit % 5 == 0 { 40 } else { 0 };
            // Of the same pid there is never more than one at a time.
            let pid = 1000 + visit;
            format!(
                "[[process]]\npid = {pid}\ncard = {card}\nmemory = \"{gib}GiB\"\n\
                 user = \"{user}\"\nbegin = \"{begin}s\"\nend = \"{}s\"\n\
                 sm = {{ duty = 50, period = \"10m\", high = {sm}, low = 0 }}\n",
                begin + length
            )
        })
        .collect();
    // One after the other with the same number.
    let again: String = (0..30)
        .zip(["erin", "frank"].into_iter().cycle())
        .map(|(turn, user)| {
            let (begin, end) = (turn * 9_000 + 13, turn * 9_000 + 8_777);
            format!(
                "[[process]]\npid = 77\ncard = 0\nmemory = \"{}GiB\"\nuser = \"{user}\"\n\
                 begin = \"{begin}s\"\nend = \"{end}s\"\n",
                3 + turn % 5
            )
        })
        .collect();
    let cards = "[[card]]\n[[card]]\nunattributed = \"3GiB\"\n";
    assert_true(&format!("{cards}{visits}{again}"), &[(4 * DAY, 30)]);
}

/// Two people who take turns, with pauses between.
#[test]
fn alternating_jobs() {
    let turns: String = (0..32)
        .map(|turn| {
            let user = ["alice", "bob"][turn % 2];
            let (begin, pid) = (turn * 180 + 7, 100 + turn);
            format!(
                "[[process]]\npid = {pid}\ncard = 0\nmemory = \"9GiB\"\nuser = \"{user}\"\n\
                 begin = \"{begin}m\"\nend = \"{}m\"\n\
                 sm = {{ from = 90, to = 0, begin = \"{begin}m\", end = \"{}m\" }}\n",
                begin + 140,
                begin + 100
            )
        })
        .collect();
    assert_true(&format!("[[card]]\n{turns}"), &[(4 * DAY, 30)]);
}

/// A recorder that looked more or less often: a minute is a minute in either.
#[test]
fn mixed_intervals() {
    let text = r#"
        [[card]]
        [[card]]
        utilization = { duty = 25, period = "40m", high = 88, low = 0 }
        [[process]]
        pid = 1
        card = 0
        memory = "60GiB"
        sm = { points = [["0s", 75], ["5h", 1]], repeat = "11h" }
        user = "alice"
        begin = "2h"
        end = "66h"
        [[process]]
        pid = 2
        card = 1
        memory = "3GiB"
        user = "bob"
    "#;
    assert_true(text, &[(DAY, 10), (2 * DAY, 30), (3 * DAY, 60), (3 * DAY + 12 * HOUR, 5)]);
}

/// What could not be read is unknown, and what nobody looked at is no part of it.
#[test]
fn lost_cards_and_a_driver_that_is_away() {
    let text = r#"
        [[card]]
        [[card]]
        [[process]]
        pid = 1
        cards = [0, 1]
        memory = "60GiB"
        sm = 80
        user = "alice"
        [[fault]]
        call = "nvmlDeviceGet*"
        card = 1
        code = "GPU_IS_LOST"
        from = "10h"
        to = "15h"
        [[fault]]
        call = "nvml*"
        code = "LIB_RM_VERSION_MISMATCH"
        from = "30h"
        to = "32h"
        [[fault]]
        call = "nvmlDeviceGet*Processes*"
        card = 0
        code = "NO_PERMISSION"
        from = "40h"
        to = "44h"
    "#;
    let scenario = scenario::parse::from_str("truth.toml", text).unwrap();
    let report = Recorded::new(&scenario, &ticks(&[(2 * DAY, 30)])).report();
    let hours = |card: usize, state: &str| {
        report["cards"][card]["states"][state]["gpu_hours"].as_f64().unwrap()
    };
    assert_close("observed", report["window"]["observed_seconds"].as_f64().unwrap() / 3600.0, 46.0);
    // Who works behind a list that may not be read, works all the same.
    assert_close("card 0 active", hours(0, "active"), 46.0);
    assert_close("card 1 active", hours(1, "active"), 41.0);
    assert_close("card 1 unknown", hours(1, "unknown"), 5.0);
    assert_close("alice", report["identities"][0]["gpu_hours"].as_f64().unwrap(), 42.0 + 41.0);
    let gaps = report["gaps"].as_array().unwrap();
    assert_eq!((gaps.len(), &gaps[0]["reason"]), (1, &Value::from("driver_gone")));
}
