//! One request, one answer.

use std::collections::BTreeSet;
use std::io::{BufReader, Read};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use probe::units::UnixMillis;

use super::access::{Access, masked};
use super::answer::{self, Series};
use super::error::{EngineError, broken, told};
use super::trust::trust;
use crate::safe::safe;

/// How much of an error is worth showing.
const MOST_WORDS: u64 = 400;

/// Asks one engine.
#[derive(Debug)]
pub struct Client {
    agent: ureq::Agent,
    access: Access,
    /// Why answers were not whole.
    flaws: Mutex<BTreeSet<String>>,
}

/// Points of time at one distance.
#[derive(Debug, Clone, Copy)]
pub struct Span {
    pub from: UnixMillis,
    pub to: UnixMillis,
    pub step: Duration,
}

/// What came back of what was sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    pub status: u16,
    pub retry_after: Option<String>,
    /// Where a redirect would lead; it is not followed.
    pub leads_to: Option<String>,
    pub words: String,
}

impl Client {
    /// Gets ready to ask.
    ///
    /// # Errors
    /// When the certificates to trust cannot be read.
    pub fn new(access: Access) -> Result<Self, EngineError> {
        let config = ureq::Agent::config_builder()
            .timeout_global(Some(access.timeout))
            .http_status_as_error(false)
            // Followed, a body would be left behind, and the page there would say that all is well.
            .max_redirects(0)
            .user_agent(concat!("gua/", env!("CARGO_PKG_VERSION")))
            .tls_config(trust(&access)?)
            .build();
        Ok(Self { agent: config.new_agent(), access, flaws: Mutex::default() })
    }

    #[must_use]
    pub fn url(&self) -> &str {
        &self.access.url
    }

    /// Why the answers so far were not whole, where they said so.
    #[must_use]
    pub fn flaws(&self) -> Vec<String> {
        self.flaws.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }

    /// What a question has for an answer at one moment.
    ///
    /// # Errors
    /// When there is none.
    pub fn at(
        &self,
        query: &str,
        at: UnixMillis,
        each: impl FnMut(Series),
    ) -> Result<(), EngineError> {
        self.ask("query", &[("query", query), ("time", &seconds(at))], each)
    }

    /// What a question has for answers over a time.
    ///
    /// # Errors
    /// When there is none.
    pub fn over(
        &self,
        query: &str,
        span: Span,
        each: impl FnMut(Series),
    ) -> Result<(), EngineError> {
        let (from, to) = (seconds(span.from), seconds(span.to));
        let step = span.step.as_secs_f64().to_string();
        let form = [("query", query), ("start", &from), ("end", &to), ("step", &step)];
        self.ask("query_range", &form, each)
    }

    /// Sends a body to exactly this address.
    ///
    /// # Errors
    /// When it did not get there, or nothing came back.
    pub fn send(&self, headers: &[(&str, &str)], body: &[u8]) -> Result<Reply, EngineError> {
        let mut request = self.agent.post(self.url());
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        if let Some(who) = self.access.credentials.header()? {
            request = request.header("Authorization", who);
        }
        let response = request.send(body).map_err(|error| self.told(error))?;
        let retry = response.headers().get("retry-after").and_then(|it| it.to_str().ok());
        let retry_after = retry.map(str::to_owned);
        let status = response.status().as_u16();
        let leads_to = location(&response);
        Ok(Reply { status, retry_after, leads_to, words: words(response.into_body()) })
    }

    fn ask(
        &self,
        what: &str,
        form: &[(&str, &str)],
        each: impl FnMut(Series),
    ) -> Result<(), EngineError> {
        let mut request = self.agent.post(format!("{}/api/v1/{what}", self.url()));
        if let Some(who) = self.access.credentials.header()? {
            request = request.header("Authorization", who);
        }
        // VictoriaMetrics would leave out the newest half minute otherwise.
        let form = form.iter().copied().chain([("nocache", "1")]);
        let response = request.send_form(form).map_err(|error| self.told(error))?;
        let status = response.status().as_u16();
        let leads_to = location(&response);
        let body = response.into_body();
        match status {
            200..=299 => self.read(body, each),
            300..=399 => Err(EngineError::Elsewhere {
                url: self.url().to_owned(),
                status,
                leads_to: base(&leads_to.unwrap_or_default(), what),
            }),
            401 | 403 => Err(EngineError::Refused { url: self.url().to_owned(), status }),
            404 | 405 => Err(EngineError::NotAnEngine {
                url: self.url().to_owned(),
                why: format!("it has no /api/v1/{what} (HTTP {status})"),
            }),
            _ => Err(EngineError::Status {
                url: self.url().to_owned(),
                status,
                words: answer::error_in(&words(body)),
            }),
        }
    }

    fn read(&self, body: ureq::Body, each: impl FnMut(Series)) -> Result<(), EngineError> {
        let reader = body.into_with_config().limit(u64::MAX).reader();
        let read = answer::read(BufReader::with_capacity(256 << 10, reader), each);
        let flaws = read.map_err(|error| match error.io_error_kind() {
            Some(_) => broken(self.url(), &error.into(), self.access.timeout),
            None => EngineError::NotAnEngine { url: self.url().to_owned(), why: error.to_string() },
        })?;
        self.flaws.lock().unwrap_or_else(PoisonError::into_inner).extend(flaws);
        Ok(())
    }

    fn told(&self, error: ureq::Error) -> EngineError {
        told(self.url(), error, self.access.timeout)
    }
}

fn location(response: &ureq::http::Response<ureq::Body>) -> Option<String> {
    let location = response.headers().get("location").and_then(|it| it.to_str().ok());
    location.map(str::to_owned)
}

/// The address that is to be named in place of where a question was led.
fn base(leads_to: &str, what: &str) -> String {
    let path = leads_to.split(['?', '#']).next().unwrap_or_default();
    let base = path.strip_suffix(&format!("/api/v1/{what}"));
    safe(&masked(base.unwrap_or(leads_to)))
}

/// What a body says, as far as it is worth showing.
fn words(body: ureq::Body) -> String {
    let mut words = String::new();
    // What cannot be read is not shown; the status says it already.
    let _ = body.into_reader().take(MOST_WORDS).read_to_string(&mut words);
    words.trim().to_owned()
}

/// With its milliseconds, as the API takes it.
fn seconds(at: UnixMillis) -> String {
    format!("{}.{:03}", at.0.div_euclid(1000), at.0.rem_euclid(1000))
}
