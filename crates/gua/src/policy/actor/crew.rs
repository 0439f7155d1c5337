//! Each end on a thread of its own: one that takes its time, or fails, stops no other.

use std::fmt;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use super::{By, Look, NotEnded, Order, act};

/// Makes what looks at the driver.
type MakeLook = Arc<dyn Fn() -> Box<dyn Look> + Send + Sync>;

/// An end that is done, one way or the other.
#[derive(Debug)]
pub struct Done {
    pub order: Order,
    pub outcome: Result<By, NotEnded>,
}

/// Those who end processes.
pub struct Crew {
    look: MakeLook,
    tell: Sender<Done>,
    done: Receiver<Done>,
}

impl fmt::Debug for Crew {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Crew").finish_non_exhaustive()
    }
}

impl Crew {
    #[must_use]
    pub fn new(look: impl Fn() -> Box<dyn Look> + Send + Sync + 'static) -> Self {
        let (tell, done) = channel();
        Self { look: Arc::new(look), tell, done }
    }

    /// Begins an end, and comes back at once.
    pub fn begin(&self, order: Order) {
        let (look, tell, ours) = (Arc::clone(&self.look), self.tell.clone(), order.clone());
        let begun = thread::Builder::new().name("end".into()).spawn(move || {
            let outcome = act(&order, &mut *look());
            // Whoever asked may be gone.
            let _ = tell.send(Done { order, outcome });
        });
        if let Err(error) = begun {
            let outcome = Err(NotEnded::NoThread(error));
            let _ = self.tell.send(Done { order: ours, outcome });
        }
    }

    /// Those that were done since the last time.
    pub fn done(&self) -> impl Iterator<Item = Done> {
        self.done.try_iter()
    }
}
