//! What is answered to whom.

use std::io;
use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use gua_fleet::Frames;
use jiff::Timestamp;

use super::answers::Answers;
use super::dashboard::{self, Office};
use super::desk::Desk;
use super::door::{Door, Refusal, SIGN_IN};
use super::events::{self, Broadcast};
use super::packed::packed;
use super::{metrics, sign_in, trouble};

/// Everything that can be asked for.
#[derive(Debug)]
pub struct Pages {
    pub door: Door,
    pub frames: Arc<dyn Frames>,
    pub answers: Arc<dyn Answers>,
}

impl Pages {
    pub(super) fn router(self) -> io::Result<Router> {
        let door = Arc::new(self.door);
        let broadcast = Broadcast::start(Arc::clone(&self.answers))?;
        let desk = Arc::new(Desk::new(self.answers));
        let office = Office { desk, broadcast: broadcast.clone() };
        Ok(Router::new()
            .route("/", get(dashboard::front))
            .route("/api/v1/{what}", get(dashboard::api))
            .layer(middleware::from_fn(packed))
            // Short, and the same bytes for all.
            .route("/live", get(dashboard::live))
            .with_state(office)
            .route("/events", get(events::events).with_state(broadcast))
            .route("/metrics", get(metrics::metrics).with_state(self.frames))
            .route("/assets/{name}", get(dashboard::asset))
            .route(SIGN_IN, get(sign_in::form).post(sign_in::sign_in).with_state(Arc::clone(&door)))
            .fallback(nothing)
            .layer(middleware::from_fn_with_state(door, through_the_door)))
    }
}

/// Nothing is loaded from elsewhere, nothing runs that is not a file of ours, and nobody shows
/// it within a page of theirs.
const POLICY: &str =
    "default-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'";

/// Nobody gets past it unseen, whatever they ask for.
async fn through_the_door(State(door): State<Arc<Door>>, request: Request, next: Next) -> Response {
    let is_person = accepts_pages(request.headers());
    let (path, headers) = (request.uri().path(), request.headers());
    let checked = door.check(request.method(), path, headers, Timestamp::now());
    let mut response = match checked {
        Ok(()) => next.run(request).await,
        Err(refusal) if refusal.status == StatusCode::UNAUTHORIZED && is_person => {
            sign_in::led_here(query_of_the_page(request.uri()))
        }
        Err(refusal) => refusal.into_response(),
    };
    if is_person {
        response = trouble::for_people(response).await;
    }
    let headers = response.headers_mut();
    let fixed = [
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::REFERRER_POLICY, "same-origin"),
    ];
    for (name, value) in fixed {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    response
}

fn accepts_pages(headers: &HeaderMap) -> bool {
    let accepts = headers.get(header::ACCEPT).and_then(|kinds| kinds.to_str().ok());
    accepts.is_some_and(|kinds| kinds.contains("text/html"))
}

/// Only what the page itself was asked is asked again.
fn query_of_the_page(uri: &Uri) -> Option<&str> {
    uri.query().filter(|_| uri.path() == "/")
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

async fn nothing() -> Response {
    let words = "there is nothing here; / has the page, /metrics the counters, /api/v1/report, \
                 who, stat and status the same as JSON\n";
    (StatusCode::NOT_FOUND, words).into_response()
}
