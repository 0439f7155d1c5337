//! Pages that were made, kept for who asks next.
//!
//! A report over a month takes a while, and a minute more changes nothing on it. So one is kept
//! for a part of its window; who asks after that gets it once more while the next one is made.
//! What the cards do now is read after every tick.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::body::Bytes;
use jiff::Timestamp;
use maud::Markup;

use super::answers::Answers;
use super::asked::Asked;
use crate::counting::NotReady;
use crate::render::paint::Paint;
use crate::render::usage::View;
use crate::render::usage::html::address::Address;
use crate::render::usage::html::{Dress, Sheet};
use crate::report::accounts::By;
use crate::report::board::{Board, Page};

/// So many windows are remembered.
const MOST_WINDOWS: usize = 32;
/// A page is good for this part of its window: much less than anybody can see in it.
const PARTS: u32 = 2_880;
const LONGEST_GOOD: Duration = Duration::from_secs(300);
/// An older one is not shown any more.
const OLDEST: Duration = Duration::from_secs(900);
/// Without a tick, it may be that there is no recorder any more.
const OLDEST_BOARD: Duration = Duration::from_secs(10);

/// What one page is told from another by: what is asked, not how it is shown.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Key {
    window: [Option<String>; 4],
    by: By,
    sessions: Option<usize>,
}

/// A report that was made.
#[derive(Debug)]
struct Made {
    page: Page,
    view: View,
    at: Instant,
    good_for: Duration,
}

impl Made {
    /// Whether nothing was recorded yet: who sees that waits for the first of it.
    const fn is_empty(&self) -> bool {
        self.page.usage.cards.is_empty()
    }

    fn is_good(&self) -> bool {
        !self.is_empty() && self.at.elapsed() < self.good_for
    }
}

/// One window, and what was made of it.
#[derive(Debug, Default)]
struct Place {
    newest: Mutex<Option<Arc<Made>>>,
    making: tokio::sync::Mutex<()>,
    live: Mutex<Option<(i64, Instant, Bytes)>>,
}

#[derive(Debug, Clone)]
struct Seen {
    tick: i64,
    at: Instant,
    board: Option<Arc<Board>>,
}

/// Where pages are asked for.
#[derive(Debug)]
pub(super) struct Desk {
    pub answers: Arc<dyn Answers>,
    places: Mutex<HashMap<Key, (Instant, Arc<Place>)>>,
    seen: tokio::sync::Mutex<Option<Seen>>,
}

impl Desk {
    pub fn new(answers: Arc<dyn Answers>) -> Self {
        Self { answers, places: Mutex::default(), seen: tokio::sync::Mutex::default() }
    }

