//! Opens the library, looks, and opens it anew when the driver went away.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use gua_core::poll::ProcessPoll;

use super::bench::{Bench, Outcome, Product, Task};
use super::error::OpenError;
use super::library::{self, DriverFacts, Opened};
use super::options::{Options, Patience};
use super::raw::Version;
use super::unit::{self, Unit, Wants};
use crate::account::CardAccounts;
use crate::answer::{Answer, Told};
use crate::card::{CardFacts, CardLook};
use crate::fork;
use crate::reading::Why;
use crate::threads;

/// How far apart the first two readings of hardware counters are.
const BETWEEN_COUNTERS: Duration = Duration::from_millis(200);

/// How many threads are opening a library now.
static IN_THE_LOADER: AtomicUsize = AtomicUsize::new(0);

/// Whether a thread that was given up may still hold the loader's lock. No thread can be
/// started then, and the process does not end by itself: see [`super::exit_at_once`].
#[must_use]
pub fn is_left_in_the_loader() -> bool {
    IN_THE_LOADER.load(Ordering::SeqCst) > 0
}

/// All cards as one look saw them.
#[derive(Debug, Clone)]
pub struct Look {
    pub driver: Result<DriverFacts, OpenError>,
    /// In the order of index and slot. While the driver is away, those it had before.
    pub cards: Vec<CardLook>,
}

/// Reads the cards of this host, again and again.
#[derive(Debug)]
pub struct Prober {
    options: Options,
    bench: Bench,
    session: Session,
    /// What each GPU was at the last look, for when it cannot be read.
    known: BTreeMap<u32, Vec<Arc<CardFacts>>>,
    /// How many GPUs the driver last counted, those included that never said what they are.
    counted: u32,
    /// The GPUs whose turn did not come at the last look.
    passed_over: BTreeSet<u32>,
    /// A look that was begun and not waited for.
    begun: Option<Begun>,
}

/// A look that workers are at.
#[derive(Debug)]
struct Begun {
    driver: DriverFacts,
    give_up: Instant,
}

#[derive(Debug)]
enum Session {
    Open { driver: DriverFacts, here: Vec<Unit> },
    Opening { answer: Answer<Result<Opened, OpenError>>, gave_up_after: Option<Duration> },
    Closed,
}

impl Prober {
    /// Loads the library and waits for the driver.
    ///
    /// # Errors
    /// When there is no driver, or none that answers within the patience.
    pub fn open(options: Options) -> Result<Self, OpenError> {
        let mut prober = Self::closed(options);
        prober.wait_for_driver()?;
        Ok(prober)
    }

    /// One that opens the library when it is to look. [`Self::begin_look`] has it begin.
    #[must_use]
    pub fn closed(options: Options) -> Self {
        Self {
            bench: Bench::default(),
            session: Session::Closed,
            known: BTreeMap::new(),
            counted: 0,
            passed_over: BTreeSet::new(),
            begun: None,
            options,
        }
    }

    /// Waits for the driver, as long as the patience for opening is.
    ///
    /// # Errors
    /// When there is none, or none that answers in time.
    pub fn wait_for_driver(&mut self) -> Result<(), OpenError> {
        if !self.is_open() {
            let (_, units) = self.opened(self.options.patience.open)?;
            self.put_back(units);
        }
        Ok(())
    }

    /// What to read from the next look on.
    pub const fn want(&mut self, wants: Wants) {
        self.options.wants = wants;
    }

    /// Waits no longer than that from now on; how long it waited until now.
    pub fn wait_at_most(&mut self, most: Duration) -> Patience {
        let usual = self.options.patience;
        self.options.patience = usual.at_most(most);
        usual
    }

    /// How long to wait from now on.
    pub const fn wait(&mut self, patience: Patience) {
        self.options.patience = patience;
    }

    #[must_use]
    pub const fn is_open(&self) -> bool {
        matches!(self.session, Session::Open { .. })
    }

    /// The driver, while it is there.
    #[must_use]
    pub const fn driver(&self) -> Option<&DriverFacts> {
        match &self.session {
            Session::Open { driver, .. } => Some(driver),
            _ => None,
        }
    }

    /// Reads all cards. Returns within the patience for a look, or for opening where the
    /// driver or a card is asked for the first time, whatever the driver does.
    pub fn look(&mut self) -> Look {
        self.run_look(&Task::Look(self.options.wants)).0
    }

    /// The same, with what the driver keeps account of, of these processes.
    pub fn last_look(&mut self, pids: &[u32]) -> (Look, Vec<CardAccounts>) {
        let (look, mut accounts) = self.run_look(&Task::LastLook(self.options.wants, order(pids)));
        accounts.sort_by_key(|card| card.facts.index);
        (look, accounts)
    }

    /// Begins a look, or to open the driver for it, and waits for neither. The next look is the
    /// one that was begun.
    pub fn begin_look(&mut self) {
        self.begin(&Task::Look(self.options.wants));
    }

