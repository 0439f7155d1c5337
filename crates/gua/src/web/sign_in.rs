//! `/sign-in`: how a browser brings its token.
//!
//! A form, so that the secret is in no address, no history and no log. The cookie that it sets
//! is sent to this host only, is read by no script, and is the token itself: nothing is kept here
//! that a restart would forget.

use std::sync::Arc;
use std::time::Duration;

use axum::Extension;
use axum::body::{Body, to_bytes};
use axum::extract::State;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{Html, IntoResponse, Response};
use maud::{DOCTYPE, html};
use tokio::time::timeout;

use super::asked::decoded;
use super::door::{COOKIE, Door};
use super::metrics::Peer;

/// Longer than any token in a form.
const MOST_BYTES: usize = 16 << 10;
/// Nobody types while it is sent.
const SLOWEST: Duration = Duration::from_secs(10);
/// How long a browser may stay signed in.
const LASTS_SECONDS: u32 = 30 * 86_400;

pub(super) async fn form() -> Response {
    page(None)
}

fn page(wrong: Option<&str>) -> Response {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { "Sign in — gua" }
                link rel="icon" href="/assets/icon.svg" type="image/svg+xml";
                link rel="stylesheet" href="/assets/style.css";
            }
            body {
                main.sign-in {
                    h1 { "Who may look?" }
                    p { "This page tells who holds which card. The token is in the file that "
                        code { "--token-file" } " names on the host." }
                    @if let Some(wrong) = wrong { p.wrong role="alert" { (wrong) } }
                    form method="post" action="/sign-in" {
                        label for="token" { "Token" }
                        input id="token" name="token" type="password" autocomplete="current-password" required autofocus;
                        button type="submit" { "Sign in" }
                    }
                }
            }
        }
    };
    let status = if wrong.is_some() { StatusCode::UNAUTHORIZED } else { StatusCode::OK };
    (status, Html(page.into_string())).into_response()
}

/// Takes a token, and remembers it in the browser where it is the right one.
pub(super) async fn sign_in(
    State(door): State<Arc<Door>>,
    Extension(Peer(from)): Extension<Peer>,
    body: Body,
) -> Response {
    let body = match timeout(SLOWEST, to_bytes(body, MOST_BYTES)).await {
        Ok(Ok(body)) => body,
        Ok(Err(_)) => return refused(StatusCode::PAYLOAD_TOO_LARGE, "no token is so long\n"),
        Err(_) => return refused(StatusCode::REQUEST_TIMEOUT, "the token did not come\n"),
    };
    let text = String::from_utf8_lossy(&body);
    let given = text.split('&').find_map(|part| part.strip_prefix("token="));
    let given = decoded(given.unwrap_or_default());
    if !door.guesses.are_left(from) {
        let mut answer = page(Some("Too many wrong tokens were tried; wait a minute."));
        *answer.status_mut() = StatusCode::TOO_MANY_REQUESTS;
        return answer;
    }
    if !door.is_token(given.trim()) {
        door.guesses.was_wrong(from);
        return page(Some("That is not the token."));
    }
    let secure = if door.is_secure { "; Secure" } else { "" };
    let cookie = format!(
        "{COOKIE}={}; Path=/; Max-Age={LASTS_SECONDS}; HttpOnly; SameSite=Strict{secure}",
        given.trim()
    );
    match HeaderValue::from_str(&cookie) {
        Ok(cookie) => {
            let to = HeaderValue::from_static("/");
            let headers = [(header::SET_COOKIE, cookie), (header::LOCATION, to)];
            (StatusCode::SEE_OTHER, headers).into_response()
        }
        Err(_) => page(Some("That is not the token.")),
    }
}

/// With the end of the connection: what of it is still to come is not waited for.
fn refused(status: StatusCode, why: &'static str) -> Response {
    let closes = [(header::CONNECTION, HeaderValue::from_static("close"))];
    (status, closes, why).into_response()
}
