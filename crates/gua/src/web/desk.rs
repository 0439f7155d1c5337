//! Pages that were made, kept for who asks next.
//!
//! A report over a month takes a while, and a minute more changes nothing on it. So one is kept
//! for a part of its window; who asks soon after that gets it once more while the next one is made. Of
//! a window that is over, it is kept for as long as any. What the cards do now is read after every
//! tick. Whatever was made is kept by who made it: who asked may have gone.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::body::Bytes;
use gua_fleet::NotReady;
use gua_query::page::UsagePage;
use gua_query::snapshot::Snapshot;
use gua_query::usage::By;
use jiff::{SignedDuration, Timestamp};
use tokio::sync::OwnedMutexGuard;

use super::answers::Answers;
use super::asked::Asked;
use super::hands::{Hands, quickly};
use crate::render::paint::Paint;
use crate::render::usage::View;
use crate::render::usage::html::address::Address;
use crate::render::usage::html::{self, Dress, Sheet};

/// So many windows are remembered: more than there can be viewers.
const MOST_WINDOWS: usize = 256;
/// Windows that keep their timeline, which is most of a report and which only a whole page shows.
const MOST_WITH_TIMELINE: usize = 8;
/// A page is good for this part of its window: much less than anybody can see in it.
const PARTS: u32 = 2_880;
const LONGEST_GOOD: Duration = Duration::from_secs(300);
/// One that is older by so much is not shown any more: it would contradict what the cards do now.
const FAIR_FOR: u32 = 3;
/// None that is older is shown.
const OLDEST: Duration = Duration::from_secs(900);
/// A window that ended so long ago is all written down.
const SETTLED: SignedDuration = SignedDuration::from_mins(1);
/// Without a tick, it may be that there is no recorder any more.
const OLDEST_NOW: Duration = Duration::from_secs(10);

/// What one page is told from another by: what is asked, not how it is shown.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Key {
    window: [Option<String>; 5],
    by: Vec<By>,
    sessions: Option<usize>,
}

/// A report that was made.
#[derive(Debug, Clone)]
struct Made {
    page: UsagePage,
    view: View,
    at: Instant,
    good_for: Duration,
    /// Its window ended before it was made.
    is_over: bool,
    has_timeline: bool,
}

impl Made {
    fn new(page: UsagePage, asked: &Asked, now: Timestamp) -> Self {
        let window = asked.window.until.duration_since(asked.window.from).unsigned_abs();
        let is_over = asked.window.until < now - SETTLED;
        let good_for = if is_over { OLDEST } else { (window / PARTS).min(LONGEST_GOOD) };
        let at = Instant::now();
        Self { page, view: view(asked, now), at, good_for, is_over, has_timeline: true }
    }

    /// Whether nothing was recorded yet: who sees that waits for the first of it.
    const fn is_awaited(&self) -> bool {
        self.page.usage.cards.is_empty() && !self.is_over
    }

    fn is_good(&self) -> bool {
        !self.is_awaited() && self.at.elapsed() < self.good_for
    }

    /// Whether it may be shown while the next one is made.
    fn is_fair(&self) -> bool {
        let fair_for = (self.good_for * FAIR_FOR).clamp(OLDEST_NOW, OLDEST);
        !self.is_awaited() && self.at.elapsed() < fair_for
    }

    fn without_timeline(&self) -> Self {
        let page = UsagePage {
            usage: self.page.usage.clone(),
            timeline: None,
            now: self.page.now.clone(),
        };
        Self { page, view: self.view.clone(), has_timeline: false, ..*self }
    }
}

/// How much of a report is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Need {
    All,
    /// What is above the timeline.
    Top,
}

type Live = Option<(i64, Instant, Bytes)>;

/// One window, and what was made of it.
#[derive(Debug, Default)]
struct Place {
    newest: Mutex<Option<Arc<Made>>>,
    making: Arc<tokio::sync::Mutex<()>>,
    live: tokio::sync::Mutex<Live>,
}

