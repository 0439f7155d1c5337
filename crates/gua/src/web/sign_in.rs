//! `/sign-in`: how a browser brings its token.
//!
//! A form, so that the secret is in no address, no history and no log; what the browser keeps is
//! a pass. What it was asked to show is carried through, as what it means and never as an address:
//! nobody is led anywhere but to `/`.

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, to_bytes};
use axum::extract::State;
use axum::http::{HeaderValue, StatusCode, Uri, header};
use axum::response::{Html, IntoResponse, Response};
use jiff::Timestamp;
use maud::html;
use tokio::time::timeout;

use super::asked::{self, decoded};
use super::door::{Door, SIGN_IN};
use super::small;
use crate::render::usage::html::address::Address;

/// Longer than any token in a form.
const MOST_BYTES: usize = 16 << 10;
/// Nobody types while it is sent.
const SLOWEST: Duration = Duration::from_secs(10);

pub(super) async fn form(State(door): State<Arc<Door>>, uri: Uri) -> Response {
    let address = address(uri.query());
    if door.has_token() { page(&address, None) } else { led(&address.href("/")) }
}

/// What a page was asked to show; what makes no sense is left behind.
fn address(query: Option<&str>) -> Address {
    asked::page(query, Timestamp::now(), true).map(|(_, address)| address).unwrap_or_default()
}

/// Where to sign in, to be shown this page after it.
pub(super) fn led_here(query: Option<&str>) -> Response {
    led(&address(query).href(SIGN_IN))
}

fn led(to: &str) -> Response {
    match HeaderValue::from_str(to) {
        Ok(to) => (StatusCode::SEE_OTHER, [(header::LOCATION, to)]).into_response(),
        Err(_) => StatusCode::BAD_REQUEST.into_response(),
    }
}

fn page(address: &Address, wrong: Option<&str>) -> Response {
    let said = html! {
        p { "This page tells who holds which card. The token is in the file that "
            code { "--token-file" } " names on the host." }
        @if let Some(wrong) = wrong { p.wrong role="alert" { (wrong) } }
        form method="post" action=(address.href(SIGN_IN)) {
            label for="token" { "Token" }
            input id="token" name="token" type="password" autocomplete="current-password" required autofocus;
            button type="submit" { "Sign in" }
        }
    };
    let page = small::page("Sign in", "Who may look?", &said);
    let status = if wrong.is_some() { StatusCode::UNAUTHORIZED } else { StatusCode::OK };
    (status, Html(page.into_string())).into_response()
}

/// Takes a token, and remembers it in the browser where it is the right one.
pub(super) async fn sign_in(State(door): State<Arc<Door>>, uri: Uri, body: Body) -> Response {
    let body = match timeout(SLOWEST, to_bytes(body, MOST_BYTES)).await {
        Ok(Ok(body)) => body,
        Ok(Err(_)) => return refused(StatusCode::PAYLOAD_TOO_LARGE, "no token is so long\n"),
        Err(_) => return refused(StatusCode::REQUEST_TIMEOUT, "the token did not come\n"),
    };
    let text = String::from_utf8_lossy(&body);
    let given = text.split('&').find_map(|part| part.strip_prefix("token="));
    let given = decoded(given.unwrap_or_default());
    let address = address(uri.query());
    if door.is_token(given.trim()) {
        signed_in(&door, &address)
    } else {
        page(&address, Some("That is not the token."))
    }
}

fn signed_in(door: &Door, address: &Address) -> Response {
    let mut answer = led(&address.href("/"));
    if let Ok(cookie) = HeaderValue::from_str(&door.cookie(Timestamp::now())) {
        answer.headers_mut().insert(header::SET_COOKIE, cookie);
    }
    answer
}

/// With the end of the connection: what of it is still to come is not waited for.
fn refused(status: StatusCode, why: &'static str) -> Response {
    let closes = [(header::CONNECTION, HeaderValue::from_static("close"))];
    (status, closes, why).into_response()
}
