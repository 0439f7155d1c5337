//! Opens the library and reads the cards, and opens it again if the driver went away.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use gua_core::poll::ProcessPoll;

use super::accounts::CardAccounts;
use super::error::OpenError;
use super::library::{self, DriverFacts, Opened};
use super::options::{Options, Patience, Wants};
use super::raw::Version;
use super::unit::{self, Unit};
use super::worker::{Outcome, Product, Task, Workers};
use crate::card::{CardFacts, CardLook};
use crate::oneshot::{Received, Receiver};
use crate::reading::Why;
use crate::{fork, threads};

/// Time between the first two readings of hardware counters.
const BETWEEN_COUNTERS: Duration = Duration::from_millis(200);

/// Number of threads that are opening a library now.
static IN_THE_LOADER: AtomicUsize = AtomicUsize::new(0);

/// Returns true if a thread may hold the loader's lock. Then no thread can be started, and the process
/// does not end by itself: see [`super::exit_at_once`].
#[must_use]
pub fn is_left_in_the_loader() -> bool {
    IN_THE_LOADER.load(Ordering::SeqCst) > 0
}

/// Result of reading all cards once.
#[derive(Debug, Clone)]
pub struct Look {
    pub driver: Result<DriverFacts, OpenError>,
    /// In the order of index and slot. While the driver is away, the cards that it had before.
    pub cards: Vec<CardLook>,
}

/// Reads the cards of this host again and again.
#[derive(Debug)]
pub struct Prober {
    options: Options,
    workers: Workers,
    session: Session,
    /// Cards of each GPU at the last look, for when it cannot be read.
    known: BTreeMap<u32, Vec<Arc<CardFacts>>>,
    /// Number of GPUs that the driver last counted, also those that were never read.
    counted: u32,
    /// GPUs whose turn did not come at the last look.
    passed_over: BTreeSet<u32>,
    /// Look that was begun and not waited for.
    begun: Option<BegunLook>,
}

/// Look that the workers are at.
#[derive(Debug)]
struct BegunLook {
    driver: DriverFacts,
    give_up: Instant,
}

#[derive(Debug)]
enum Session {
    Open { driver: DriverFacts, here: Vec<Unit> },
    Opening { opened: Receiver<Result<Opened, OpenError>>, gave_up_after: Option<Duration> },
    Closed,
}

impl Prober {
    /// Loads the library and waits for the driver.
    ///
    /// # Errors
    /// If there is no driver, or none that answers within the patience.
    pub fn open(options: Options) -> Result<Self, OpenError> {
        let mut prober = Self::closed(options);
        prober.wait_for_driver()?;
        Ok(prober)
    }

    /// Returns a prober that opens the library at its first look. [`Self::begin_look`] starts that.
    #[must_use]
    pub fn closed(options: Options) -> Self {
        Self {
            workers: Workers::default(),
            session: Session::Closed,
            known: BTreeMap::new(),
            counted: 0,
            passed_over: BTreeSet::new(),
            begun: None,
            options,
        }
    }

    /// Waits for the driver, within the patience for opening.
    ///
    /// # Errors
    /// If there is none, or none that answers in time.
    pub fn wait_for_driver(&mut self) -> Result<(), OpenError> {
        if !self.is_open() {
            let (_, units) = self.opened(self.options.patience.open)?;
            self.put_back(units);
        }
        Ok(())
    }

    /// Sets the readings of the next looks.
    pub const fn want(&mut self, wants: Wants) {
        self.options.wants = wants;
    }

    /// Waits no longer than this from now on. Returns the patience until now.
    pub fn wait_at_most(&mut self, most: Duration) -> Patience {
        let usual = self.options.patience;
        self.options.patience = usual.at_most(most);
        usual
    }

    /// Sets the patience from now on.
    pub const fn wait(&mut self, patience: Patience) {
        self.options.patience = patience;
    }

