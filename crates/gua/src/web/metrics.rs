//! `/metrics`: the newest frame as text.

use std::sync::Arc;

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};

use crate::counting::{Frames, NotReady, Shown};
use crate::metrics::{Format, text};

/// A history may have to be read, so that is done where it keeps nobody waiting.
pub(super) async fn metrics(State(frames): State<Arc<dyn Frames>>, headers: HeaderMap) -> Response {
    let accept = headers.get(header::ACCEPT).and_then(|accept| accept.to_str().ok());
    let format = Format::accepted(accept.unwrap_or_default());
    match tokio::task::spawn_blocking(move || frames.newest()).await {
        Ok(shown) => answer(shown, format),
        Err(_) => (StatusCode::INTERNAL_SERVER_ERROR, "the history was not read\n").into_response(),
    }
}

fn answer(shown: Result<Shown, NotReady>, format: Format) -> Response {
    match shown {
        Ok(Shown { frame, served }) => {
            let kind = [(header::CONTENT_TYPE, format.content_type())];
            (kind, text(&frame, served, format)).into_response()
        }
        Err(error) => (StatusCode::SERVICE_UNAVAILABLE, format!("{error}\n")).into_response(),
    }
}
