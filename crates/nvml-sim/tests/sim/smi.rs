//! `nvidia-smi`, as programs call it and parse it.

use std::process::Command;

use crate::stage::{FROZEN, install_into, text};

/// Runs `nvidia-smi` on a scenario: its exit status, then what it printed.
fn smi(scenario: &str, arguments: &[&str]) -> String {
    let dir = tempfile::tempdir().unwrap();
    let installed = install_into(dir.path(), scenario);
    let output =
        Command::new("nvidia-smi").args(arguments).envs(installed.envs()).output().unwrap();
    assert_eq!(text(&output.stderr), "");
    format!("{}\n{}", output.status.code().unwrap(), text(&output.stdout))
}

fn machine() -> String {
    format!(
        "{FROZEN}
        [[card]]
        uuid = \"GPU-0\"
        memory = \"80GiB\"
        reserved = \"600MiB\"
        utilization = 40
        [[card]]
        uuid = \"GPU-1\"
        name = \"NVIDIA H100 80GB HBM3\"
        compute_capability = \"9.0\"
        [[card.mig]]
        slot = 3
        uuid = \"MIG-1\"
        profile = \"1g.10gb\"
        memory = \"10GiB\"
        [[card]]
        uuid = \"GPU-2\"
        name = \"NVIDIA GB10\"
        unified_memory = true
        compute_capability = \"12.1\"
        fan = 30
        [[process]]
        pid = 77
        card = 0
        memory = \"1GiB\"
        command = [\"/usr/bin/python3\", \"train.py\"]
        [[process]]
        pid = 78
        card = 0
        memory = \"unknown\"
        gone = true
        [[process]]
        pid = 79
        card = 1
        slot = 3
        memory = \"2GiB\"
        "
    )
}

#[test]
fn the_list_of_cards() {
    insta::assert_snapshot!(smi(&machine(), &["-L"]), @r"
    0
    GPU 0: NVIDIA A100-SXM4-80GB (UUID: GPU-0)
    GPU 1: NVIDIA H100 80GB HBM3 (UUID: GPU-1)
      MIG 1g.10gb     Device  3: (UUID: MIG-1)
    GPU 2: NVIDIA GB10 (UUID: GPU-2)
    ");
}

#[test]
fn the_query_of_cards_with_header_and_units() {
    let fields = "--query-gpu=timestamp,index,gpu_name,gpu_uuid,gpu_bus_id,count,driver_version,pstate,\
                  temperature.gpu,utilization.gpu,utilization.memory";
    insta::assert_snapshot!(smi(&machine(), &[fields, "--format=csv"]), @r"
    0
    timestamp, index, name, uuid, pci.bus_id, count, driver_version, pstate, temperature.gpu, utilization.gpu [%], utilization.memory [%]
    2027/01/15 08:00:00.000, 0, NVIDIA A100-SXM4-80GB, GPU-0, 00000000:10:00.0, 3, 560.35.05, P0, 47, 40 %, 0 %
    2027/01/15 08:00:00.000, 1, NVIDIA H100 80GB HBM3, GPU-1, 00000000:11:00.0, 3, 560.35.05, P0, 34, [N/A], [N/A]
    2027/01/15 08:00:00.000, 2, NVIDIA GB10, GPU-2, 00000000:12:00.0, 3, 560.35.05, P8, 34, 0 %, 0 %
    ");
    let fields = "--query-gpu=memory.total,memory.reserved,memory.used,memory.free,power.draw,\
                  power.limit,clocks.sm,clocks.mem,fan.speed,compute_mode,persistence_mode,mig.mode.current";
    insta::assert_snapshot!(smi(&machine(), &[fields, "--format=csv"]), @r"
    0
    memory.total [MiB], memory.reserved [MiB], memory.used [MiB], memory.free [MiB], power.draw [W], power.limit [W], clocks.current.sm [MHz], clocks.current.memory [MHz], fan.speed [%], compute_mode, persistence_mode, mig.mode.current
    81920 MiB, 600 MiB, 1024 MiB, 80296 MiB, 194.80 W, 400.00 W, 690 MHz, 1593 MHz, [N/A], Default, Enabled, Disabled
    81920 MiB, 640 MiB, 2048 MiB, 79232 MiB, 58.00 W, 400.00 W, 210 MHz, 1593 MHz, [N/A], Default, Enabled, Enabled
    [N/A], [N/A], [N/A], [N/A], 58.00 W, 400.00 W, 210 MHz, 1593 MHz, 30 %, Default, Enabled, [N/A]
    ");
}

#[test]
fn the_query_as_gputil_asks_it() {
    let fields = "--query-gpu=index,uuid,utilization.gpu,memory.total,memory.used,memory.free,\
                  driver_version,name,gpu_serial,display_active,display_mode,temperature.gpu";
    let answer = smi(&machine(), &[fields, "--format=csv,noheader,nounits"]);
    insta::assert_snapshot!(answer, @r"
    0
    0, GPU-0, 40, 81920, 1024, 80296, 560.35.05, NVIDIA A100-SXM4-80GB, 1320021000000, Disabled, Disabled, 47
    1, GPU-1, [N/A], 81920, 2048, 79232, 560.35.05, NVIDIA H100 80GB HBM3, 1320021000001, Disabled, Disabled, 34
    2, GPU-2, 0, [N/A], [N/A], [N/A], 560.35.05, NVIDIA GB10, 1320021000002, Disabled, Disabled, 34
    ");
}

#[test]
fn the_query_of_processes() {
    let fields = "--query-compute-apps=gpu_uuid,gpu_name,pid,process_name,used_memory";
    insta::assert_snapshot!(smi(&machine(), &[fields, "--format=csv"]), @r"
    0
    gpu_uuid, gpu_name, pid, process_name, used_gpu_memory [MiB]
    GPU-0, NVIDIA A100-SXM4-80GB, 77, /usr/bin/python3, 1024 MiB
    GPU-0, NVIDIA A100-SXM4-80GB, 78, [Not Found], [N/A]
    GPU-1, NVIDIA H100 80GB HBM3, 79, python, [N/A]
    ");
}

#[test]
fn the_table_for_people() {
    insta::assert_snapshot!(smi(&machine(), &[]), @r"
    0
    Fri Jan 15 08:00:00 2027
    +-----------------------------------------------------------------------------------------+
    | NVIDIA-SMI 560.35.05              Driver Version: 560.35.05      CUDA Version: 12.6     |
    +-----------------------------------------------------------------------------------------+
    | GPU  Name                       Bus-Id            Temp Perf Power     Memory (MiB) Util |
    |   0  NVIDIA A100-SXM4-80GB      00000000:10:00.0   47C   P0  194W    1024 /  81920  40% |
    |   1  NVIDIA H100 80GB HBM3      00000000:11:00.0   34C   P0   58W    2048 /  81920  N/A |
    |   2  NVIDIA GB10                00000000:12:00.0   34C   P8   58W     N/A /    N/A   0% |
    +-----------------------------------------------------------------------------------------+
    | Processes:                                                                              |
    | GPU         PID  Type  Process name                                        Memory (MiB) |
    |   0          77     C  /usr/bin/python3                                            1024 |
    |   0          78     C  [Not Found]                                                  N/A |
    |   1          79     C  python                                                       N/A |
    +-----------------------------------------------------------------------------------------+
    ");
}

#[test]
fn some_of_the_cards() {
    let ask = |id: &str| smi(&machine(), &["-i", id, "--query-gpu=index", "--format=csv,noheader"]);
    assert_eq!(ask("1"), "0\n1\n");
    assert_eq!(ask("GPU-2"), "0\n2\n");
    assert_eq!(ask("2,0"), "0\n0\n2\n");
    assert_eq!(ask("00000000:11:00.0"), "0\n1\n");
    assert_eq!(ask("9"), "6\nNo devices were found\n");
}

#[test]
fn what_it_says_when_it_cannot() {
    let query = |scenario: &str, field: &str| {
        smi(scenario, &[&format!("--query-gpu={field}"), "--format=csv,noheader"])
    };
    insta::assert_snapshot!(query("[[card]]", "index,bogus"), @r#"
    2
    Field "bogus" is not a valid field to query.
    "#);
    insta::assert_snapshot!(smi("[[card]]", &["--query-gpu=index"]), @r#"
    2
    "--format=" switch is missing, or it lacks "csv".

    Please run 'nvidia-smi -h' for help.
    "#);
    insta::assert_snapshot!(query("", "index"), @r"
    6
    No devices were found
    ");
    let fault = |call: &str, code: &str| {
        format!("[[card]]\n[[card]]\n[[fault]]\ncall = \"{call}\"\ncode = \"{code}\"\n")
    };
    insta::assert_snapshot!(query(&fault("nvmlInit*", "DRIVER_NOT_LOADED"), "index"), @r"
    9
    NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that the latest NVIDIA driver is installed and running.
    ");
    insta::assert_snapshot!(query(&fault("nvmlInit*", "LIB_RM_VERSION_MISMATCH"), "index"), @r"
    18
    Failed to initialize NVML: Driver/library version mismatch
    ");
    let one_lost = fault("nvmlDeviceGet*", "GPU_IS_LOST") + "card = 1\n";
    insta::assert_snapshot!(query(&one_lost, "index"), @r"
    15
    Unable to determine the device handle for GPU1: 00000000:11:00.0: GPU is lost.  Reboot the system to recover this GPU
    ");
    insta::assert_snapshot!(query(&fault("nvmlDeviceGetTemperature", "GPU_IS_LOST"), "temperature.gpu"), @r"
    15
    Unable to determine the device handle for GPU0: 00000000:10:00.0: GPU is lost.  Reboot the system to recover this GPU
    ");
    insta::assert_snapshot!(query(&fault("nvmlDeviceGetPowerUsage", "UNKNOWN"), "index,power.draw"), @r"
    0
    0, [Unknown Error]
    1, [Unknown Error]
    ");
}