    #[must_use]
    pub const fn is_open(&self) -> bool {
        matches!(self.session, Session::Open { .. })
    }

    /// Returns the driver, unless it is away.
    #[must_use]
    pub const fn driver(&self) -> Option<&DriverFacts> {
        match &self.session {
            Session::Open { driver, .. } => Some(driver),
            _ => None,
        }
    }

    /// Reads all cards. Returns within the patience for a look, or for opening if the driver or a card is
    /// asked for the first time, even if the driver hangs.
    pub fn look(&mut self) -> Look {
        self.run_look(&Task::Look(self.options.wants)).0
    }

    /// Reads all cards, and then the driver's accounts of these processes.
    pub fn last_look(&mut self, pids: &[u32]) -> (Look, Vec<CardAccounts>) {
        let (look, mut accounts) = self.run_look(&Task::LastLook(self.options.wants, sorted(pids)));
        accounts.sort_by_key(|card| card.facts.index);
        (look, accounts)
    }

    /// Begins a look, or opening the driver for it, and does not wait. The next look returns it.
    pub fn begin_look(&mut self) {
        self.begin(&Task::Look(self.options.wants));
    }

    /// Begins a last look, as [`Self::begin_look`].
    pub fn begin_last_look(&mut self, pids: &[u32]) {
        self.begin(&Task::LastLook(self.options.wants, sorted(pids)));
    }

    fn begin(&mut self, task: &Task) {
        if self.begun.is_some() {
            return;
        }
        match self.session {
            // It is open, so this neither waits nor fails.
            Session::Open { .. } => self.begun = self.start_look(task, Instant::now()).ok(),
            Session::Closed => self.start_opening(),
            Session::Opening { .. } => {}
        }
    }

    /// Returns true if a look was begun and not returned.
    #[must_use]
    pub const fn has_begun(&self) -> bool {
        self.begun.is_some()
    }

    /// Waits for the look that was begun, at most for this time, and gives up no card. Returns true if it
    /// is complete.
    ///
    /// # Errors
    /// If there is no driver.
    pub fn is_seen_within(&mut self, most: Duration) -> Result<bool, OpenError> {
        let then = Instant::now() + most;
        if let Session::Opening { .. } = self.session {
            let Some(opened) = self.wait_for_opener(most) else { return Ok(false) };
            opened?;
            self.begin_look();
        }
        Ok(self.begun.is_some() && self.workers.is_done_by(then))
    }

    /// Returns the look that was begun, and gives up the cards that have not answered.
    pub fn look_as_it_is(&mut self) -> Look {
        if let Some(begun) = &mut self.begun {
            begun.give_up = Instant::now();
        }
        self.look()
    }

    fn run_look(&mut self, task: &Task) -> (Look, Vec<CardAccounts>) {
        let begun = Instant::now();
        let (look, accounts) = self.look_once(task, begun);
        if look.driver.is_err() || !is_driver_gone(&look.cards) {
            return (look, accounts);
        }
        // The driver was replaced: opening again finds the new one, or the reason why not.
        library::close_unused();
        self.close(begun + self.options.patience.look);
        self.look_once(task, begun)
    }

    /// Reads all cards if they are read only once: cards whose counters need two readings get the second
    /// one a moment later. The others keep their first, which reaches further back.
    pub fn first_look(&mut self) -> Look {
        let mut look = self.look();
        let is_first = |card: &CardLook| card.vitals.utilization.why() == Some(Why::FirstLook);
        if !look.cards.iter().any(is_first) {
            return look;
        }
        thread::sleep(BETWEEN_COUNTERS);
        let second = self.look();
        for card in look.cards.iter_mut().filter(|card| is_first(card)) {
            if let Some(again) = second.cards.iter().find(|again| again.facts == card.facts) {
                *card = again.clone();
            }
        }
        look
    }

