//! The thread that looks at the cards, and the handle on it.

use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use probe::nvml::{OpenError, Prober, Wants};
use probe::proc::Host;
use probe::threads;
use probe::units::UnixMillis;
use probe::{Reading, Why};

use super::available::driver;
use super::pace::Pace;
use super::tally::{Pids, Tally};
use super::tree::{OnCard, on_card};
use crate::members::Members;
use crate::options::{Cards, Options};
use crate::sample::GpuSample;
use crate::usage::{GpuUsage, NoGpu};

/// How long the end waits for a driver that is still being opened.
const FOR_OPENING: Duration = Duration::from_millis(250);

/// How long the begin waits for a first look: a driver that is awake takes a few milliseconds, and
/// the end would wait for it as well.
const FOR_THE_FIRST_LOOK: Duration = Duration::from_millis(100);

/// How long the end waits for a last look.
const FOR_A_LOOK: Duration = Duration::from_secs(1);

/// What is read besides utilization, memory and holders.
const WANTS: Wants = Wants { shares: true, ..Wants::ESSENTIALS };

/// The energy is a counter, so its first and its last reading are enough; some in between are for
/// a driver that does not live to see the last.
const BETWEEN_ENERGIES: Duration = Duration::from_secs(5);

/// Looks at the cards until it is finished or dropped.
#[derive(Debug)]
pub(crate) struct Gpu {
    shared: Arc<Shared>,
    /// The thread ends when this is closed.
    open: Option<Sender<()>>,
}

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug)]
struct State {
    stage: Stage,
    tally: Tally,
    newest: Reading<GpuSample>,
}

#[derive(Debug)]
enum Stage {
    Opening,
    Looking,
    Failed(OpenError),
    Over,
}

impl Gpu {
    /// Begins to open the driver at once; never blocks. `None` where no cards are asked for.
    /// Best after the command was started, which then inherits none of the driver's files.
    pub(crate) fn begin(options: &Options, members: Members) -> Option<Self> {
        if options.cards == Cards::None {
            return None;
        }
        let (open, closed) = mpsc::channel();
        let state = State {
            stage: Stage::Opening,
            tally: Tally::new(options.cards.clone(), pids()),
            newest: Reading::Unknown(Why::NotTold),
        };
        let shared = Arc::new(Shared { state: Mutex::new(state), changed: Condvar::new() });
        let watcher = Watcher {
            shared: Arc::clone(&shared),
            closed,
            options: options.clone(),
            members,
            begun: Instant::now(),
            began: SystemTime::now().into(),
        };
        if threads::spawn(threads::named("gpu"), move || watcher.run()).is_err() {
            let detail = "no thread could be started to talk to it".into();
            shared.enter(Stage::Failed(OpenError::Refused { detail }));
        }
        Some(Self { shared, open: Some(open) })
    }

    /// The tree was just born, and holds nothing.
    pub(crate) fn born_with_nothing(self) -> Self {
        self.shared.lock().tally.begin_with_nothing();
        self
    }

    /// What has to be waited for before the tree goes on.
    pub(crate) fn first_look(&self) -> FirstLook {
        FirstLook(Arc::clone(&self.shared))
    }

    /// The newest look as one sample; never waits for the driver.
    pub(crate) fn newest(&self) -> Reading<GpuSample> {
        self.shared.lock().newest
    }

    /// What it comes to until now; never waits for the driver.
    pub(crate) fn so_far(&self) -> Result<GpuUsage, NoGpu> {
        let state = self.shared.lock();
        match &state.stage {
            Stage::Failed(error) => Err(NoGpu::NoDriver(error.to_string())),
            _ if state.tally.looks() == 0 => Err(NoGpu::NotInTime),
            Stage::Looking | Stage::Opening | Stage::Over => Ok(state.tally.usage()),
        }
    }

    /// The last look is begun, and not waited for.
    pub(crate) fn close(&mut self) {
        self.open = None;
    }

    /// One last look, with what the driver kept account of, if it comes soon.
    pub(crate) fn finish(mut self) -> Result<GpuUsage, NoGpu> {
        self.close();
        let mut state = self.shared.wait_for_the_end();
        match &state.stage {
            Stage::Failed(error) => return Err(NoGpu::NoDriver(error.to_string())),
            _ if state.tally.looks() == 0 => return Err(NoGpu::NotInTime),
            // The last look has not come back.
            Stage::Looking => state.tally.miss(),
            Stage::Opening | Stage::Over => {}
        }
        Ok(state.tally.usage())
    }
}