impl Place {
    fn known(&self, need: Need) -> Option<Arc<Made>> {
        lock(&self.newest).clone().filter(|made| made.has_timeline || need == Need::Top)
    }
}

#[derive(Debug, Clone)]
struct Seen {
    tick: i64,
    at: Instant,
    now: Option<Arc<Snapshot>>,
}

/// Where pages are asked for.
#[derive(Debug)]
pub(super) struct Desk {
    pub answers: Arc<dyn Answers>,
    pub hands: Hands,
    places: Mutex<HashMap<Key, (Instant, Arc<Place>)>>,
    seen: Arc<tokio::sync::Mutex<Option<Seen>>>,
}

impl Desk {
    pub fn new(answers: Arc<dyn Answers>) -> Self {
        Self { answers, hands: Hands::default(), places: Mutex::default(), seen: Arc::default() }
    }

    /// A page at an address.
    pub async fn page(
        self: &Arc<Self>,
        asked: Asked,
        address: Address,
        tick: i64,
    ) -> Result<Bytes, NotReady> {
        let place = self.place(&asked, &address);
        let made = self.made(&place, asked, Need::All).await?;
        let now = self.now(tick).await?;
        quickly(move || Ok(drawn(&made, now.as_deref(), &address, Need::All))).await
    }

    /// What changes from tick to tick, drawn once for everybody at the same window.
    pub async fn live(
        self: &Arc<Self>,
        asked: Asked,
        address: Address,
        tick: i64,
    ) -> Result<Bytes, NotReady> {
        let place = self.place(&asked, &address);
        let mut live = place.live.lock().await;
        if let Some((of, at, bytes)) = &*live
            && *of == tick
            && at.elapsed() < OLDEST_NOW
        {
            return Ok(bytes.clone());
        }
        let made = self.made(&place, asked, Need::Top).await?;
        let now = self.now(tick).await?;
        let drawn = move || Ok(drawn(&made, now.as_deref(), &address, Need::Top));
        let bytes = quickly(drawn).await?;
        *live = Some((tick, Instant::now(), bytes.clone()));
        Ok(bytes)
    }

    fn place(&self, asked: &Asked, address: &Address) -> Arc<Place> {
        let Address { since, period, from, until, tz, .. } = address.clone();
        let key = Key {
            window: [since, period, from, until, tz],
            by: asked.by.clone(),
            sessions: asked.sessions,
        };
        let mut places = lock(&self.places);
        if places.len() >= MOST_WINDOWS && !places.contains_key(&key) {
            forget_one(&mut places);
        }
        let (used, place) = places.entry(key).or_insert_with(|| (Instant::now(), Arc::default()));
        *used = Instant::now();
        Arc::clone(place)
    }

    async fn made(
        self: &Arc<Self>,
        place: &Arc<Place>,
        asked: Asked,
        need: Need,
    ) -> Result<Arc<Made>, NotReady> {
        if let Some(made) = place.known(need).filter(|made| made.is_fair()) {
            if !made.is_good() {
                self.make_anew(place, asked);
            }
            return Ok(made);
        }
        let making = Arc::clone(&place.making).lock_owned().await;
        match place.known(need).filter(|made| made.is_good()) {
            Some(made) => Ok(made),
            None => self.hands.make(self.work(place, making, asked)).await,
        }
    }

    /// Makes the next report of a window, where that is not done already and hands are free. Who
    /// asks after this one grew too old hears why there is none.
    fn make_anew(self: &Arc<Self>, place: &Arc<Place>, asked: Asked) {
        if let Ok(making) = Arc::clone(&place.making).try_lock_owned()
            && let Some(hand) = self.hands.spare()
        {
            hand.make(self.work(place, making, asked));
        }
    }

    /// What there is to do for a report; others at the same window wait for the end of it.
    fn work(
        self: &Arc<Self>,
        place: &Arc<Place>,
        making: OwnedMutexGuard<()>,
        asked: Asked,
    ) -> impl FnOnce() -> Result<Arc<Made>, NotReady> + Send + use<> {
        let (desk, place) = (Arc::clone(self), Arc::clone(place));
        move || {
            let page = desk.answers.page(&asked)?;
            let made = Arc::new(Made::new(page, &asked, Timestamp::now()));
            *lock(&place.newest) = Some(Arc::clone(&made));
            desk.forget_timelines();
            drop(making);
            Ok(made)
        }
    }

