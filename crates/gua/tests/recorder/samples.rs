//! What the driver sampled between two ticks is not lost, however short its buffer.

use super::Recorder;
use crate::machine::Machine;

/// A load in bursts, in step with the ticks. The driver keeps half a second of samples, so a
/// look alone sees the end of each second: nothing but high or nothing but low.
const BURSTS: &str = r#"
[samples]
period = "50ms"
capacity = 10

[[card]]
utilization = { duty = 40, period = "1s", high = 90, low = 10 }
"#;

#[test]
fn a_buffer_shorter_than_the_interval_is_drained_in_between() {
    let machine = Machine::new(BURSTS);
    let mut recorder = Recorder::with(&machine, &["--interval", "1s"], |_| ());
    recorder.has_ticked(6);
    // The first tick speaks for no time.
    let ticks = "FROM sample WHERE tick > 1 AND basis = 0";
    assert!(recorder.number(&format!("SELECT count(*) {ticks}")) >= 5);
    let mean = recorder.number(&format!("SELECT CAST(avg(utilization) AS INTEGER) {ticks}"));
    // 40 % of the time at 90 %, the rest at 10 %.
    assert!((3_400..5_000).contains(&mean), "{mean}");
    recorder.end();
}
