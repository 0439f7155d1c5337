//! Connections: how many, how slow, how long.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use axum::Extension;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use rustls::ServerConfig;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;

use super::hands::THREADS;
use super::metrics::Peer;
use super::pages::Pages;
use super::patience::Patience;
use crate::failure::Failure;

/// As many as a lab has screens, and some to spare. Others wait.
pub(super) const MOST_CONNECTIONS: usize = 512;

/// How long a request's head may take, and how long a connection may say nothing.
const SLOWEST_HEAD: Duration = Duration::from_secs(10);
const SLOWEST_HANDSHAKE: Duration = Duration::from_secs(10);

/// All headers of a request together.
const MOST_HEADER_BYTES: usize = 16 << 10;

/// When the host has no more files for us, some will be closed soon.
const OUT_OF_FILES: Duration = Duration::from_millis(100);

/// A socket that is listened on, and what is answered there.
#[derive(Debug)]
pub struct Server {
    pub listener: TcpListener,
    pub pages: Pages,
    pub tls: Option<Arc<ServerConfig>>,
}

/// Takes an address.
///
/// # Errors
/// When it cannot be had.
pub fn bind(address: SocketAddr) -> Result<TcpListener, Failure> {
    let bound = TcpListener::bind(address).and_then(|listener| {
        listener.set_nonblocking(true)?;
        Ok(listener)
    });
    bound.map_err(|error| Failure::Failed {
        what: format!("cannot listen on {address}: {error}"),
        next: "Name another address or port with --listen.".to_owned(),
    })
}

impl Server {
    /// Answers on a thread of its own, until the program ends.
    ///
    /// # Errors
    /// When no thread can be had.
    pub fn start(self) -> io::Result<()> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .max_blocking_threads(THREADS)
            .build()?;
        let listener = {
            let _inside = runtime.enter();
            tokio::net::TcpListener::from_std(self.listener)?
        };
        let (router, tls) = (self.pages.router()?, self.tls);
        thread::Builder::new()
            .name("web".into())
            .spawn(move || runtime.block_on(accept(listener, router, tls)))?;
        Ok(())
    }
}

async fn accept(
    listener: tokio::net::TcpListener,
    router: axum::Router,
    tls: Option<Arc<ServerConfig>>,
) {
    let places = Arc::new(Semaphore::new(MOST_CONNECTIONS));
    let tls = tls.map(TlsAcceptor::from);
    loop {
        let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
        let Ok((stream, from)) = listener.accept().await else {
            sleep(OUT_OF_FILES).await;
            continue;
        };
        let (stream, tls) = (Patience::with(stream), tls.clone());
        let router = router.clone().layer(Extension(Peer(from.ip())));
        tokio::spawn(async move {
            match tls {
                None => answer(stream, router).await,
                Some(tls) => {
                    if let Ok(Ok(stream)) = timeout(SLOWEST_HANDSHAKE, tls.accept(stream)).await {
                        answer(stream, router).await;
                    }
                }
            }
            drop(place);
        });
    }
}

/// Answers everything on one connection. Who breaks it off, or speaks no HTTP, is not told of:
/// it is nobody's trouble but theirs.
pub(super) async fn answer(stream: impl AsyncRead + AsyncWrite + Unpin, router: axum::Router) {
    let service = TowerToHyperService::new(router);
    let _ = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(SLOWEST_HEAD)
        .max_buf_size(MOST_HEADER_BYTES)
        .serve_connection(TokioIo::new(stream), service)
        .await;
}
