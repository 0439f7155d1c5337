//! A queue and a thread for each way: one that hangs keeps neither the others nor the
//! recorder waiting.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread;

use super::{Letter, NotDelivered, command, mail, tty, webhook};
use crate::config::policy::{Channel, Notify};
use crate::policy::Token;

/// Notices that may wait on one way.
const MOST_WAITING: usize = 200;

/// How one way of one notice went.
#[derive(Debug)]
pub struct Report {
    pub token: Token,
    pub channel: Channel,
    pub outcome: Result<(), NotDelivered>,
}

/// Takes notices to their persons.
#[derive(Debug)]
pub struct Post {
    queues: HashMap<Channel, SyncSender<Arc<Letter>>>,
    tell: Sender<Report>,
    reports: Receiver<Report>,
}

impl Post {
    /// Opens every way. They end when this is dropped and their queues are empty.
    #[must_use]
    pub fn open(notify: &Arc<Notify>, root: PathBuf) -> Self {
        let (tell, reports) = channel();
        let root = Arc::new(root);
        let mut queues = HashMap::new();
        for way in Channel::ALL {
            let (queue, letters) = sync_channel::<Arc<Letter>>(MOST_WAITING);
            let (notify, root, tell) = (Arc::clone(notify), Arc::clone(&root), tell.clone());
            let begun =
                thread::Builder::new().name(format!("notice-{}", way.word())).spawn(move || {
                    for letter in letters {
                        let outcome = deliver(way, &notify, &root, &letter);
                        let report = Report { token: letter.token, channel: way, outcome };
                        // Whoever asked may be gone.
                        let _ = tell.send(report);
                    }
                });
            // A way without a thread says so of each notice.
            if begun.is_ok() {
                queues.insert(way, queue);
            }
        }
        Self { queues, tell, reports }
    }

    /// Sends a notice on all of its ways, and comes back at once.
    pub fn send(&self, letter: Letter) {
        let letter = Arc::new(letter);
        for way in &letter.channels {
            let error = match self.queues.get(way).map(|queue| queue.try_send(Arc::clone(&letter)))
            {
                Some(Ok(())) => continue,
                Some(Err(_)) => NotDelivered::Full,
                None => NotDelivered::NoThread,
            };
            let report = Report { token: letter.token, channel: *way, outcome: Err(error) };
            // Who reports is who listens.
            let _ = self.tell.send(report);
        }
    }

    /// What has come of them since the last time.
    pub fn reports(&self) -> impl Iterator<Item = Report> {
        self.reports.try_iter()
    }
}

fn deliver(
    way: Channel,
    notify: &Notify,
    root: &std::path::Path,
    letter: &Letter,
) -> Result<(), NotDelivered> {
    let timeout = notify.timeout;
    match (way, &notify.webhook, &notify.command) {
        (Channel::Tty, _, _) => tty::deliver(root, &notify.tty, letter, timeout),
        (Channel::Mail, _, _) => mail::deliver(&notify.mail, letter, timeout),
        (Channel::Webhook, Some(hook), _) => webhook::deliver(hook, letter, timeout),
        (Channel::Command, _, Some(words)) => command::deliver(words, letter, timeout),
        (Channel::Webhook, None, _) | (Channel::Command, _, None) => {
            Err(NotDelivered::NotSetUp(way))
        }
    }
}
