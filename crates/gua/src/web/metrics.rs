//! `/metrics`: the newest frame as text.

use std::net::IpAddr;
use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use gua_fleet::{Format, Frames, NotReady, Scraper, ServedFrame, format_text};

use super::hands::scraped;

/// Where a request comes from.
#[derive(Debug, Clone, Copy)]
pub(super) struct Peer(pub IpAddr);

/// A history may have to be read, so that is done where it keeps nobody waiting.
pub(super) async fn metrics(
    State(frames): State<Arc<dyn Frames>>,
    Extension(Peer(peer)): Extension<Peer>,
    method: Method,
    headers: HeaderMap,
) -> Response {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let format = Format::from_accept(text(header::ACCEPT));
    // Two on one host differ in what they are; who only asks whether it is there is neither.
    let scraper = Scraper(format!("{peer} {method} {}", text(header::USER_AGENT)));
    answer(scraped(move || frames.newest(&scraper)).await, format)
}

fn answer(frame: Result<ServedFrame, NotReady>, format: Format) -> Response {
    match frame {
        Ok(ServedFrame { frame, served }) => {
            let kind = [(header::CONTENT_TYPE, format.content_type())];
            (kind, format_text(&frame, served, format)).into_response()
        }
        Err(error) => (StatusCode::SERVICE_UNAVAILABLE, format!("{error}\n")).into_response(),
    }
}