    /// A page at an address, drawn by `draw`.
    pub async fn page(
        self: &Arc<Self>,
        asked: Asked,
        address: Address,
        tick: i64,
        draw: fn(&Sheet<'_>) -> Markup,
    ) -> Result<Bytes, NotReady> {
        let place = self.place(&asked, &address);
        let made = self.made(&place, asked).await?;
        let board = self.board(tick).await?;
        in_the_background(move || Ok(drawn(&made, board.as_deref(), &address, draw))).await
    }

    /// What changes from tick to tick, drawn once for everybody at the same window.
    pub async fn live(
        self: &Arc<Self>,
        asked: Asked,
        address: Address,
        tick: i64,
        draw: fn(&Sheet<'_>) -> Markup,
    ) -> Result<Bytes, NotReady> {
        let place = self.place(&asked, &address);
        let known = lock(&place.live).clone();
        if let Some((of, at, bytes)) = known
            && of == tick
            && at.elapsed() < OLDEST_BOARD
        {
            return Ok(bytes);
        }
        let bytes = self.page(asked, address, tick, draw).await?;
        *lock(&place.live) = Some((tick, Instant::now(), bytes.clone()));
        Ok(bytes)
    }

    fn place(&self, asked: &Asked, address: &Address) -> Arc<Place> {
        let Address { since, from, until, tz, .. } = address.clone();
        let key = Key { window: [since, from, until, tz], by: asked.by, sessions: asked.sessions };
        let mut places = lock(&self.places);
        if places.len() >= MOST_WINDOWS && !places.contains_key(&key) {
            let oldest = places.iter().min_by_key(|(_, (used, _))| *used);
            if let Some(oldest) = oldest.map(|(key, _)| key.clone()) {
                places.remove(&oldest);
            }
        }
        let (used, place) = places.entry(key).or_insert_with(|| (Instant::now(), Arc::default()));
        *used = Instant::now();
        Arc::clone(place)
    }

    async fn made(
        self: &Arc<Self>,
        place: &Arc<Place>,
        asked: Asked,
    ) -> Result<Arc<Made>, NotReady> {
        let known = lock(&place.newest).clone();
        match known {
            Some(made) if made.is_good() => Ok(made),
            Some(made) if made.at.elapsed() < OLDEST && !made.is_empty() => {
                let (desk, place) = (Arc::clone(self), Arc::clone(place));
                tokio::spawn(async move {
                    if let Ok(_making) = place.making.try_lock() {
                        // Who asks after it grew too old hears why.
                        let _ = desk.make(&place, asked).await;
                    }
                });
                Ok(made)
            }
            _ => {
                let _making = place.making.lock().await;
                let known = lock(&place.newest).clone();
                match known.filter(|made| made.is_good()) {
                    Some(made) => Ok(made),
                    None => self.make(place, asked).await,
                }
            }
        }
    }

    async fn make(&self, place: &Place, asked: Asked) -> Result<Arc<Made>, NotReady> {
        let answers = Arc::clone(&self.answers);
        let made = in_the_background(move || {
            let page = answers.page(&asked)?;
            let window = asked.window.until.duration_since(asked.window.from).unsigned_abs();
            Ok(Made {
                page,
                view: view(&asked),
                at: Instant::now(),
                good_for: (window / PARTS).min(LONGEST_GOOD),
            })
        });
        let made = Arc::new(made.await?);
        *lock(&place.newest) = Some(Arc::clone(&made));
        Ok(made)
    }

    async fn board(&self, tick: i64) -> Result<Option<Arc<Board>>, NotReady> {
        let mut seen = self.seen.lock().await;
        let known = seen.clone().filter(|it| it.tick == tick && it.at.elapsed() < OLDEST_BOARD);
        if let Some(known) = known {
            return Ok(known.board);
        }
        let answers = Arc::clone(&self.answers);
        let board = in_the_background(move || answers.board()).await?.map(Arc::new);
        *seen = Some(Seen { tick, at: Instant::now(), board: board.clone() });
        Ok(board)
    }
}

/// Where it keeps nobody waiting who asks for less.
pub(super) async fn in_the_background<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, NotReady> + Send + 'static,
) -> Result<T, NotReady> {
    let failed = |_| NotReady::Unreadable("the answer could not be made".to_owned());
    tokio::task::spawn_blocking(work).await.map_err(failed)?
}

fn drawn(
    made: &Made,
    board: Option<&Board>,
    address: &Address,
    draw: fn(&Sheet<'_>) -> Markup,
) -> Bytes {
    let mut page = made.page.clone();
    // Of a window that ended before, the report says what was then.
    page.board = page.board.and(board.cloned());
    let view = View { now: Timestamp::now(), ..made.view.clone() };
    let sheet = Sheet { page: &page, view: &view, dress: Dress::Served(address), fleet: None };
    Bytes::from(draw(&sheet).into_string())
}

/// Whoever reads it may sit anywhere: commands are for the host.
fn view(asked: &Asked) -> View {
    View {
        paint: Paint(false),
        width: 80,
        tz: asked.window.zone.tz.clone(),
        now: Timestamp::now(),
        command: "gua report".to_owned(),
        sessions: 0,
        is_here: false,
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