    /// Leaves only the newest reports with their timelines.
    fn forget_timelines(&self) {
        let places: Vec<_> = lock(&self.places).values().map(|(_, it)| Arc::clone(it)).collect();
        let whole = places.iter().filter_map(|place| Some((place.known(Need::All)?.at, place)));
        let mut whole: Vec<_> = whole.collect();
        whole.sort_by_key(|(at, _)| Reverse(*at));
        for (_, place) in whole.into_iter().skip(MOST_WITH_TIMELINE) {
            let mut newest = lock(&place.newest);
            *newest = newest.as_ref().map(|made| Arc::new(made.without_timeline()));
        }
    }

    async fn now(&self, tick: i64) -> Result<Option<Arc<Snapshot>>, NotReady> {
        let mut seen = Arc::clone(&self.seen).lock_owned().await;
        let known = seen.clone().filter(|it| it.tick == tick && it.at.elapsed() < OLDEST_NOW);
        if let Some(known) = known {
            return Ok(known.now);
        }
        let answers = Arc::clone(&self.answers);
        quickly(move || {
            let now = answers.now()?.map(Arc::new);
            *seen = Some(Seen { tick, at: Instant::now(), now: now.clone() });
            Ok(now)
        })
        .await
    }
}

/// One of which nothing was made, or else the one that was not asked for for longest.
fn forget_one(places: &mut HashMap<Key, (Instant, Arc<Place>)>) {
    let worth = |(_, (used, place)): &(&Key, &(Instant, Arc<Place>))| {
        (lock(&place.newest).is_some(), *used)
    };
    if let Some(least) = places.iter().min_by_key(worth).map(|(key, _)| key.clone()) {
        places.remove(&least);
    }
}

fn drawn(made: &Made, now: Option<&Snapshot>, address: &Address, need: Need) -> Bytes {
    let page = UsagePage {
        usage: made.page.usage.clone(),
        timeline: made.page.timeline.as_ref().filter(|_| need == Need::All).cloned(),
        // A window that ended earlier is not about now.
        now: made.page.now.as_ref().and(now).cloned(),
    };
    let view = View { now: Timestamp::now(), ..made.view.clone() };
    let sheet = Sheet { page: &page, view: &view, dress: Dress::Served(address), fleet: None };
    let drawn = match need {
        Need::All => html::document(&sheet),
        Need::Top => html::live(&sheet),
    };
    Bytes::from(drawn.into_string())
}

