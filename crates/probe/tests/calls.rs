//! What one look costs: fixed facts are read once, and nothing is asked twice.

use crate::machine::on;

const FOUR: &str = r#"
[[card]]
utilization = 50
fan = 30
[[card]]
utilization = 50
[[card]]
utilization = 50
[[card]]
utilization = 50
[[process]]
pid = 5
cards = [0, 1, 2, 3]
memory = "1GiB"
sm = 50
"#;

#[test]
fn fixed_facts_are_read_once_and_the_rest_once_a_look() {
    on(FOUR, |machine| {
        let looks = 10;
        let mut prober = machine.prober();
        for _ in 0..looks {
            assert_eq!(prober.look().cards.len(), 4);
        }
        drop(prober);
        let calls = machine.calls();
        let count = |name: &str| machine.calls_of(name);
        for once in ["nvmlDeviceGetUUID", "nvmlDeviceGetName", "nvmlDeviceGetPciInfo_v3"] {
            assert_eq!(count(once), 4, "{once}\n{calls}");
        }
        for each in [
            "nvmlDeviceGetMemoryInfo_v2",
            "nvmlDeviceGetPowerUsage",
            "nvmlDeviceGetTemperature",
            "nvmlDeviceGetComputeRunningProcesses_v3",
            "nvmlDeviceGetGraphicsRunningProcesses_v3",
        ] {
            assert_eq!(count(each), 4 * looks, "{each}\n{calls}");
        }
        // Shares of the work are asked for only when the driver has sampled anew.
        let shares = count("nvmlDeviceGetProcessUtilization");
        assert!((4..=4 * looks).contains(&shares), "{calls}");
        // A card that has said it has no fan is not asked for one again.
        assert_eq!(count("nvmlDeviceGetFanSpeed_v2"), looks + 3, "{calls}");
        // One call for the size of the buffer, then one a look.
        assert_eq!(count("nvmlDeviceGetSamples"), 4 + 4 * looks, "{calls}");
    });
}
