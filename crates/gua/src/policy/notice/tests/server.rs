//! A webhook on this machine: one that answers, and one that never does.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

pub struct Server {
    port: u16,
    asked: Receiver<String>,
}

impl Server {
    /// Takes one request after the other, and gives all the same answer.
    pub fn answering(status: &'static str) -> Self {
        Self::serving(move |mut stream| {
            let answer =
                format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
            stream.write_all(answer.as_bytes()).unwrap();
        })
    }

    /// Takes requests and says nothing, for ever.
    pub fn hanging() -> Self {
        Self::serving(std::mem::forget)
    }

    fn serving(answer: impl Fn(TcpStream) + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let (tell, asked) = channel();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let body = body_of(&stream);
                answer(stream);
                if tell.send(body).is_err() {
                    return;
                }
            }
        });
        Self { port, asked }
    }

    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}/hook", self.port)
    }

    /// What it was sent.
    pub fn body(&self) -> String {
        self.asked.recv_timeout(Duration::from_secs(60)).unwrap()
    }

    pub fn was_asked(&self) -> bool {
        !self.body().is_empty()
    }
}

/// Where nobody listens.
pub fn nobody() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    format!("http://127.0.0.1:{}/hook", listener.local_addr().unwrap().port())
}

fn body_of(stream: &TcpStream) -> String {
    let mut reader = BufReader::new(stream);
    let mut length = 0;
    for line in reader.by_ref().lines() {
        let line = line.unwrap().to_lowercase();
        if line.is_empty() {
            break;
        }
        if let Some(value) = line.strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    String::from_utf8(body).unwrap()
}
