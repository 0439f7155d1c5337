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
//! | `answers` | what the pages are made from |
//! | `asked` | what an address asks for (pure) |
//! | `desk` | pages that were made, for who asks next |
//! | `dashboard` | `/`, its files, and `/api/v1/…` |
//! | `events` | `/events`: a line to everybody after every tick |
//! | `packed` | answers made smaller |
//! | `sign_in` | `/sign-in`: how a browser brings its token |
//! | `passes` | what a browser keeps in place of the token |
//! | `hands` | what takes a while: so much at once |
//! | `small` | a small page: a heading and what is to be said |
//! | `trouble` | what went wrong, as a page for people |

mod answers;
mod asked;
mod dashboard;
mod desk;
mod door;
mod events;
mod hands;
mod metrics;
mod packed;
mod pages;
mod passes;
mod patience;
mod server;
mod sign_in;
mod small;
mod tls;
mod trouble;

pub use answers::Answers;
pub use asked::{Asked, NO_PRICE};
pub use door::Door;
pub use pages::Pages;
pub use server::{Server, bind};
pub use tls::{TlsError, tls};
