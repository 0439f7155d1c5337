//! What to ask for next time: what was used, with head room.

use serde::Serialize;

use super::answer::Load;
use super::gpu::Gpu;
use crate::report::unknowns::{Reason, Unknowns};

/// How much more than was used is asked for.
pub const HEAD_ROOM_PERCENT: u64 = 20;

/// A run that is shorter tells little of the next.
const SHORTEST_SECONDS: f64 = 1.0;

const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;
/// Below a gibibyte, memory is asked for in steps of this.
const SMALL_STEP: u64 = 64 * MIB;
/// Cards are sold in these.
const GB: u64 = 1_000_000_000;

/// How far above whole cores the busiest moment may be without counting as another: samples
/// are not exact.
const SLACK_CORES: f64 = 0.1;

/// What to ask for next time. A figure that is null has its reason in `unknown`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Suggestion {
    pub head_room_percent: u64,
    pub ram_bytes: Option<u64>,
    pub cores: Option<u32>,
    /// 0 where no card was held.
    pub gpus: Option<u32>,
    /// Of each card; null also where none is needed.
    pub gpu_memory_bytes: Option<u64>,
    pub seconds: Option<u64>,
    /// The same as options of `sbatch`.
    pub slurm: Vec<String>,
    pub unknown: Unknowns,
}

/// What it is made from.
#[derive(Debug, Clone, Copy)]
pub(super) struct Used<'a> {
    pub seconds: f64,
    pub ram_bytes: u64,
    pub cpu: Load,
    pub gpu: Result<&'a Gpu, Reason>,
    /// Whether it was seen from its begin to an end of its own.
    pub is_whole: bool,
}

impl Suggestion {
    pub(super) fn new(used: &Used<'_>) -> Self {
        let mut unknown = Unknowns::default();
        if used.seconds < SHORTEST_SECONDS {
            return Self::none(unknown);
        }
        if used.ram_bytes == 0 {
            unknown.note("ram_bytes", Reason::NotInTime);
        }
        if !used.is_whole {
            unknown.note("seconds", Reason::OnlyAPart);
        }
        let (gpus, gpu_memory_bytes) = cards(used.gpu, &mut unknown);
        let suggestion = Self {
            head_room_percent: HEAD_ROOM_PERCENT,
            ram_bytes: (used.ram_bytes > 0).then(|| ram(used.ram_bytes)),
            cores: Some(cores(used.cpu)),
            gpus,
            gpu_memory_bytes,
            seconds: used.is_whole.then(|| time(used.seconds)),
            slurm: Vec::new(),
            unknown,
        };
        Self { slurm: suggestion.options(), ..suggestion }
    }

    fn none(mut unknown: Unknowns) -> Self {
        for field in ["ram_bytes", "cores", "gpus", "gpu_memory_bytes", "seconds"] {
            unknown.note(field, Reason::TooShort);
        }
        Self {
            head_room_percent: HEAD_ROOM_PERCENT,
            ram_bytes: None,
            cores: None,
            gpus: None,
            gpu_memory_bytes: None,
            seconds: None,
            slurm: Vec::new(),
            unknown,
        }
    }

    fn options(&self) -> Vec<String> {
        let options = [self.mem(), self.cpus_per_task(), self.gpu_count(), self.time()];
        options.into_iter().flatten().collect()
    }

    /// `--mem=4G`; Slurm's G is a gibibyte.
    #[must_use]
    pub fn mem(&self) -> Option<String> {
        let bytes = self.ram_bytes?;
        Some(match bytes.is_multiple_of(GIB) {
            true => format!("--mem={}G", bytes / GIB),
            false => format!("--mem={}M", bytes.div_ceil(MIB)),
        })
    }

    #[must_use]
    pub fn cpus_per_task(&self) -> Option<String> {
        Some(format!("--cpus-per-task={}", self.cores?))
    }

    /// Nothing where no card is needed: that is how it is asked for.
    #[must_use]
    pub fn gpu_count(&self) -> Option<String> {
        let gpus = self.gpus.filter(|gpus| *gpus > 0)?;
        Some(format!("--gpus={gpus}"))
    }

    /// `--time=1:48:00`, and with days `--time=2-01:30:00`.
    #[must_use]
    pub fn time(&self) -> Option<String> {
        let minutes = self.seconds? / 60;
        let (days, hours, minutes) = (minutes / 1440, minutes / 60 % 24, minutes % 60);
        Some(match days {
            0 => format!("--time={hours}:{minutes:02}:00"),
            days => format!("--time={days}-{hours:02}:{minutes:02}:00"),
        })
    }
}

fn with_head_room(amount: u64) -> u64 {
    let more = u128::from(amount) * u128::from(100 + HEAD_ROOM_PERCENT);
    u64::try_from(more.div_ceil(100)).unwrap_or(u64::MAX)
}

