//! What is answered to whom.

use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::get;

use super::door::{Door, Refusal};
use super::metrics;
use crate::counting::Frames;

/// Everything that can be asked for.
#[derive(Debug, Clone)]
pub struct Pages {
    pub door: Door,
    pub frames: Arc<dyn Frames>,
}

impl Pages {
    pub(super) fn router(self) -> Router {
        let door = Arc::new(self.door);
        Router::new()
            .route("/", get(front))
            .route("/metrics", get(metrics::metrics).with_state(self.frames))
            .fallback(nothing)
            .layer(middleware::from_fn_with_state(door, through_the_door))
    }
}

/// Nobody gets past it unseen, whatever they ask for.
async fn through_the_door(State(door): State<Arc<Door>>, request: Request, next: Next) -> Response {
    let checked = door.check(request.method(), request.uri().path(), request.headers());
    let mut response = match checked {
        Ok(()) => next.run(request).await,
        Err(refusal) => refusal.into_response(),
    };
    let headers = response.headers_mut();
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let mut response = (self.status, format!("{}\n", self.why)).into_response();
        let headers = response.headers_mut();
        // Who is refused keeps no place that others could have.
        headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
        match self.status {
            StatusCode::UNAUTHORIZED => headers
                .insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer realm=\"gua\"")),
            StatusCode::METHOD_NOT_ALLOWED => {
                headers.insert(header::ALLOW, HeaderValue::from_static("GET, HEAD"))
            }
            _ => None,
        };
        response
    }
}

async fn front() -> &'static str {
    "gua: /metrics has the counters of this host for Prometheus\n"
}

async fn nothing() -> Response {
    (StatusCode::NOT_FOUND, "there is nothing here; /metrics has the counters of this host\n")
        .into_response()
}
