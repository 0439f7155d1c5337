//! The labels that our series have: others must not take their names.

/// All of them; a test holds the series against it.
pub const OUR_LABELS: [&str; 14] = [
    "UUID",
    "container",
    "driver_version",
    "gpu",
    "hostname",
    "kind",
    "le",
    "model_name",
    "notebook",
    "reason",
    "slurm_job",
    "state",
    "user",
    "version",
];
