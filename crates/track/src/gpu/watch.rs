//! Looks at the cards: at the begin and at the end by who makes these, and on a thread in between.

use std::mem;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use probe::nvml::{Look, OpenError, Prober, Wants};
use probe::proc::Host;
use probe::threads;
use probe::units::UnixMillis;
use probe::{CardAccounts, CardLook, Reading, Why};

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
    /// Looked at by who begins and who ends. The thread is not started before another look is due:
    /// what is over by then needs none.
    Awaited(Box<(Watcher, Prober)>),
    /// The last look is going on.
    Ending(Box<(Watcher, Prober)>),
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
    /// Somebody waits for the thread.
    is_awaited: bool,
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
    /// Begins to open the driver and to look; never blocks. `None` where no cards are asked for.
    /// Best after the command was started, which then inherits none of the driver's files.
    pub(crate) fn begin(options: &Options, members: Members) -> Option<Self> {
        if options.cards == Cards::None {
            return None;
        }
        let mut prober = Prober::closed(first_driver(options));
        prober.begin_look();
        let watcher = Watcher::new(options, members);
        let shared = Arc::clone(&watcher.shared);
        Some(Self { shared, watch: Watch::Awaited(Box::new((watcher, prober))) })
    }

    /// Waits for the look that tells what there was at the begin, but not for long. One that comes
    /// later does not count as that.
    pub(crate) fn wait_for_first_look(&mut self) {
        let Watch::Awaited(awaited) = &mut self.watch else { return };
        let (watcher, prober) = &mut **awaited;
        if let Err(error) = watcher.take_look(prober, Instant::now() + FOR_THE_FIRST_LOOK) {
            self.shared.enter(Stage::Failed(error));
            self.watch = Watch::Closed;
        }
        self.shared.lock().tally.pass_the_begin();
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
        self.watch = match mem::replace(&mut self.watch, Watch::Closed) {
            Watch::Awaited(mut awaited) => {
                let (watcher, prober) = &mut *awaited;
                prober.wait_at_most(FOR_A_LOOK);
                if watcher.has_had_its_first_look(prober) {
                    watcher.begin_last_look(prober);
                }
                Watch::Ending(awaited)
            }
            Watch::Ending(ending) => Watch::Ending(ending),
            Watch::Open { .. } | Watch::Closed => Watch::Closed,
        };
    }

    /// One last look, with what the driver kept account of, if it comes soon.
    pub(crate) fn finish(mut self) -> Result<GpuUsage, NoGpu> {
        self.close();
        if let Watch::Ending(ending) = mem::replace(&mut self.watch, Watch::Closed) {
            let (mut watcher, mut prober) = *ending;
            watcher.end(&mut prober);
            // Closing may take long, and nobody waits for it.
            prober.wait_at_most(Duration::ZERO);
        } else {
            self.shared.wait_for_the_end();
        }
        let mut state = self.shared.lock();
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

/// How the driver is opened, and what the first look reads.
fn first_driver(options: &Options) -> probe::nvml::Options {
    driver(options, Wants { energy: true, ..WANTS })
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
        // Telling nobody is a call to the kernel, too.
        if state.is_awaited {
            self.changed.notify_all();
        }
    }

    /// Waits for the thread, but not for long.
    fn wait_for_the_end(&self) {
        let begun = Instant::now();
        let mut state = self.lock();
        state.is_awaited = true;
        loop {
            let most = match state.stage {
                Stage::Opening => FOR_OPENING,
                Stage::Looking => FOR_A_LOOK,
                Stage::Failed(_) | Stage::Over => return,
            };
            let left = most.saturating_sub(begun.elapsed());
            if left.is_zero() {
                return;
            }
            let waited = self.changed.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

/// Who looks.
#[derive(Debug)]
struct Watcher {
    shared: Arc<Shared>,
    options: Options,
    members: Members,
    /// Whose account the last look asks for, once it was begun.
    asked_for: Option<Vec<u32>>,
    begun: Instant,
    began: UnixMillis,
}

impl Watcher {
    fn new(options: &Options, members: Members) -> Self {
        let state = State {
            stage: Stage::Opening,
            is_awaited: false,
            tally: Tally::new(options.cards.clone(), pids()),
            newest: Reading::Unknown(Why::NotTold),
        };
        Self {
            shared: Arc::new(Shared { state: Mutex::new(state), changed: Condvar::new() }),
            options: options.clone(),
            members,
            asked_for: None,
            begun: Instant::now(),
            began: SystemTime::now().into(),
        }
    }

    /// Takes the look that was begun, if it is there by then.
    fn take_look(&self, prober: &mut Prober, then: Instant) -> Result<(), OpenError> {
        let left = || then.saturating_duration_since(Instant::now());
        let is_seen = prober.is_seen_within(left())?;
        if prober.is_open() {
            self.shared.enter(Stage::Looking);
        }
        if is_seen {
            let patience = prober.wait_at_most(left());
            // A driver that is away was told of.
            let _ = self.see(prober.look());
            prober.wait(patience);
        }
        Ok(())
    }

    /// Looks until it is closed, on a thread of its own.
    fn go_on(mut self, closed: &Receiver<()>, mut prober: Prober) {
        if matches!(self.shared.lock().stage, Stage::Opening) {
            match prober.wait_for_driver() {
                Ok(()) => self.shared.enter(Stage::Looking),
                Err(error) => return self.shared.enter(Stage::Failed(error)),
            }
        }
        self.look_until_closed(closed, &mut prober);
        self.last_look(&mut prober);
        self.shared.enter(Stage::Over);
        // Closing the library may take long; nobody waits for it any more.
        drop(prober);
    }

    /// Whether nobody waits for the first look any more.
    fn has_had_its_first_look(&self, prober: &Prober) -> bool {
        matches!(self.shared.lock().stage, Stage::Looking) && !prober.has_begun()
    }

    /// Brings it to its end where no thread looks, and waits for all of it as long as for a look.
    fn end(&mut self, prober: &mut Prober) {
        let begun = Instant::now();
        if self.asked_for.is_none() {
            match self.late_first_look(prober, begun + FOR_A_LOOK / 2) {
                Ok(true) => {}
                Ok(false) => return,
                Err(error) => return self.shared.enter(Stage::Failed(error)),
            }
        }
        prober.wait_at_most(FOR_A_LOOK.saturating_sub(begun.elapsed()));
        self.last_look(prober);
        self.shared.enter(Stage::Over);
    }

    /// Takes the first look at the end, where it has not come before; whether it has come by then.
    fn late_first_look(&self, prober: &mut Prober, then: Instant) -> Result<bool, OpenError> {
        self.take_look(prober, Instant::now() + FOR_OPENING)?;
        if prober.has_begun() {
            self.take_look(prober, then)?;
        }
        if !prober.has_begun() {
            return Ok(prober.is_open());
        }
        let look = prober.look_as_it_is();
        let has_answered = |card: &CardLook| card.vitals.trouble() != Some(Why::TimedOut);
        let has_come = look.cards.iter().any(has_answered);
        if has_come {
            // A driver that is away was told of.
            let _ = self.see(look);
        }
        Ok(has_come)
    }

    /// The last look, and what the driver kept account of.
    fn last_look(&mut self, prober: &mut Prober) {
        self.begin_last_look(prober);
        let asked_for = self.asked_for.take().unwrap_or_default();
        let (look, accounts) = prober.last_look(&asked_for);
        // A driver that is away was told of.
        let _ = self.see(look);
        self.account(&accounts);
        // Those that came while it went on.
        let is_new = |pid: &u32| asked_for.binary_search(pid).is_err();
        let newcomers: Vec<u32> = self.everybody().into_iter().filter(is_new).collect();
        if !newcomers.is_empty() {
            let accounts = prober.accounts(&newcomers);
            self.account(&accounts);
        }
    }

    /// Begins it, if that is not done.
    fn begin_last_look(&mut self, prober: &mut Prober) {
        if self.asked_for.is_none() {
            let everybody = self.everybody();
            prober.want(Wants { energy: true, ..WANTS });
            prober.begin_last_look(&everybody);
            self.asked_for = Some(everybody);
        }
    }

    /// Whoever belonged to it at any time, in order.
    fn everybody(&self) -> Vec<u32> {
        let mut everybody: Vec<u32> = self.members.ever(|roles| roles.keys().copied().collect());
        everybody.sort_unstable();
        everybody
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