    /// Reads the cards' sample buffers, so that the next look has all samples since the last one, also if
    /// looks are further apart than the buffers are long. It costs one call for each card that has been
    /// looked at, and another if shares are wanted and it had holders then. The next look reports errors.
    /// Returns within the patience for a look.
    pub fn drain(&mut self) {
        self.run_on(Task::Drain, Unit::has_samples);
    }

    /// Reads the process samples since the last look or the last call, of GPUs that have a wanted
    /// card and have been looked at. One that does not answer is left out. Returns within the
    /// patience for a look.
    pub fn process_samples(&mut self, is_wanted: impl Fn(&CardFacts) -> bool) -> Vec<ProcessPoll> {
        let has_wanted = |unit: &Unit| unit.facts().iter().any(|facts| is_wanted(facts));
        let products = self.run_on(Task::ProcessSamples, has_wanted);
        let mut polls: Vec<_> =
            products.into_iter().flat_map(|product| product.process_polls).collect();
        polls.sort_by_key(|poll| poll.card.index);
        polls
    }

    /// Reads the driver's accounts of these processes on cards that have been looked at. A card that does
    /// not answer is left out. Returns within the patience for a look.
    pub fn accounts(&mut self, pids: &[u32]) -> Vec<CardAccounts> {
        let products = self.run_on(Task::Accounts(sorted(pids)), Unit::was_asked);
        let mut accounts: Vec<_> =
            products.into_iter().flat_map(|product| product.accounts).collect();
        accounts.sort_by_key(|card| card.facts.index);
        accounts
    }

    /// Does a task between looks with the units that it applies to.
    fn run_on(&mut self, task: Task, applies_to: impl Fn(&Unit) -> bool) -> Vec<Product> {
        // While a look is going on, the workers have the units.
        let (Session::Open { here, .. }, None) = (&mut self.session, &self.begun) else {
            return Vec::new();
        };
        let mut units = std::mem::take(here);
        units.extend(self.workers.returned());
        let (asked, others): (Vec<_>, _) = units.into_iter().partition(applies_to);
        let patience = self.options.patience;
        let give_up = Instant::now() + patience.look;
        let outcome = self.workers.run(asked, task, patience, give_up);
        for (index, facts) in &outcome.found {
            self.remember(*index, facts);
        }
        let (done, products): (Vec<_>, Vec<_>) = outcome.done.into_iter().unzip();
        // Units whose turn did not come go first the next time.
        self.put_back(outcome.unread.into_iter().chain(done).chain(others).collect());
        products
    }

    /// Returns how far back the shortest of the cards' sample buffers reaches: samples that are not read
    /// within this time are lost. `None` if no card has a buffer, or none has had two samples yet.
    #[must_use]
    pub fn buffer_length(&self) -> Option<Duration> {
        match &self.session {
            Session::Open { here, .. } => here.iter().filter_map(Unit::buffer_length).min(),
            Session::Opening { .. } | Session::Closed => None,
        }
    }

    fn look_once(&mut self, task: &Task, begun: Instant) -> (Look, Vec<CardAccounts>) {
        let started = match self.begun.take() {
            Some(begun) => Ok(begun),
            None => self.start_look(task, begun),
        };
        let BegunLook { driver, give_up } = match started {
            Ok(look) => look,
            Err(error) => {
                let cards = self.cards_without_driver(error.why());
                return (Look { driver: Err(error), cards }, Vec::new());
            }
        };
        let mut outcome = self.workers.finish(give_up);
        self.counted = driver.gpus;
        let accounts = outcome.done.iter_mut().flat_map(|(_, product)| product.accounts.drain(..));
        let accounts = accounts.collect();
        let cards = self.collect(&driver, outcome);
        (Look { driver: Ok(driver), cards }, accounts)
    }

