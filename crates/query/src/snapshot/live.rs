//! Reads the driver and the host, again and again.

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant, SystemTime};

use gua_core::classifier::CardActivity;
use gua_core::snapshot::{CardNow, HostNow, SeenProcess, Snapshot};
use gua_core::units::UnixMillis;
use gua_core::{Reading, Reason, Thresholds};
use jiff::Timestamp;
use probe::card::CardLook;
use probe::nvml::{Look, OpenError, Prober};
use probe::proc::Host;
use probe::process::{Holder, Presence};

use super::recent::RecentLooks;

/// Time that a first look covers.
const FIRST_LOOK: Duration = Duration::from_secs(5);

/// Cards and holders of this host, from the driver and from `/proc`.
#[derive(Debug)]
pub struct LiveSource {
    prober: Prober,
    host: Host,
    thresholds: Thresholds,
    with_commands: bool,
    /// Holders by pid. Those that are watched need not be read again until they end.
    known: HashMap<u32, SeenProcess>,
    recent: RecentLooks,
    /// Time of the last look; `None` before the first.
    last: Option<Instant>,
    error: Option<OpenError>,
}

impl LiveSource {
    /// Returns a source that judges by thresholds. `host` finds out who is behind a process if it was
    /// made so.
    #[must_use]
    pub fn new(prober: Prober, host: Host, thresholds: Thresholds) -> Self {
        Self {
            prober,
            host,
            thresholds,
            with_commands: false,
            known: HashMap::new(),
            recent: RecentLooks::default(),
            last: None,
            error: None,
        }
    }

    /// Reads the command lines of holders, too. They may hold secrets.
    #[must_use]
    pub const fn with_commands(mut self, wanted: bool) -> Self {
        self.with_commands = wanted;
        self
    }

    /// Reads all cards and holders. The first look averages over 5 s; later ones cover the time since
    /// the look before.
    pub fn snapshot(&mut self) -> Snapshot {
        let look = match self.last {
            None => self.prober.first_look(),
            Some(_) => self.prober.look(),
        };
        let elapsed = self.last.replace(Instant::now()).map_or(FIRST_LOOK, |last| last.elapsed());
        self.snapshot_of_look(&look, elapsed)
    }

    /// Takes what the driver has sampled since the last look, for the next one: its buffer holds some
    /// seconds only.
    pub fn drain(&mut self) {
        self.prober.drain();
    }

    /// Returns the time after which samples are lost, where the driver buffers them.
    #[must_use]
    pub fn buffer_length(&self) -> Option<Duration> {
        self.prober.buffer_length()
    }

    /// Returns why the driver could not be read at the last look.
    #[must_use]
    pub const fn error(&self) -> Option<&OpenError> {
        self.error.as_ref()
    }

    /// Returns the prober, to change what is read.
    pub const fn prober(&mut self) -> &mut Prober {
        &mut self.prober
    }

    /// Returns the host, for more about processes.
    pub const fn host(&mut self) -> &mut Host {
        &mut self.host
    }

    /// Returns what the host said of a holder of the last look.
    #[must_use]
    pub fn process(&self, pid: u32) -> Option<&SeenProcess> {
        self.known.get(&pid)
    }

    fn snapshot_of_look(&mut self, look: &Look, elapsed: Duration) -> Snapshot {
        let at = Timestamp::from(UnixMillis::from(SystemTime::now()));
        self.error = look.driver.as_ref().err().cloned();
        self.read_processes(&look.cards);
        self.recent.keep_only(&look.cards);
        let cards = look.cards.iter().map(|card| self.card_now(card, at, elapsed)).collect();
        Snapshot::live(at, self.host_now(look), cards)
    }

    fn host_now(&self, look: &Look) -> HostNow {
        let host = self.host.name();
        match &look.driver {
            Ok(driver) => HostNow::new(
                host,
                driver.version.clone(),
                driver.cuda_version,
                Reading::Known(driver.gpus),
                None,
            ),
            Err(error) => {
                let why = error.why();
                let (cuda, gpus) = (Reading::Unknown(why), Reading::Unknown(why));
                HostNow::new(host, Reading::Unknown(why), cuda, gpus, Some(error.to_string()))
            }
        }
    }

    fn card_now(&mut self, look: &CardLook, at: Timestamp, elapsed: Duration) -> CardNow {
        let CardLook { facts, vitals } = look;
        let means = self.recent.add(look, elapsed);
        let process = |holder: &Holder| {
            let known = self.known.get(&holder.pid).cloned();
            known.unwrap_or(SeenProcess {
                pid: holder.pid,
                presence: Presence::Gone,
                command: Reading::Unknown(Reason::Gone),
            })
        };
        let processes: Vec<_> = vitals.holders.seen.iter().map(process).collect();
        let judged = means.as_ref().unwrap_or(vitals);
        let activity =
            CardActivity::from_look(facts, judged, &processes, at.into(), &self.thresholds);
        CardNow::new(&activity, vitals, &processes, at, &self.thresholds)
    }

    /// Reads the processes of all holders that are not known yet, and forgets those that ended.
    fn read_processes(&mut self, cards: &[CardLook]) {
        match self.host.forget_the_ended() {
            Some(ended) => ended.iter().for_each(|ended| drop(self.known.remove(&ended.pid))),
            // It is not known who ended.
            None => self.known.clear(),
        }
        let seen = cards.iter().flat_map(|card| &card.vitals.holders.seen);
        let pids: HashSet<u32> = seen.map(|holder: &Holder| holder.pid).collect();
        let mut is_same = pids.len() == self.known.len();
        for pid in &pids {
            let is_known = self.known.contains_key(pid);
            is_same &= is_known;
            if is_known && self.host.is_watched(*pid) && !self.with_commands {
                continue;
            }
            let process = self.read_process(*pid);
            self.known.insert(*pid, process);
        }
        if !is_same {
            self.known.retain(|pid, _| pids.contains(pid));
            self.host.keep_only(|pid| pids.contains(&pid));
        }
    }

    fn read_process(&mut self, pid: u32) -> SeenProcess {
        let presence = self.host.process(pid);
        let command = match &presence {
            _ if !self.with_commands => Reading::Unknown(Reason::NotAsked),
            Presence::Here(_) => self.host.command(pid),
            Presence::Hidden(reason) => Reading::Unknown(*reason),
            // Another process has the pid here.
            Presence::Gone | Presence::Foreign => Reading::Unknown(Reason::Gone),
        };
        SeenProcess { pid, presence, command }
    }
}