/// Rounded up to 64 MiB below a gibibyte, else to the next of 1, 2, 4, 6, 8, 12, 16, 24, 32 …
/// GiB: figures that people ask for, and that nodes are divided by.
fn ram(peak: u64) -> u64 {
    let need = with_head_room(peak);
    if need <= GIB - SMALL_STEP {
        return need.div_ceil(SMALL_STEP).max(1) * SMALL_STEP;
    }
    let powers = (0..34).map(|power| GIB << power);
    let mut steps = powers.flat_map(|step| {
        let between = (step >= 4 * GIB).then(|| step + step / 2);
        std::iter::once(step).chain(between)
    });
    steps.find(|step| *step >= need).unwrap_or(u64::MAX)
}

/// The cores that were busy on the average; no more than were ever busy at once.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
fn cores(load: Load) -> u32 {
    let head_room = 1.0 + HEAD_ROOM_PERCENT as f64 / 100.0;
    let wanted = (load.mean / 100.0 * head_room).ceil();
    let ever = (load.max / 100.0 - SLACK_CORES).ceil();
    (wanted.min(ever) as u32).max(1)
}

/// How many cards were held, and what each of them needs.
fn cards(gpu: Result<&Gpu, Reason>, unknown: &mut Unknowns) -> (Option<u32>, Option<u64>) {
    let gpu = match gpu {
        Ok(gpu) => gpu,
        Err(reason) => {
            unknown.note("gpus", reason);
            unknown.note("gpu_memory_bytes", reason);
            return (None, None);
        }
    };
    let memory = gpu.fullest().and_then(|card| card.memory_peak_bytes);
    let memory = memory.map(|peak| with_head_room(peak).div_ceil(GB).saturating_mul(GB));
    if let Some(reason) = gpu.doubt() {
        unknown.note("gpus", reason);
        unknown.note("gpu_memory_bytes", reason);
        return (None, None);
    }
    (Some(u32::try_from(gpu.held().count()).unwrap_or(u32::MAX)), memory)
}

/// Up to the minute, as schedulers count.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
fn time(seconds: f64) -> u64 {
    with_head_room(seconds.ceil() as u64).div_ceil(60).saturating_mul(60)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn memory_is_rounded_to_what_people_ask_for() {
        let gib = |peak: u64| ram(peak * GIB / 10) / GIB;
        assert_eq!(ram(2_510_000_000), 4 * GIB);
        let tenths = [8, 10, 17, 40, 60, 130, 200, 1_000];
        assert_eq!(tenths.map(gib), [1, 2, 4, 6, 8, 16, 24, 128]);
        let mib = |peak: u64| ram(peak * MIB) / MIB;
        assert_eq!([1, 50, 60, 400].map(mib), [64, 64, 128, 512]);
    }

    #[test]
    fn cores_are_those_that_worked_on_the_average() {
        let of = |mean, max| cores(Load { max, mean });
        assert_eq!(of(120.0, 512.0), 2);
        assert_eq!(of(99.0, 101.0), 1, "a single thread never needs a second core");
        assert_eq!(of(1590.0, 1600.0), 16, "all cores were busy: no more than there were");
        assert_eq!(of(0.0, 0.0), 1);
        assert_eq!(of(350.0, 800.0), 5);
    }

    #[test]
    fn times_are_written_as_slurm_reads_them() {
        let text = |seconds| {
            let used = Used {
                seconds,
                ram_bytes: 1,
                cpu: Load { max: 0.0, mean: 0.0 },
                gpu: Err(Reason::NoDriver),
                is_whole: true,
            };
            Suggestion::new(&used).time()
        };
        assert_eq!(text(5_382.0).as_deref(), Some("--time=1:48:00"));
        assert_eq!(text(1.0).as_deref(), Some("--time=0:01:00"));
        assert_eq!(text(200_000.0).as_deref(), Some("--time=2-18:40:00"));
        assert_eq!(text(0.9), None, "too short to tell");
    }

    proptest! {
        #[test]
        fn there_is_always_head_room(peak in 1..u64::MAX / 4) {
            let asked = ram(peak);
            prop_assert!(u128::from(asked) * 100 >= u128::from(peak) * 120);
            prop_assert!(asked <= peak.saturating_mul(3).max(SMALL_STEP));
        }

        #[test]
        fn any_load_asks_for_a_core(max in proptest::num::f64::ANY, mean in proptest::num::f64::ANY) {
            let load = Load { max, mean };
            prop_assert!(cores(load) >= 1);
        }

        #[test]
        fn any_length_can_be_asked_for(seconds in proptest::num::f64::ANY) {
            time(seconds);
        }
    }
}
