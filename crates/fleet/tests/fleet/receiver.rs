//! A receiver of remote write.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;

use gua_fleet::message::WriteRequest;
use prost::Message;

/// Status and text of a response, for the message of a request.
type Respond = dyn Fn(&WriteRequest) -> (&'static str, &'static str) + Send;

pub struct Receiver {
    pub url: String,
    state: Arc<Mutex<ReceiverState>>,
}

pub struct ReceiverState {
    pub respond: Box<Respond>,
    /// Heads of all requests.
    pub heads: Vec<String>,
    /// Samples that were taken: by series, by time.
    pub taken: BTreeMap<String, BTreeMap<i64, f64>>,
}

impl Receiver {
    /// Starts a receiver that takes everything.
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/api/v1/write", listener.local_addr().unwrap());
        let state = Arc::new(Mutex::new(ReceiverState {
            respond: Box::new(|_| ("204 No Content", "")),
            heads: Vec::new(),
            taken: BTreeMap::new(),
        }));
        let shared = Arc::clone(&state);
        thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                let (head, body) = read_request(&mut stream);
                let (status, text) = shared.lock().unwrap().receive(head, &body);
                let length = text.len();
                let response = format!(
                    "HTTP/1.1 {status}\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{text}"
                );
                stream.write_all(response.as_bytes()).unwrap();
            }
        });
        Self { url, state }
    }

    pub fn lock(&self) -> MutexGuard<'_, ReceiverState> {
        self.state.lock().unwrap()
    }

    pub fn respond(
        &self,
        respond: impl Fn(&WriteRequest) -> (&'static str, &'static str) + Send + 'static,
    ) {
        self.lock().respond = Box::new(respond);
    }

    /// Returns the samples of a series of the host.
    pub fn samples(&self, name: &str) -> BTreeMap<i64, f64> {
        let taken = &self.lock().taken;
        let is_it = |series: &&String| series.contains(&format!("__name__={name},"));
        let found = taken.keys().find(is_it);
        found.map(|series| taken[series].clone()).unwrap_or_default()
    }

    pub fn requests(&self) -> usize {
        self.lock().heads.len()
    }
}

impl ReceiverState {
    fn receive(&mut self, head: String, body: &[u8]) -> (&'static str, &'static str) {
        self.heads.push(head);
        let message = snap::raw::Decoder::new().decompress_vec(body).unwrap();
        let request = WriteRequest::decode(&message[..]).unwrap();
        let response = (self.respond)(&request);
        if response.0.starts_with('2') {
            for series in request.timeseries {
                let labels = series.labels.iter().map(|it| format!("{}={},", it.name, it.value));
                let taken = self.taken.entry(labels.collect()).or_default();
                for sample in series.samples {
                    if let Some(before) = taken.insert(sample.timestamp, sample.value) {
                        assert_eq!(before.to_bits(), sample.value.to_bits(), "sent again");
                    }
                }
            }
        }
        response
    }
}

/// Returns the times of a request's messages.
pub fn times(request: &WriteRequest) -> Vec<i64> {
    let is_tick =
        |label: &gua_fleet::message::Label| label.value == "gua_last_tick_timestamp_seconds";
    let series = request.timeseries.iter().filter(|series| series.labels.iter().any(is_tick));
    series.flat_map(|series| series.samples.iter().map(|sample| sample.timestamp)).collect()
}

/// Reads a request to its end.
fn read_request(stream: &mut impl Read) -> (String, Vec<u8>) {
    let (mut all, mut part) = (Vec::new(), [0; 65_536]);
    loop {
        let length = stream.read(&mut part).unwrap_or(0);
        all.extend_from_slice(&part[..length]);
        let end = all.windows(4).position(|it| it == b"\r\n\r\n").unwrap_or(all.len());
        let head = String::from_utf8_lossy(&all[..end]).to_lowercase();
        let expected = head.split("content-length: ").nth(1);
        let expected: usize = expected.map_or(0, |it| it.lines().next().unwrap().parse().unwrap());
        let body = all.get(end + 4..).unwrap_or_default();
        if length == 0 || (end < all.len() && body.len() >= expected) {
            return (head, body.to_vec());
        }
    }
}