    /// Opens the driver if it is not open, and starts a task with all units that are here.
    fn start_look(&mut self, task: &Task, begun: Instant) -> Result<BegunLook, OpenError> {
        let patience = self.options.patience;
        let left = (begun + patience.look).saturating_duration_since(Instant::now());
        let (driver, mut units) = self.opened(left)?;
        units.extend(self.workers.returned());
        // Units whose turn did not come last time go first.
        units.sort_by_key(|unit| (!self.passed_over.contains(&unit.index()), unit.index()));
        let all_asked = units.iter().all(Unit::was_asked);
        let give_up = begun + if all_asked { patience.look } else { patience.open };
        self.workers.start(units, task.clone(), patience);
        Ok(BegunLook { driver, give_up })
    }

    /// Returns unknown readings of all cards that there were, while there is no driver.
    fn cards_without_driver(&self, why: Why) -> Vec<CardLook> {
        let all: BTreeSet<u32> = self.known.keys().copied().chain(0..self.counted).collect();
        let known = |at: u32| self.known.get(&at).map_or(&[][..], Vec::as_slice);
        all.into_iter().flat_map(|at| unit::unread(known(at), at, why)).collect()
    }

    /// Puts the units back, and returns the cards in their order.
    fn collect(&mut self, driver: &DriverFacts, outcome: Outcome) -> Vec<CardLook> {
        let mut looks: BTreeMap<u32, Vec<CardLook>> = BTreeMap::new();
        let mut units = outcome.unread;
        units.reserve(outcome.done.len());
        self.passed_over = units.iter().map(Unit::index).collect();
        for (index, facts) in &outcome.found {
            self.remember(*index, facts);
        }
        for (unit, product) in outcome.done {
            self.remember(unit.index(), unit.facts());
            looks.insert(unit.index(), product.looks);
            units.push(unit);
        }
        self.put_back(units);
        let mut cards = Vec::with_capacity(looks.values().map(Vec::len).sum());
        for index in 0..driver.gpus {
            cards.extend(looks.remove(&index).unwrap_or_else(|| self.unread(index)));
        }
        cards
    }

    fn put_back(&mut self, units: Vec<Unit>) {
        if let Session::Open { here, .. } = &mut self.session {
            *here = units;
        }
    }

    /// Keeps the cards of a GPU. Cards that could not be read do not replace known ones, and a card that
    /// has another index after the driver was loaded again is kept only there.
    fn remember(&mut self, index: u32, cards: &[Arc<CardFacts>]) {
        let is_read = |facts: &Arc<CardFacts>| facts.uuid.why().is_none();
        let is_known = |known: &Vec<Arc<CardFacts>>| {
            known.len() == cards.len() && known.iter().zip(cards).all(|(a, b)| Arc::ptr_eq(a, b))
        };
        if cards.is_empty()
            || self.known.get(&index).is_some_and(is_known)
            || !cards.iter().all(is_read)
        {
            return;
        }
        let is_among = |known: &Arc<CardFacts>| cards.iter().any(|card| card.uuid == known.uuid);
        self.known.retain(|at, known| *at == index || !known.iter().any(is_among));
        self.known.insert(index, cards.to_vec());
    }

    fn unread(&self, index: u32) -> Vec<CardLook> {
        let known = self.known.get(&index).map_or(&[][..], Vec::as_slice);
        let is_passed_over = self.passed_over.contains(&index);
        unit::unread(known, index, if is_passed_over { Why::NoTurn } else { Why::TimedOut })
    }

    /// Returns the driver and the units that are here, once it is open. An opener that has hung is not
    /// waited for again.
    fn opened(&mut self, most: Duration) -> Result<(DriverFacts, Vec<Unit>), OpenError> {
        loop {
            let most = match &mut self.session {
                Session::Open { driver, here, .. } => {
                    return Ok((driver.clone(), std::mem::take(here)));
                }
                Session::Closed => {
                    self.start_opening();
                    continue;
                }
                Session::Opening { gave_up_after: Some(_), .. } => Duration::ZERO,
                Session::Opening { gave_up_after: None, .. } => most,
            };
            match self.wait_for_opener(most) {
                Some(opened) => opened?,
                None => return Err(self.hung(most)),
            }
        }
    }

