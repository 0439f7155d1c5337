//! What went wrong, as a page for people: what a program reads as a line leaves them without a way
//! back.

use axum::body::{Body, to_bytes};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use maud::{Markup, html};

use super::small;

/// Longer than any sentence of ours.
const MOST_BYTES: usize = 16 << 10;

/// The same answer; where it is a line about trouble, as a page.
pub(super) async fn for_people(response: Response) -> Response {
    let status = response.status();
    let is_trouble = status.is_client_error() || status.is_server_error();
    let kind = response.headers().get(header::CONTENT_TYPE);
    let is_line = kind.is_some_and(|kind| kind.as_bytes().starts_with(b"text/plain"));
    if !is_trouble || !is_line {
        return response;
    }
    let (mut parts, body) = response.into_parts();
    let words = to_bytes(body, MOST_BYTES).await;
    let words = words.unwrap_or_else(|_| "The reason is unknown; the log may have it.".into());
    let asks_again = parts.headers.contains_key(header::REFRESH);
    let page = page(status, String::from_utf8_lossy(&words).trim(), asks_again).into_string();
    parts.headers.remove(header::CONTENT_LENGTH);
    let kind = HeaderValue::from_static("text/html; charset=utf-8");
    parts.headers.insert(header::CONTENT_TYPE, kind);
    Response::from_parts(parts, Body::from(page))
}

fn page(status: StatusCode, words: &str, asks_again: bool) -> Markup {
    let title = title(status);
    // Who may not be here by this name gets no further by a link.
    let may_go_on = !matches!(status, StatusCode::FORBIDDEN | StatusCode::MISDIRECTED_REQUEST);
    let said = html! {
        p { (words) }
        @if asks_again { p { "This page asks again by itself." } }
        @if may_go_on { p { a href="/" { "To the last 24 hours" } } }
    };
    small::page(title, title, &said)
}

fn title(status: StatusCode) -> &'static str {
    match status {
        StatusCode::BAD_REQUEST => "This cannot be shown",
        StatusCode::NOT_FOUND => "There is nothing here",
        StatusCode::SERVICE_UNAVAILABLE => "Not yet",
        StatusCode::FORBIDDEN | StatusCode::MISDIRECTED_REQUEST => "Not from here",
        _ => "This did not work",
    }
}
