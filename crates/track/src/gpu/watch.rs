//! The thread that looks at the cards, and the handle on it.

use std::mem;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use probe::nvml::{Look, OpenError, Prober, Wants};
use probe::proc::Host;
use probe::threads;
use probe::units::UnixMillis;
use probe::{CardAccounts, Reading, Why};

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
    watch: Watch,
}

#[derive(Debug)]
enum Watch {
    /// A driver that was open already has been looked at once. The thread is not started before
    /// the next look is due: what is over by then needs none.
    Awaited(Box<(Watcher, Prober)>),
    /// The thread ends when this is closed.
    Open {
        _until_dropped: Sender<()>,
    },
    Closed,
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
        let watcher = Watcher::new(options, members, Stage::Opening);
        let shared = Arc::clone(&watcher.shared);
        Some(Self { watch: start(&shared, move |closed| watcher.open(&closed)), shared })
    }

    /// Goes on with a driver that stayed open, and looks at once; waits no longer for that look
    /// than the begin does. `None` where no driver stayed open, or it has gone meanwhile.
    pub(crate) fn resume(options: &Options, members: &Members) -> Option<Self> {
        if options.cards == Cards::None {
            return None;
        }
        let mut prober = Prober::kept(driver(options, WANTS))?;
        let watcher = Watcher::new(options, members.clone(), Stage::Looking);
        let patience = prober.wait_at_most(FOR_THE_FIRST_LOOK);
        let look = watcher.look(&mut prober, Wants { energy: true, ..WANTS });
        prober.wait(patience);
        if look.is_err() {
            leave(prober);
            return None;
        }
        watcher.shared.lock().tally.pass_the_begin();
        let shared = Arc::clone(&watcher.shared);
        Some(Self { shared, watch: Watch::Awaited(Box::new((watcher, prober))) })
    }

    /// It is time for another look.
    pub(crate) fn go_on(&mut self) {
        if let Watch::Awaited(_) = &self.watch
            && let Watch::Awaited(awaited) = mem::replace(&mut self.watch, Watch::Closed)
        {
            let (watcher, prober) = *awaited;
            self.watch = start(&self.shared, move |closed| watcher.go_on(&closed, prober));
        }
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
        if let Watch::Open { .. } = &self.watch {
            self.watch = Watch::Closed;
        }
    }

    /// One last look, with what the driver kept account of, if it comes soon.
    pub(crate) fn finish(mut self) -> Result<GpuUsage, NoGpu> {
        if let Watch::Awaited(awaited) = mem::replace(&mut self.watch, Watch::Closed) {
            let (watcher, mut prober) = *awaited;
            prober.wait_at_most(FOR_A_LOOK);
            if let Some(left) = watcher.finish(prober) {
                leave(left);
            }
        }
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

/// A thread that looks at the cards, until what is told to it is closed.
fn start(shared: &Shared, work: impl FnOnce(Receiver<()>) + Send + 'static) -> Watch {
    let (open, closed) = mpsc::channel();
    if threads::spawn(threads::named("gpu"), move || work(closed)).is_err() {
        let detail = "no thread could be started to talk to it".into();
        shared.enter(Stage::Failed(OpenError::Refused { detail }));
    }
    Watch::Open { _until_dropped: open }
}

/// Closes a driver, and waits for nothing.
fn leave(mut prober: Prober) {
    prober.wait_at_most(Duration::ZERO);
}

/// The look that tells what there was at the begin.
#[derive(Debug, Clone)]
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
#[derive(Debug)]
struct Watcher {
    shared: Arc<Shared>,
    options: Options,
    members: Members,
    begun: Instant,
    began: UnixMillis,
}

impl Watcher {
    fn new(options: &Options, members: Members, stage: Stage) -> Self {
        let state = State {
            stage,
            tally: Tally::new(options.cards.clone(), pids()),
            newest: Reading::Unknown(Why::NotTold),
        };
        Self {
            shared: Arc::new(Shared { state: Mutex::new(state), changed: Condvar::new() }),
            options: options.clone(),
            members,
            begun: Instant::now(),
            began: SystemTime::now().into(),
        }
    }

    /// Opens the driver, and looks until it is closed.
    fn open(self, closed: &Receiver<()>) {
        match Prober::open(driver(&self.options, WANTS)) {
            Ok(prober) => {
                self.shared.enter(Stage::Looking);
                self.go_on(closed, prober);
            }
            Err(error) => self.shared.enter(Stage::Failed(error)),
        }
    }

    fn go_on(self, closed: &Receiver<()>, mut prober: Prober) {
        self.look_until_closed(closed, &mut prober);
        let left = self.finish(prober);
        // Closing the library may take long; nobody waits for it any more.
        drop(left);
    }

    /// The last look, and what the driver kept account of. The prober is given back if it is to be
    /// closed.
    fn finish(&self, mut prober: Prober) -> Option<Prober> {
        prober.want(Wants { energy: true, ..WANTS });
        let pids: Vec<u32> = self.members.ever(|roles| roles.keys().copied().collect());
        let (look, accounts) = prober.last_look(&pids);
        // A driver that is away was told of.
        let _ = self.see(look);
        self.account(&accounts);
        let left = prober.keep();
        self.shared.enter(Stage::Over);
        left
    }

    fn look_until_closed(&self, closed: &Receiver<()>, prober: &mut Prober) {
        let mut pace = Pace::new(self.options.every);
        let mut energy_at: Option<Instant> = None;
        loop {
            let at = Instant::now();
            let energy = energy_at.is_none_or(|then| at.duration_since(then) >= BETWEEN_ENERGIES);
            energy_at = if energy { Some(at) } else { energy_at };
            // A driver that is away was told of, and is asked again.
            let _ = self.look(prober, Wants { energy, ..WANTS });
            pace.took(at.elapsed());
            if is_closed_before(closed, at + pace.gap(self.begun.elapsed()), prober) {
                return;
            }
        }
    }

    /// Adds a look; the driver's own trouble, if it has any.
    fn look(&self, prober: &mut Prober, wants: Wants) -> Result<(), OpenError> {
        prober.want(wants);
        self.see(prober.look())
    }

    fn see(&self, look: Look) -> Result<(), OpenError> {
        let mut state = self.shared.lock();
        let driver = look.driver.map(drop);
        if let Err(error) = &driver {
            state.newest = Reading::Unknown(error.why());
            if look.cards.is_empty() {
                if state.tally.looks() > 0 {
                    state.tally.miss();
                }
                return driver;
            }
        }
        let trees: Vec<OnCard> = self.members.living(|roles| {
            look.cards.iter().map(|card| on_card(&card.vitals.holders, roles)).collect()
        });
        let sample = state.tally.see(&look.cards, &trees, Instant::now());
        state.newest = Reading::Known(sample);
        self.shared.changed.notify_all();
        driver
    }

    fn account(&self, accounts: &[CardAccounts]) {
        let mut state = self.shared.lock();
        self.members.ever(|roles| state.tally.account(accounts, roles, self.began));
    }
}

/// Waits for the next look, and meanwhile keeps the driver's buffers from running over.
fn is_closed_before(closed: &Receiver<()>, next: Instant, prober: &mut Prober) -> bool {
    loop {
        let left = next.saturating_duration_since(Instant::now());
        let reach = prober.buffer_length().map_or(left, |length| length / 2);
        match closed.recv_timeout(left.min(reach)) {
            Ok(()) | Err(RecvTimeoutError::Disconnected) => return true,
            Err(RecvTimeoutError::Timeout) if Instant::now() >= next => return false,
            Err(RecvTimeoutError::Timeout) => prober.drain(),
        }
    }
}