    /// Waits for the opener. Returns its result; `None` if there is none in this time.
    fn wait_for_opener(&mut self, most: Duration) -> Option<Result<(), OpenError>> {
        let Session::Opening { opened, .. } = &self.session else { return Some(Ok(())) };
        let opened = match opened.within(most) {
            Received::Value(opened) => opened,
            Received::NotYet => return None,
            Received::Closed => {
                let detail = "no thread could be started to talk to it".into();
                Err(OpenError::Refused { detail })
            }
        };
        let (session, result) = match opened {
            Ok(opened) => (self.session_of(&opened), Ok(())),
            Err(error) => (Session::Closed, Err(error)),
        };
        self.session = session;
        Some(result)
    }

    /// Returns the error of a driver that hangs, with the time of the first wait.
    fn hung(&mut self, most: Duration) -> OpenError {
        let waited = match &mut self.session {
            Session::Opening { gave_up_after, .. } => *gave_up_after.get_or_insert(most),
            Session::Open { .. } | Session::Closed => most,
        };
        let seconds = waited.as_millis().div_ceil(1000);
        OpenError::TimedOut { seconds: u64::try_from(seconds).unwrap_or(u64::MAX) }
    }

    /// Opens the library on a worker: initialising may hang like any call.
    fn start_opening(&mut self) {
        let library = self.options.library.clone();
        let opened = self.workers.spawn_after(move || {
            IN_THE_LOADER.fetch_add(1, Ordering::SeqCst);
            let result = fork::inside(|| library::open(library.as_ref()));
            IN_THE_LOADER.fetch_sub(1, Ordering::SeqCst);
            result
        });
        self.session = Session::Opening { opened, gave_up_after: None };
    }

    fn session_of(&self, Opened { nvml, facts }: &Opened) -> Session {
        let lists = Version::newest(&facts.version);
        let host_root = &self.options.host_root;
        let unit = |index| Unit::new(index, Arc::clone(nvml), lists, host_root.clone());
        Session::Open { here: (0..facts.gpus).map(unit).collect(), driver: facts.clone() }
    }

    /// Closes the library. The loader returns a library that is still loaded even if its file was replaced,
    /// so the old one must be closed before the new one is opened. Closing may hang, too, so the wait is
    /// limited.
    fn close(&mut self, deadline: Instant) {
        let session = std::mem::replace(&mut self.session, Session::Closed);
        let workers = std::mem::take(&mut self.workers);
        self.begun = None;
        let (tell, closed) = mpsc::channel::<()>();
        let closer = threads::spawn(threads::named("nvml-close"), move || {
            fork::inside(|| drop((session, workers)));
            drop(tell);
        });
        if closer.is_ok() {
            // Ends either way: the channel closes, or the time is up.
            let left = deadline.saturating_duration_since(Instant::now());
            let _ = closed.recv_timeout(left.min(self.options.patience.card));
        }
    }
}

impl Drop for Prober {
    /// An opener that hangs may hold the loader's lock, and no thread can be started then.
    fn drop(&mut self) {
        if self.is_open() {
            self.close(Instant::now() + self.options.patience.card);
        }
    }
}

fn sorted(pids: &[u32]) -> Arc<[u32]> {
    let mut pids = pids.to_vec();
    pids.sort_unstable();
    pids.into()
}

/// Returns true if all cards that answer report that the driver is gone. If only some do, it is a
/// problem of theirs.
fn is_driver_gone(cards: &[CardLook]) -> bool {
    let troubles = cards.iter().map(|card| card.vitals.trouble());
    let is_mute = |trouble: &Option<Why>| {
        matches!(trouble, Some(Why::Lost | Why::NeedsReset | Why::TimedOut | Why::NoTurn))
    };
    let mut answering = troubles.filter(|trouble| !is_mute(trouble)).peekable();
    answering.peek().is_some() && answering.all(|trouble| trouble == Some(Why::DriverGone))
}