/// Whoever reads it may sit anywhere: commands are for the host.
fn view(asked: &Asked, now: Timestamp) -> View {
    View {
        paint: Paint(false),
        width: 80,
        tz: asked.window.zone.tz.clone(),
        now,
        command: "gua report".to_owned(),
        sessions: 0,
        is_wide: true,
        is_here: false,
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc::{Receiver, channel};

    use tokio::task::yield_now;

    use super::*;
    use crate::render::usage::examples::week_of;
    use crate::web::asked;
    use gua_query::status::Status;
    use gua_query::usage::Usage;
    use gua_query::who::{WhoAnswer, WhoFilter};

    /// The same week for everybody; counts how often it was made.
    #[derive(Debug, Default)]
    struct Counted {
        made: AtomicUsize,
        /// The first one waits for this.
        gate: Mutex<Option<Receiver<()>>>,
    }

    impl Counted {
        fn count(&self) -> usize {
            self.made.load(Ordering::SeqCst)
        }
    }

    impl Answers for Counted {
        fn page(&self, _asked: &Asked) -> Result<UsagePage, NotReady> {
            self.made.fetch_add(1, Ordering::SeqCst);
            let gate = lock(&self.gate).take();
            gate.map(|gate| gate.recv());
            Ok(UsagePage::from(week_of("bob", "x", |_| {})))
        }

        fn report(&self, _asked: &Asked) -> Result<Usage, NotReady> {
            Err(NotReady::NoTick)
        }

        fn has_prices(&self) -> bool {
            false
        }

        fn now(&self) -> Result<Option<Snapshot>, NotReady> {
            Ok(None)
        }

        fn who(&self, _filter: &WhoFilter) -> Result<WhoAnswer, NotReady> {
            Err(NotReady::NoTick)
        }

        fn status(&self) -> Status {
            unreachable!("no page asks for it")
        }

        fn tick(&self) -> Option<i64> {
            None
        }
    }

    fn asked(query: &str) -> (Asked, Address) {
        asked::page(Some(query), Timestamp::now(), true).unwrap()
    }

    fn with_timelines(desk: &Desk) -> usize {
        let places = lock(&desk.places);
        places.values().filter(|(_, place)| place.known(Need::All).is_some()).count()
    }

    #[tokio::test]
    async fn what_was_made_is_kept_though_its_asker_has_gone() {
        let (end, gate) = channel::<()>();
        let answers = Arc::new(Counted { gate: Mutex::new(Some(gate)), ..Counted::default() });
        let desk = Arc::new(Desk::new(answers.clone()));
        let (what, address) = asked("since=30d&tz=UTC");
        let asker = {
            let (desk, what, address) = (Arc::clone(&desk), what.clone(), address.clone());
            tokio::spawn(async move { desk.page(what, address, 1).await })
        };
        while answers.count() == 0 {
            yield_now().await;
        }
        asker.abort();
        assert!(asker.await.unwrap_err().is_cancelled());
        drop(end);
        desk.page(what, address, 1).await.unwrap();
        assert_eq!(answers.count(), 1);
    }

    /// As many as there are viewers, each at a window of their own.
    #[tokio::test]
    async fn a_tick_makes_no_report_however_many_windows_are_watched() {
        const WINDOWS: usize = 200;
        let answers = Arc::new(Counted::default());
        let desk = Arc::new(Desk::new(answers.clone()));
        let all: Vec<_> =
            (0..WINDOWS).map(|hour| asked(&format!("since={}h&tz=UTC", 700 + hour))).collect();
        for (what, address) in &all {
            desk.page(what.clone(), address.clone(), 1).await.unwrap();
        }
        assert_eq!((answers.count(), with_timelines(&desk)), (WINDOWS, MOST_WITH_TIMELINE));
        for (what, address) in &all {
            let live = desk.live(what.clone(), address.clone(), 2).await.unwrap();
            assert!(live.starts_with(b"<div id=\"live\""));
        }
        assert_eq!(answers.count(), WINDOWS);
        let (what, address) = all.first().unwrap();
        desk.page(what.clone(), address.clone(), 2).await.unwrap();
        assert_eq!(answers.count(), WINDOWS + 1, "its timeline was forgotten");
        // Windows that nobody was answered for push out none.
        for hour in 0..MOST_WINDOWS {
            let (what, address) = asked(&format!("since={}h&tz=UTC", 2_000 + hour));
            desk.place(&what, &address);
        }
        desk.live(what.clone(), address.clone(), 3).await.unwrap();
        assert_eq!((answers.count(), lock(&desk.places).len()), (WINDOWS + 1, MOST_WINDOWS));
    }

    #[test]
    fn a_window_that_is_over_is_good_for_longer() {
        let now = Timestamp::now();
        let good_for = |query: &str| {
            let (asked, _) = asked::page(Some(query), now, true).unwrap();
            Made::new(UsagePage::from(week_of("bob", "x", |_| {})), &asked, now).good_for
        };
        assert_eq!(good_for("since=48h&tz=UTC"), Duration::from_mins(1));
        assert_eq!(good_for("from=2026-01-01&until=2026-01-02&tz=UTC"), OLDEST);
        let just_now = now - SignedDuration::from_secs(30);
        assert_eq!(good_for(&format!("since=48h&until={just_now}&tz=UTC")), Duration::from_mins(1));
    }
}
