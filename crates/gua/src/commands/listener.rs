//! A socket that is taken early, so that who started us hears why not, and answered on later.

use std::net::TcpListener;
use std::sync::Arc;

use gua_fleet::Frames;
use rustls::ServerConfig;

use crate::config::Listen;
use crate::failure::Failure;
use crate::web::{self, Answers, Door, Pages, Server};

/// An address that is ours.
#[derive(Debug)]
pub(super) struct Listener {
    listen: Listen,
    listener: TcpListener,
    tls: Option<Arc<ServerConfig>>,
}

impl Listener {
    pub fn take(listen: Listen) -> Result<Self, Failure> {
        let tls = listen.tls.as_ref().map(web::tls).transpose()?;
        let listener = web::bind(listen.address)?;
        Ok(Self { listen, listener, tls })
    }

    /// Answers from now on; gives the words for it.
    pub fn start(
        self,
        frames: Arc<dyn Frames>,
        answers: Arc<dyn Answers>,
        hostname: Option<String>,
    ) -> Result<String, Failure> {
        let Self { listen, listener, tls } = self;
        let address = listener.local_addr()?;
        let scheme = if tls.is_some() { "https" } else { "http" };
        let pages = Pages { door: Door::new(&listen, hostname)?, frames, answers };
        Server { listener, pages, tls }.start()?;
        Ok(format!("the page is at {scheme}://{address}/, metrics are at /metrics"))
    }
}
