//! A queue and a thread for each way: one that hangs keeps neither the others nor the
//! recorder waiting.

use std::collections::HashMap;
use std::io;
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
    notify: Arc<Notify>,
    root: Arc<PathBuf>,
    /// Of the ways that were needed so far.
    queues: HashMap<Channel, SyncSender<Arc<Letter>>>,
    tell: Sender<Report>,
    reports: Receiver<Report>,
}

impl Post {
    /// Ready for the first notice.
    #[must_use]
    pub fn new(notify: Notify, root: PathBuf) -> Self {
        let (tell, reports) = channel();
        let (notify, root) = (Arc::new(notify), Arc::new(root));
        Self { notify, root, queues: HashMap::new(), tell, reports }
    }

    /// Sends a notice on all of its ways, and comes back at once.
    pub fn send(&mut self, letter: Letter) {
        let letter = Arc::new(letter);
        for way in &letter.channels {
            if let Err(error) = self.hand_over(*way, &letter) {
                let report = Report { token: letter.token, channel: *way, outcome: Err(error) };
                // Who reports is who listens.
                let _ = self.tell.send(report);
            }
        }
    }

    fn hand_over(&mut self, way: Channel, letter: &Arc<Letter>) -> Result<(), NotDelivered> {
        if !self.queues.contains_key(&way) {
            let queue = self.open(way)?;
            self.queues.insert(way, queue);
        }
        let queue = self.queues.get(&way).ok_or(NotDelivered::Full)?;
        queue.try_send(Arc::clone(letter)).map_err(|_| NotDelivered::Full)
    }

    /// Opens a way. It ends when its queue is dropped and empty.
    fn open(&self, way: Channel) -> io::Result<SyncSender<Arc<Letter>>> {
        let (queue, letters) = sync_channel::<Arc<Letter>>(MOST_WAITING);
        let (notify, root) = (Arc::clone(&self.notify), Arc::clone(&self.root));
        let tell = self.tell.clone();
        thread::Builder::new().name(format!("notice-{}", way.word())).spawn(move || {
            for letter in letters {
                let outcome = deliver(way, &notify, &root, &letter);
                // Whoever asked may be gone.
                let _ = tell.send(Report { token: letter.token, channel: way, outcome });
            }
        })?;
        Ok(queue)
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
