//! What takes a while is done by a few hands, apart from those who answer.
//!
//! Nothing is begun for who has gone, and only so many reports are waited for. What is short has
//! hands of its own: no report keeps a scrape or a look waiting.

use std::sync::Arc;

use gua_fleet::NotReady;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::spawn_blocking;

/// For looks at the newest tick, drawing and packing.
const QUICK: usize = 4;
/// For scrapes. They go one after the other anyway, and the first may have a history to count.
const SCRAPING: usize = 1;
/// For reports. The recorder needs cores, too.
const LONG: usize = 2;
/// So many wait for a report or for its end: some seconds of work.
const MOST_WAITING: usize = 64;

/// How many threads all of them are.
pub(super) const THREADS: usize = QUICK + SCRAPING + LONG;

static QUICK_HANDS: Semaphore = Semaphore::const_new(QUICK);
static SCRAPING_HANDS: Semaphore = Semaphore::const_new(SCRAPING);

/// Does something short.
pub(super) async fn quickly<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, NotReady> + Send + 'static,
) -> Result<T, NotReady> {
    by_one_of(&QUICK_HANDS, work).await
}

/// Does what a scrape needs.
pub(super) async fn scraped<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, NotReady> + Send + 'static,
) -> Result<T, NotReady> {
    by_one_of(&SCRAPING_HANDS, work).await
}

async fn by_one_of<T: Send + 'static>(
    hands: &'static Semaphore,
    work: impl FnOnce() -> Result<T, NotReady> + Send + 'static,
) -> Result<T, NotReady> {
    let hand = hands.acquire().await.map_err(|_| NotReady::Busy)?;
    done(move || {
        // Until it is done, though nobody may wait for it any more.
        let _hand = hand;
        work()
    })
    .await
}

async fn done<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, NotReady> + Send + 'static,
) -> Result<T, NotReady> {
    let failed = |_| NotReady::Unreadable("the answer could not be made".to_owned());
    spawn_blocking(work).await.map_err(failed)?
}

/// The hands that make reports.
#[derive(Debug)]
pub(super) struct Hands {
    waiting: Semaphore,
    long: Arc<Semaphore>,
    /// What nobody waits for is done one at a time.
    unasked: Arc<Semaphore>,
}

/// A hand that was free for something that nobody waits for.
#[derive(Debug)]
pub(super) struct SpareHand {
    _turn: OwnedSemaphorePermit,
    _hand: OwnedSemaphorePermit,
}

impl Default for Hands {
    fn default() -> Self {
        Self {
            waiting: Semaphore::new(MOST_WAITING),
            long: Arc::new(Semaphore::new(LONG)),
            unasked: Arc::new(Semaphore::new(1)),
        }
    }
}

impl Hands {
    /// Makes a report, after those that were asked for before.
    ///
    /// # Errors
    /// What `work` says, or that too many wait already.
    pub async fn make<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T, NotReady> + Send + 'static,
    ) -> Result<T, NotReady> {
        let _place = self.waiting.try_acquire().map_err(|_| NotReady::Busy)?;
        let hand = Arc::clone(&self.long).acquire_owned().await.map_err(|_| NotReady::Busy)?;
        done(move || {
            let _hand = hand;
            work()
        })
        .await
    }

    /// A hand for something that nobody waits for, where one has nothing better to do.
    pub fn spare(&self) -> Option<SpareHand> {
        let turn = Arc::clone(&self.unasked).try_acquire_owned().ok()?;
        let hand = Arc::clone(&self.long).try_acquire_owned().ok()?;
        Some(SpareHand { _turn: turn, _hand: hand })
    }
}

impl SpareHand {
    pub fn make<T: Send + 'static>(self, work: impl FnOnce() -> T + Send + 'static) {
        spawn_blocking(move || {
            let _hand = self;
            work();
        });
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, Sender, channel};

    use tokio::task::{JoinHandle, yield_now};

    use super::*;

    /// Work that begins when it begins, and ends when it may.
    fn held(
        begun: &Sender<()>,
        may_end: Receiver<()>,
    ) -> impl FnOnce() -> Result<(), NotReady> + use<> {
        let begun = begun.clone();
        move || {
            begun.send(()).unwrap();
            may_end.recv().ok();
            Ok(())
        }
    }

    #[tokio::test]
    async fn so_many_are_made_and_so_many_wait() {
        let hands = Arc::new(Hands::default());
        let ((begun, begins), mut ends) = (channel(), Vec::new());
        let mut asked: Vec<JoinHandle<_>> = Vec::new();
        for _ in 0..MOST_WAITING {
            let (end, may_end) = channel();
            ends.push(end);
            let (hands, work) = (Arc::clone(&hands), held(&begun, may_end));
            asked.push(tokio::spawn(async move { hands.make(work).await }));
        }
        while hands.waiting.available_permits() > 0 {
            yield_now().await;
        }
        assert!(matches!(hands.make(|| Ok(())).await, Err(NotReady::Busy)));
        assert!(hands.spare().is_none(), "all have something better to do");
        // Neither a scrape nor a look waits for any of them.
        scraped(|| Ok(())).await.unwrap();
        quickly(|| Ok(())).await.unwrap();
        // Those go who were not begun with; nothing is done for them.
        for gone in asked.drain(LONG..) {
            gone.abort();
        }
        drop(ends);
        for task in asked {
            task.await.unwrap().unwrap();
        }
        hands.make(|| Ok(())).await.unwrap();
        drop(begun);
        assert_eq!(begins.iter().count(), LONG);
        let first = hands.spare();
        assert!(first.is_some() && hands.spare().is_none(), "one at a time");
    }
}
