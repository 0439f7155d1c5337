//! `/`, what is fetched for it, and the same for programs.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use gua_fleet::NotReady;
use jiff::Timestamp;

use super::answers::json;
use super::asked::{self, Asked, Senseless};
use super::desk::Desk;
use super::events::Broadcast;
use super::hands::quickly;
use crate::render::usage::html::{SCRIPT, STYLE};
use crate::safe::safe;

/// What all of these need.
#[derive(Debug, Clone)]
pub(super) struct Office {
    pub desk: Arc<Desk>,
    pub broadcast: Broadcast,
}

const HTML: &str = "text/html; charset=utf-8";
const JSON: &str = "application/json";

pub(super) async fn front(State(office): State<Office>, uri: Uri) -> Response {
    match asked::page(uri.query(), Timestamp::now(), office.desk.answers.has_prices()) {
        Ok((asked, address)) => {
            let tick = office.broadcast.tick();
            told(HTML, office.desk.page(asked, address, tick).await)
        }
        Err(error) => senseless(&error),
    }
}

pub(super) async fn live(State(office): State<Office>, uri: Uri) -> Response {
    match asked::page(uri.query(), Timestamp::now(), office.desk.answers.has_prices()) {
        Ok((asked, address)) => {
            let tick = office.broadcast.tick();
            told(HTML, office.desk.live(asked, address, tick).await)
        }
        Err(error) => senseless(&error),
    }
}

/// The answers of the commands, as they print them with `--json`.
pub(super) async fn api(
    State(office): State<Office>,
    Path(what): Path<String>,
    uri: Uri,
) -> Response {
    let answers = Arc::clone(&office.desk.answers);
    let query = uri.query();
    let answer = match what.as_str() {
        "report" => match asked::report(query, Timestamp::now(), answers.has_prices()) {
            Ok((asked, _)) => {
                let asked = Asked { sessions: None, ..asked };
                office.desk.hands.make(move || json(&answers.report(&asked)?)).await
            }
            Err(error) => return senseless(&error),
        },
        "who" => match asked::holders(query) {
            Ok(asked) => quickly(move || json(&answers.who(&asked)?)).await,
            Err(error) => return senseless(&error),
        },
        "stat" => quickly(move || json(&answers.now()?.ok_or(NotReady::NoTick)?)).await,
        "status" => quickly(move || json(&answers.status().without_paths())).await,
        _ => {
            let words = "there are /api/v1/report, /api/v1/who, /api/v1/stat and /api/v1/status\n";
            return (StatusCode::NOT_FOUND, words).into_response();
        }
    };
    told(JSON, answer.map(Bytes::from))
}

fn told(kind: &'static str, answer: Result<Bytes, NotReady>) -> Response {
    match answer {
        Ok(bytes) => ([(header::CONTENT_TYPE, kind)], bytes).into_response(),
        Err(error) => {
            let words = format!("{}\n", safe(&error.to_string()));
            // Who opened the page too early sees it when there is something to see.
            let again = [header::REFRESH, header::RETRY_AFTER]
                .map(|name| (name, HeaderValue::from_static("2")));
            (StatusCode::SERVICE_UNAVAILABLE, again, words).into_response()
        }
    }
}

fn senseless(error: &Senseless) -> Response {
    (StatusCode::BAD_REQUEST, format!("{}\n", safe(&error.to_string()))).into_response()
}

const ICON: &str = r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><rect width="16" height="16" rx="3" fill="#d55e00"/><path d="M3 11h10M3 8h6M3 5h3" stroke="#fff" stroke-width="2"/></svg>"##;

/// The files of the page. They change with the program only.
pub(super) async fn asset(Path(name): Path<String>, headers: HeaderMap) -> Response {
    let (kind, text) = match name.as_str() {
        "style.css" => ("text/css; charset=utf-8", STYLE),
        "script.js" => ("text/javascript; charset=utf-8", SCRIPT),
        "icon.svg" => ("image/svg+xml", ICON),
        _ => return (StatusCode::NOT_FOUND, "there is no such file\n").into_response(),
    };
    let tag = format!("\"{:x}\"", checksum(text));
    let known = headers.get(header::IF_NONE_MATCH).and_then(|tags| tags.to_str().ok());
    let cached = [(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"))];
    let Ok(tag_value) = HeaderValue::from_str(&tag) else {
        return (cached, text).into_response();
    };
    if known == Some(tag.as_str()) {
        return (StatusCode::NOT_MODIFIED, cached).into_response();
    }
    let headers =
        [(header::CONTENT_TYPE, HeaderValue::from_static(kind)), (header::ETAG, tag_value)];
    (cached, headers, text).into_response()
}

/// FNV-1a: tells one version from the next.
fn checksum(text: &str) -> u64 {
    let mix = |sum: u64, byte: u8| (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    text.bytes().fold(0xcbf2_9ce4_8422_2325, mix)
}
