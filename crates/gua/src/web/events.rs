//! `/events`: a line to everybody who watches, after every tick.
//!
//! A tick is put into a slot, and whoever is ready takes it from there. Who is slow misses some,
//! and no tick ever waits for anybody.

use std::convert::Infallible;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::time::timeout;

use super::answers::Answers;
use super::server::MOST_CONNECTIONS;

/// How often it is looked whether there is another tick.
const LOOKS: Duration = Duration::from_millis(250);
/// A connection on which nothing is said may be taken for dead.
const SILENCE: Duration = Duration::from_secs(15);
/// Each keeps a second connection to fetch what is new. The others need some, too.
const MOST_VIEWERS: usize = MOST_CONNECTIONS / 2 - 16;

/// What was told last: the tick, and the words for it.
type Told = (i64, Bytes);

/// Tells everybody of ticks.
#[derive(Debug, Clone)]
pub(super) struct Broadcast {
    told: watch::Receiver<Told>,
    places: Arc<Semaphore>,
}

impl Broadcast {
    /// Begins, on a thread of its own.
    pub fn start(answers: Arc<dyn Answers>) -> std::io::Result<Self> {
        let (sender, told) = watch::channel((0, Bytes::new()));
        thread::Builder::new().name("ticks".into()).spawn(move || follow(&*answers, &sender))?;
        Ok(Self { told, places: Arc::new(Semaphore::new(MOST_VIEWERS)) })
    }

    /// The newest tick that was heard of; 0 before the first.
    pub fn tick(&self) -> i64 {
        self.told.borrow().0
    }
}

fn follow(answers: &dyn Answers, told: &watch::Sender<Told>) {
    loop {
        if let Some(tick) = answers.tick().filter(|tick| *tick != told.borrow().0) {
            let words = format!("event: tick\ndata: {{\"tick\":{tick}}}\n\n");
            told.send_replace((tick, Bytes::from(words)));
        }
        thread::sleep(LOOKS);
    }
}

/// One viewer.
struct Viewer {
    told: watch::Receiver<Told>,
    has_begun: bool,
    _place: OwnedSemaphorePermit,
}

impl Viewer {
    /// What to say next.
    async fn next(&mut self) -> Option<Bytes> {
        if !self.has_begun {
            self.has_begun = true;
            self.told.mark_unchanged();
            return Some(Bytes::from_static(b"retry: 1000\n: ticks follow\n\n"));
        }
        match timeout(SILENCE, self.told.changed()).await {
            Ok(Ok(())) => Some(self.told.borrow_and_update().1.clone()),
            Ok(Err(_)) => None,
            Err(_) => Some(Bytes::from_static(b": still here\n\n")),
        }
    }
}

pub(super) async fn events(State(broadcast): State<Broadcast>) -> Response {
    let Ok(place) = Arc::clone(&broadcast.places).try_acquire_owned() else {
        return (StatusCode::SERVICE_UNAVAILABLE, "too many are watching already\n")
            .into_response();
    };
    let viewer = Viewer { told: broadcast.told, has_begun: false, _place: place };
    let lines = stream::unfold(viewer, |mut viewer| async move {
        let words = viewer.next().await?;
        Some((Ok::<_, Infallible>(words), viewer))
    });
    ([(header::CONTENT_TYPE, "text/event-stream")], Body::from_stream(lines)).into_response()
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::net::TcpStream;
    use std::time::Instant;

    use axum::Router;
    use axum::routing::get;
    use tokio::net::TcpListener;
    use tokio::time::sleep;

    use super::*;
    use crate::web::server;

    /// On a real socket, with ticks that are far more to read than it takes.
    #[tokio::test]
    async fn who_never_reads_is_let_go_and_no_tick_waits_for_it() {
        let (sender, told) = watch::channel((0, Bytes::new()));
        let places = Arc::new(Semaphore::new(1));
        let broadcast = Broadcast { told, places: Arc::clone(&places) };
        let router = Router::new().route("/events", get(events)).with_state(broadcast);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut viewer = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (stream, _) = listener.accept().await.unwrap();
        tokio::spawn(server::answer(super::super::patience::Patience::with(stream), router));
        viewer.write_all(b"GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
        let deadline = Instant::now() + Duration::from_secs(120);
        let waits_until = |is_so: &dyn Fn() -> bool| {
            assert!(Instant::now() < deadline, "waited in vain");
            !is_so()
        };
        while waits_until(&|| places.available_permits() == 0) {
            sleep(Duration::from_millis(10)).await;
        }
        let words = Bytes::from(vec![b'x'; 8 << 20]);
        let mut tick = 0;
        while waits_until(&|| places.available_permits() == 1) {
            tick += 1;
            sender.send_replace((tick, words.clone()));
            sleep(Duration::from_millis(10)).await;
        }
        // Its place is free again though it has not gone away.
        drop(viewer);
    }
}
