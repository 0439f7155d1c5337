//! Machines that something is wrong with: two cards, one of them held by a sleeping notebook.

/// A name, and what is added to [`TWO_CARDS`].
pub const FAULTS: [(&str, &str); 15] = [
    ("nothing", ""),
    ("a lost card", "[[fault]]\ncall = \"nvmlDeviceGet*\"\ncard = 1\ncode = \"GPU_IS_LOST\"\n"),
    (
        "a card to reset",
        "[[fault]]\ncall = \"nvmlDeviceGet*\"\ncard = 1\ncode = \"RESET_REQUIRED\"\n",
    ),
    ("a hung card", "[[fault]]\ncall = \"nvmlDeviceGetSamples\"\ncard = 1\nhang = true\n"),
    ("a slow driver", "[[fault]]\ncall = \"nvmlDeviceGet*\"\nlatency = \"20ms\"\n"),
    (
        "hidden holders",
        "[[fault]]\ncall = \"nvmlDeviceGet*RunningProcesses*\"\ncode = \"NO_PERMISSION\"\n",
    ),
    ("hidden memory", "[[fault]]\ncall = \"nvmlDeviceGetMemoryInfo*\"\ncode = \"NO_PERMISSION\"\n"),
    ("no samples", "[[fault]]\ncall = \"nvmlDeviceGetSamples\"\ncode = \"NOT_SUPPORTED\"\n"),
    (
        "no utilization",
        "[[fault]]\ncall = \"nvmlDeviceGet*Utiliz*\"\ncode = \"UNKNOWN\"\n\
         [[fault]]\ncall = \"nvmlDeviceGetSamples\"\ncode = \"UNKNOWN\"\n",
    ),
    ("no UUID", "[[fault]]\ncall = \"nvmlDeviceGetUUID\"\ncard = 1\ncode = \"UNKNOWN\"\n"),
    ("no names", "[[fault]]\ncall = \"nvmlDeviceGetName\"\ncode = \"UNKNOWN\"\n"),
    ("growing lists", "[[fault]]\ncall = \"nvmlDeviceGet*RunningProcesses*\"\ngrow = 3\n"),
    ("unknown errors", "[[fault]]\ncall = \"nvmlDeviceGet*\"\ncard = 0\ncode = \"UNKNOWN\"\n"),
    (
        "a driver that went away",
        "[[fault]]\ncall = \"nvmlDeviceGet*\"\ncode = \"DRIVER_NOT_LOADED\"\n",
    ),
    ("a stray sample", "[[stray_sample]]\ncard = 0\npid = 999\nsm = 4000000\nage = \"1h\"\n"),
];

pub const TWO_CARDS: &str = r#"
[host]
name = "two"

[[card]]
uuid = "GPU-00000000"
utilization = 0

[[card]]
uuid = "GPU-00000001"
utilization = 0

[[process]]
pid = 200
card = 0
user = "bob"
program = "jupyter-lab"
memory = "8000MiB"
begin = "-3d2h"
"#;
