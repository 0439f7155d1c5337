//! What listens: the only room with async in it, on a thread of its own.
//!
//! # Layout
//!
//! | module | what it holds |
//! |---|---|
//! | `door` | who may come in: hosts, tokens, methods, sizes (pure) |
//! | `tls` | certificates and keys |
//! | `patience` | a stream that does not wait for who does not read |
//! | `server` | connections: how many, how slow, how long |
//! | `pages` | what is answered to whom |
//! | `metrics` | `/metrics` |

mod door;
mod metrics;
mod pages;
mod patience;
mod server;
mod tls;

pub use door::Door;
pub use pages::Pages;
pub use server::{Server, bind};
pub use tls::{TlsError, tls};