    /// The same of a last look.
    pub fn begin_last_look(&mut self, pids: &[u32]) {
        self.begin(&Task::LastLook(self.options.wants, order(pids)));
    }

    fn begin(&mut self, task: &Task) {
        if self.begun.is_some() {
            return;
        }
        match self.session {
            // It is open, so there is nothing to wait for and nothing to fail.
            Session::Open { .. } => self.begun = self.laid_out(task, Instant::now()).ok(),
            Session::Closed => self.start_opening(),
            Session::Opening { .. } => {}
        }
    }

    /// Whether there is a look that was begun and not taken.
    #[must_use]
    pub const fn has_begun(&self) -> bool {
        self.begun.is_some()
    }

    /// Waits for the look that was begun; whether it is there, at the latest after that time. What
    /// is not there in time is not given up.
    ///
    /// # Errors
    /// When there is no driver.
    pub fn is_seen_within(&mut self, most: Duration) -> Result<bool, OpenError> {
        let then = Instant::now() + most;
        if let Session::Opening { .. } = self.session {
            let Some(opened) = self.answer(most) else { return Ok(false) };
            opened?;
            self.begin_look();
        }
        Ok(self.begun.is_some() && self.bench.is_done_by(then))
    }

    /// The look that was begun, with those cards given up that have not answered by now.
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
        // The driver was replaced under us: a fresh handle finds the new one or says why not.
        library::close_unused();
        self.close(begun + self.options.patience.look);
        self.look_once(task, begun)
    }

    /// A first look that can already say how busy each card is: cards whose counters need
    /// two readings get the second one a moment later. The others keep their first, which
    /// reaches further back.
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

    /// Takes what the cards' sample buffers hold, so that the next look rests on every sample
    /// since the last one, also where looks are further apart than the buffers are long. It
    /// costs one call a card, on cards that have been looked at, and another where the holders'
    /// shares are wanted and somebody held it then; whatever goes wrong is left for the look to
    /// tell. Returns within the patience for a look.
    pub fn drain(&mut self) {
        self.run_on(Task::Drain, Unit::keeps_samples);
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

    /// What the driver keeps account of, of these processes, on cards that have been looked
    /// at. A card that does not answer is left out. Returns within the patience for a look.
    pub fn accounts(&mut self, pids: &[u32]) -> Vec<CardAccounts> {
        let products = self.run_on(Task::Account(order(pids)), Unit::was_asked);
        let mut accounts: Vec<_> =
            products.into_iter().flat_map(|product| product.accounts).collect();
        accounts.sort_by_key(|card| card.facts.index);
        accounts
    }

    /// Does something between looks with those units that it makes sense for.
    fn run_on(&mut self, task: Task, makes_sense: impl Fn(&Unit) -> bool) -> Vec<Product> {
        // While a look is going on, the units are away with it.
        let (Session::Open { here, .. }, None) = (&mut self.session, &self.begun) else {
            return Vec::new();
        };
        let mut units = std::mem::take(here);
        units.extend(self.bench.returned());
        let (asked, others): (Vec<_>, _) = units.into_iter().partition(makes_sense);
        let patience = self.options.patience;
        let give_up = Instant::now() + patience.look;
        let outcome = self.bench.run(asked, task, patience, give_up);
        for (index, facts) in &outcome.found {
            self.remember(*index, facts);
        }
        let (done, products): (Vec<_>, Vec<_>) = outcome.done.into_iter().unzip();
        // Those whose turn did not come go first the next time.
        self.put_back(outcome.unread.into_iter().chain(done).chain(others).collect());
        products
    }

    /// How far back the shortest of the cards' sample buffers reaches: what is not drained or
    /// looked at within this time is lost. `None` where no card keeps samples, or none has
    /// shown yet how far apart they are.
    #[must_use]
    pub fn buffer_length(&self) -> Option<Duration> {
        match &self.session {
            Session::Open { here, .. } => here.iter().filter_map(Unit::buffer_length).min(),
            Session::Opening { .. } | Session::Closed => None,
        }
    }

    fn look_once(&mut self, task: &Task, begun: Instant) -> (Look, Vec<CardAccounts>) {
        let laid_out = match self.begun.take() {
            Some(begun) => Ok(begun),
            None => self.laid_out(task, begun),
        };
        let Begun { driver, give_up } = match laid_out {
            Ok(laid_out) => laid_out,
            Err(error) => {
                let cards = self.counted_before(error.why());
                return (Look { driver: Err(error), cards }, Vec::new());
            }
        };
        let mut outcome = self.bench.outcome(give_up);
        self.counted = driver.gpus;
        let accounts = outcome.done.iter_mut().flat_map(|(_, product)| product.accounts.drain(..));
        let accounts = accounts.collect();
        let cards = self.collect(&driver, outcome);
        (Look { driver: Ok(driver), cards }, accounts)
    }

    /// Has the workers begin with all units that are here, once the driver is open.
    fn laid_out(&mut self, task: &Task, begun: Instant) -> Result<Begun, OpenError> {
        let patience = self.options.patience;
        let left = (begun + patience.look).saturating_duration_since(Instant::now());
        let (driver, mut units) = self.opened(left)?;
        units.extend(self.bench.returned());
        // Those whose turn did not come last time go first.
        units.sort_by_key(|unit| (!self.passed_over.contains(&unit.index()), unit.index()));
        let all_asked = units.iter().all(Unit::was_asked);
        let give_up = begun + if all_asked { patience.look } else { patience.open };
        self.bench.lay_out(units, task.clone(), patience);
        Ok(Begun { driver, give_up })
    }

    /// All cards that there were, while there is no driver to ask.
    fn counted_before(&self, why: Why) -> Vec<CardLook> {
        let all: BTreeSet<u32> = self.known.keys().copied().chain(0..self.counted).collect();
        let known = |at: u32| self.known.get(&at).map_or(&[][..], Vec::as_slice);
        all.into_iter().flat_map(|at| unit::unread(known(at), at, why)).collect()
    }

    /// Puts the units back in their place and the cards in their order.
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

    /// Keeps what each GPU is. What could not be read does not replace what is known; and
    /// a card that now has another index, after the driver was loaded anew, has one only.
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

    /// The driver and the units that are here, once it is open. An opener that has hung
    /// once is not waited for again, only asked.
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
            match self.answer(most) {
                Some(opened) => opened?,
                None => return Err(self.hung(most)),
            }
        }
    }

    /// What the opener has to tell; `None` when it does not come in that time.
    fn answer(&mut self, most: Duration) -> Option<Result<(), OpenError>> {
        let Session::Opening { answer, .. } = &self.session else { return Some(Ok(())) };
        let opened = match answer.within(most) {
            Told::This(opened) => opened,
            Told::NotYet => return None,
            Told::Nothing => {
                let detail = "no thread could be started to talk to it".into();
                Err(OpenError::Refused { detail })
            }
        };
        let (session, told) = match opened {
            Ok(opened) => (self.session_of(&opened), Ok(())),
            Err(error) => (Session::Closed, Err(error)),
        };
        self.session = session;
        Some(told)
    }

    /// Told as long as it was waited for the first time.
    fn hung(&mut self, most: Duration) -> OpenError {
        let waited = match &mut self.session {
            Session::Opening { gave_up_after, .. } => *gave_up_after.get_or_insert(most),
            Session::Open { .. } | Session::Closed => most,
        };
        let seconds = waited.as_millis().div_ceil(1000);
        OpenError::TimedOut { seconds: u64::try_from(seconds).unwrap_or(u64::MAX) }
    }

    /// Initialising may hang like any call, so a worker does it.
    fn start_opening(&mut self) {
        let library = self.options.library.clone();
        let answer = self.bench.start_with(move || {
            IN_THE_LOADER.fetch_add(1, Ordering::SeqCst);
            let opened = fork::inside(|| library::open(library.as_ref()));
            IN_THE_LOADER.fetch_sub(1, Ordering::SeqCst);
            opened
        });
        self.session = Session::Opening { answer, gave_up_after: None };
    }

    fn session_of(&self, Opened { nvml, facts }: &Opened) -> Session {
        let lists = Version::newest(&facts.version);
        let host_root = &self.options.host_root;
        let unit = |index| Unit::new(index, Arc::clone(nvml), lists, host_root.clone());
        Session::Open { here: (0..facts.gpus).map(unit).collect(), driver: facts.clone() }
    }

    /// Lets go of the library. The loader gives back a library that is still loaded, even
    /// where the file has been replaced, so the old one must be out before the new one is
    /// opened; but shutting down may hang too, and is waited for only so long.
    fn close(&mut self, deadline: Instant) {
        let session = std::mem::replace(&mut self.session, Session::Closed);
        let bench = std::mem::take(&mut self.bench);
        self.begun = None;
        let (tell, closed) = mpsc::channel::<()>();
        let closer = threads::spawn(threads::named("nvml-close"), move || {
            fork::inside(|| drop((session, bench)));
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
    /// An opener that hangs may hang in the loader, which then lets no thread begin.
    fn drop(&mut self) {
        if self.is_open() {
            self.close(Instant::now() + self.options.patience.card);
        }
    }
}

fn order(pids: &[u32]) -> Arc<[u32]> {
    let mut pids = pids.to_vec();
    pids.sort_unstable();
    pids.into()
}

/// Whether all cards that answer say that the driver is gone. One that says so alone has
/// a trouble of its own.
fn is_driver_gone(cards: &[CardLook]) -> bool {
    let troubles = cards.iter().map(|card| card.vitals.trouble());
    let is_mute = |trouble: &Option<Why>| {
        matches!(trouble, Some(Why::Lost | Why::NeedsReset | Why::TimedOut | Why::NoTurn))
    };
    let mut answering = troubles.filter(|trouble| !is_mute(trouble)).peekable();
    answering.peek().is_some() && answering.all(|trouble| trouble == Some(Why::DriverGone))
}
