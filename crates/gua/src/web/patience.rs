//! A stream that does not wait for ever for who does not read.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

/// How long an answer may take from when it first has to wait until all of it is away.
const SLOWEST_READER: Duration = Duration::from_secs(10);

/// Breaks off when an answer is not read in time. Not by progress: a byte now and then would
/// keep a place for ever.
#[derive(Debug)]
pub(super) struct Patience<S> {
    stream: S,
    waits: Option<Pin<Box<Sleep>>>,
}

impl<S> Patience<S> {
    pub const fn with(stream: S) -> Self {
        Self { stream, waits: None }
    }

    /// What to do about something that has to wait.
    fn wait<T>(&mut self, context: &mut Context<'_>) -> Poll<io::Result<T>> {
        let waits = self.waits.get_or_insert_with(|| Box::pin(sleep(SLOWEST_READER)));
        waits.as_mut().poll(context).map(|()| Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Patience<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, into)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Patience<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match Pin::new(&mut self.stream).poll_write(context, bytes) {
            Poll::Pending => self.wait(context),
            written @ Poll::Ready(_) => written,
        }
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match Pin::new(&mut self.stream).poll_write_vectored(context, bytes) {
            Poll::Pending => self.wait(context),
            written @ Poll::Ready(_) => written,
        }
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    /// It is asked for when all that there was to write is written.
    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match Pin::new(&mut self.stream).poll_flush(context) {
            Poll::Pending => self.wait(context),
            flushed @ Poll::Ready(_) => {
                self.waits = None;
                flushed
            }
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match Pin::new(&mut self.stream).poll_shutdown(context) {
            Poll::Pending => self.wait(context),
            shut @ Poll::Ready(_) => shut,
        }
    }
}
