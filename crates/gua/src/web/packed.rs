//! Answers made smaller for who can unpack them: a month is a quarter of a megabyte of markup.

use std::io::{self, Write};

use axum::body::{Body, to_bytes};
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use flate2::Compression;
use flate2::write::GzEncoder;
use gua_fleet::NotReady;

use super::hands::quickly;

/// Packs what is answered, where it is all there and is asked for so.
pub(super) async fn packed(request: Request, next: Next) -> Response {
    let may_be = *request.method() == Method::GET && accepts_gzip(request.headers());
    let mut response = next.run(request).await;
    let vary = HeaderValue::from_static("Accept-Encoding");
    response.headers_mut().insert(header::VARY, vary);
    if !may_be || response.status() != StatusCode::OK {
        return response;
    }
    smaller(response).await.unwrap_or_else(|error| {
        (StatusCode::INTERNAL_SERVER_ERROR, format!("{error}\n")).into_response()
    })
}

async fn smaller(response: Response) -> Result<Response, NotReady> {
    let failed = |error: String| NotReady::Unreadable(format!("it could not be packed: {error}"));
    let (mut parts, body) = response.into_parts();
    let plain = to_bytes(body, usize::MAX).await.map_err(|error| failed(error.to_string()))?;
    let small =
        quickly(move || gzip(&plain).map_err(|error| NotReady::Unreadable(error.to_string())));
    let small = small.await?;
    parts.headers.remove(header::CONTENT_LENGTH);
    parts.headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    Ok(Response::from_parts(parts, Body::from(small)))
}

/// Quickly: the network between a lab and its hosts is not slow.
fn gzip(plain: &[u8]) -> io::Result<Vec<u8>> {
    let mut packer = GzEncoder::new(Vec::new(), Compression::fast());
    packer.write_all(plain)?;
    packer.finish()
}

fn accepts_gzip(headers: &HeaderMap) -> bool {
    let lists = headers.get_all(header::ACCEPT_ENCODING).iter();
    lists.filter_map(|list| list.to_str().ok()).flat_map(|list| list.split(',')).any(|one| {
        let (name, weight) = one.split_once(';').unwrap_or((one, ""));
        let is_refused = weight
            .trim()
            .strip_prefix("q=")
            .is_some_and(|weight| weight.trim().parse::<f32>().is_ok_and(|weight| weight <= 0.0));
        name.trim().eq_ignore_ascii_case("gzip") && !is_refused
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gzip_is_taken_where_it_is_not_refused() {
        for (list, is_taken) in [
            ("gzip", true),
            ("br, GZIP;q=0.5", true),
            ("gzip; q=0", false),
            ("gzip;q=0.0", false),
            ("br", false),
            ("", false),
        ] {
            let headers = [(header::ACCEPT_ENCODING, HeaderValue::from_static(list))];
            assert_eq!(accepts_gzip(&headers.into_iter().collect()), is_taken, "{list}");
        }
    }
}