/// The look that tells what there was at the begin.
#[derive(Debug)]
pub(crate) struct FirstLook(Arc<Shared>);

impl FirstLook {
    /// Waits for it, but not for long. A look that comes later does not count as the begin.
    pub(crate) fn wait(self) {
        let begun = Instant::now();
        let mut state = self.0.lock();
        while matches!(state.stage, Stage::Opening | Stage::Looking) && state.tally.looks() == 0 {
            let left = FOR_THE_FIRST_LOOK.saturating_sub(begun.elapsed());
            if left.is_zero() {
                break;
            }
            let waited = self.0.changed.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        state.tally.pass_the_begin();
    }
}

/// Where the host's files are mounted in a container, its pids are still not ours.
fn pids() -> Pids {
    let host = Host::new(None);
    let is_our_own = host.root() == "/" && host.sees_all_processes();
    if is_our_own { Pids::Ours } else { Pids::MaybeTheHosts }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn enter(&self, stage: Stage) {
        let mut state = self.lock();
        if let Stage::Failed(error) = &stage {
            state.newest = Reading::Unknown(error.why());
        }
        state.stage = stage;
        self.changed.notify_all();
    }

    fn wait_for_the_end(&self) -> MutexGuard<'_, State> {
        let begun = Instant::now();
        let mut state = self.lock();
        loop {
            let most = match state.stage {
                Stage::Opening => FOR_OPENING,
                Stage::Looking => FOR_A_LOOK,
                Stage::Failed(_) | Stage::Over => return state,
            };
            let left = most.saturating_sub(begun.elapsed());
            if left.is_zero() {
                return state;
            }
            let waited = self.changed.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

/// What the thread has.
struct Watcher {
    shared: Arc<Shared>,
    closed: Receiver<()>,
    options: Options,
    members: Members,
    begun: Instant,
    began: UnixMillis,
}

impl Watcher {
    fn run(self) {
        let mut prober = match Prober::open(driver(&self.options, WANTS)) {
            Ok(prober) => prober,
            Err(error) => return self.shared.enter(Stage::Failed(error)),
        };
        self.shared.enter(Stage::Looking);
        self.look_until_closed(&mut prober);
        self.account(&mut prober);
        self.shared.enter(Stage::Over);
        // Closing the library may take long; nobody waits for it any more.
        drop(prober);
    }

    fn look_until_closed(&self, prober: &mut Prober) {
        let mut pace = Pace::new(self.options.every);
        let mut energy_at: Option<Instant> = None;
        loop {
            let at = Instant::now();
            let energy = energy_at.is_none_or(|then| at.duration_since(then) >= BETWEEN_ENERGIES);
            energy_at = if energy { Some(at) } else { energy_at };
            self.look(prober, Wants { energy, ..WANTS });
            pace.took(at.elapsed());
            if self.is_closed_before(at + pace.gap(self.begun.elapsed()), prober) {
                return self.look(prober, Wants { energy: true, ..WANTS });
            }
        }
    }

    /// Waits for the next look, and meanwhile keeps the driver's buffers from running over.
    fn is_closed_before(&self, next: Instant, prober: &mut Prober) -> bool {
        loop {
            let left = next.saturating_duration_since(Instant::now());
            let reach = prober.buffer_length().map_or(left, |length| length / 2);
            match self.closed.recv_timeout(left.min(reach)) {
                Ok(()) | Err(RecvTimeoutError::Disconnected) => return true,
                Err(RecvTimeoutError::Timeout) if Instant::now() >= next => return false,
                Err(RecvTimeoutError::Timeout) => prober.drain(),
            }
        }
    }

    fn look(&self, prober: &mut Prober, wants: Wants) {
        prober.want(wants);
        let look = prober.look();
        let mut state = self.shared.lock();
        if let Err(error) = &look.driver {
            state.newest = Reading::Unknown(error.why());
            if look.cards.is_empty() {
                if state.tally.looks() > 0 {
                    state.tally.miss();
                }
                return;
            }
        }
        let trees: Vec<OnCard> = self.members.living(|roles| {
            look.cards.iter().map(|card| on_card(&card.vitals.holders, roles)).collect()
        });
        let sample = state.tally.see(&look.cards, &trees, Instant::now());
        state.newest = Reading::Known(sample);
        self.shared.changed.notify_all();
    }

    fn account(&self, prober: &mut Prober) {
        let pids: Vec<u32> = self.members.ever(|roles| roles.keys().copied().collect());
        let accounts = prober.accounts(&pids);
        let mut state = self.shared.lock();
        self.members.ever(|roles| state.tally.account(&accounts, roles, self.began));
    }
}
