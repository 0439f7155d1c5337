//! One request, one response.

use std::collections::BTreeSet;
use std::io::{BufReader, Read};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use gua_core::units::UnixMillis;

use super::access::{Access, mask_secrets};
use super::error::{EngineError, from_client, from_io};
use super::response::{self, Series};
use super::trust::tls_config;
use crate::labels::clean_label;

/// Longest text of an error that is read, in bytes.
const LONGEST_TEXT: u64 = 400;

/// Client of one engine.
#[derive(Debug)]
pub struct Client {
    agent: ureq::Agent,
    access: Access,
    /// Why responses are incomplete, or certificates are missing.
    warnings: Mutex<BTreeSet<String>>,
}

/// Times at equal steps.
#[derive(Debug, Clone, Copy)]
pub struct QueryRange {
    pub from: UnixMillis,
    pub to: UnixMillis,
    pub step: Duration,
}

/// Response to what was sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    pub status: u16,
    pub retry_after: Option<String>,
    /// Target of a redirect, which is not followed.
    pub location: Option<String>,
    pub text: String,
}

impl Client {
    /// # Errors
    /// When certificates cannot be read.
    pub fn new(access: Access) -> Result<Self, EngineError> {
        let (tls, problem) = tls_config(&access)?;
        let config = ureq::Agent::config_builder()
            .timeout_global(Some(access.timeout))
            .http_status_as_error(false)
            // A redirected request has no body, and the page there may respond with 200.
            .max_redirects(0)
            .user_agent(concat!("gua/", env!("CARGO_PKG_VERSION")))
            .tls_config(tls)
            .build();
        let warnings =
            problem.map(|error| format!("{error}; only those of the CA file are trusted"));
        let warnings = Mutex::new(warnings.into_iter().collect());
        Ok(Self { agent: config.new_agent(), access, warnings })
    }

    #[must_use]
    pub fn url(&self) -> &str {
        &self.access.url
    }

    /// Returns what the user should know of the responses so far: why they are incomplete.
    #[must_use]
    pub fn warnings(&self) -> Vec<String> {
        self.warnings.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }

    /// Runs a query at one time.
    ///
    /// # Errors
    /// When there is no response.
    pub fn query(
        &self,
        query: &str,
        at: UnixMillis,
        each: impl FnMut(Series),
    ) -> Result<(), EngineError> {
        self.request("query", &[("query", query), ("time", &format_seconds(at))], each)
    }

    /// Runs a query over a range of times.
    ///
    /// # Errors
    /// When there is no response.
    pub fn query_range(
        &self,
        query: &str,
        range: QueryRange,
        each: impl FnMut(Series),
    ) -> Result<(), EngineError> {
        let (from, to) = (format_seconds(range.from), format_seconds(range.to));
        let step = range.step.as_secs_f64().to_string();
        let form = [("query", query), ("start", &from), ("end", &to), ("step", &step)];
        self.request("query_range", &form, each)
    }

    /// Posts a body to the address itself.
    ///
    /// # Errors
    /// When there is no response.
    pub fn send(&self, headers: &[(&str, &str)], body: &[u8]) -> Result<Reply, EngineError> {
        let mut request = self.agent.post(self.url());
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        if let Some(credentials) = self.access.credentials.header()? {
            request = request.header("Authorization", credentials);
        }
        let response = request.send(body).map_err(|error| self.error(error))?;
        let retry = response.headers().get("retry-after").and_then(|it| it.to_str().ok());
        let retry_after = retry.map(str::to_owned);
        let status = response.status().as_u16();
        let location = location(&response).map(|location| clean_label(&mask_secrets(&location)));
        Ok(Reply { status, retry_after, location, text: read_text(response.into_body()) })
    }

    fn request(
        &self,
        path: &str,
        form: &[(&str, &str)],
        each: impl FnMut(Series),
    ) -> Result<(), EngineError> {
        let mut request = self.agent.post(format!("{}/api/v1/{path}", self.url()));
        if let Some(credentials) = self.access.credentials.header()? {
            request = request.header("Authorization", credentials);
        }
        // VictoriaMetrics would leave out the newest half minute otherwise.
        let form = form.iter().copied().chain([("nocache", "1")]);
        let response = request.send_form(form).map_err(|error| self.error(error))?;
        let status = response.status().as_u16();
        let location = location(&response);
        let body = response.into_body();
        let url = self.url().to_owned();
        match status {
            200..=299 => self.read(body, each),
            300..=399 => Err(EngineError::Redirected {
                url,
                status,
                location: base_address(&location.unwrap_or_default(), path),
            }),
            401 | 403 => Err(EngineError::Refused { url, status }),
            404 | 405 => Err(EngineError::NotAnEngine {
                url,
                why: format!("it has no /api/v1/{path} (HTTP {status})"),
            }),
            _ => {
                let text = response::error_text(&read_text(body));
                Err(EngineError::Status { url, status, text })
            }
        }
    }

    fn read(&self, body: ureq::Body, each: impl FnMut(Series)) -> Result<(), EngineError> {
        let reader = body.into_with_config().limit(u64::MAX).reader();
        let read = response::read_series(BufReader::with_capacity(256 << 10, reader), each);
        let warnings = read.map_err(|error| match error.io_error_kind() {
            Some(_) => from_io(self.url(), &error.into(), self.access.timeout),
            None => EngineError::NotAnEngine { url: self.url().to_owned(), why: error.to_string() },
        })?;
        self.warnings.lock().unwrap_or_else(PoisonError::into_inner).extend(warnings);
        Ok(())
    }

    fn error(&self, error: ureq::Error) -> EngineError {
        from_client(self.url(), error, self.access.timeout)
    }
}

fn location(response: &ureq::http::Response<ureq::Body>) -> Option<String> {
    let location = response.headers().get("location").and_then(|it| it.to_str().ok());
    location.map(str::to_owned)
}

/// Returns the address to use in place of one that was redirected.
fn base_address(location: &str, path: &str) -> String {
    let address = location.split(['?', '#']).next().unwrap_or_default();
    let base = address.strip_suffix(&format!("/api/v1/{path}"));
    clean_label(&mask_secrets(base.unwrap_or(location)))
}

/// Returns the begin of a body. One that cannot be read is empty, as the status says enough.
fn read_text(body: ureq::Body) -> String {
    let mut bytes = Vec::new();
    let _ = body.into_reader().take(LONGEST_TEXT).read_to_end(&mut bytes);
    String::from_utf8_lossy(&bytes).trim().to_owned()
}

/// Returns a time as the API takes it: seconds with milliseconds.
fn format_seconds(at: UnixMillis) -> String {
    format!("{}.{:03}", at.0.div_euclid(1000), at.0.rem_euclid(1000))
}
