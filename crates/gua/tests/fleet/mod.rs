//! Many hosts: metrics out, the same report back, with the real Prometheus and the real
//! VictoriaMetrics of Debian.
//!
//! Long times are not waited for: histories are made by the real pipeline with times of their
//! own, scraped on paper, and given to the engines as they were.

/// The report over all hosts says what their own reports say.
mod agreement;
/// Real Prometheus and VictoriaMetrics, each on a port and in a folder of its own.
mod engine;
/// An engine that is not there, not one, or does not let us in.
mod failing;
/// Hosts that do not exist, recorded and scraped.
mod hosts;
/// Ten recorders at once, scraped and pushing.
mod live;
/// `/metrics`: what it says, and that it goes on.
mod metrics;
/// What is shipped to use with it: rules, alerts, a dashboard.
mod packaging;
/// The page and what belongs to it, asked as a program asks.
mod page;
/// Pushing: what is taken, what is not, and what then.
mod push;
/// What a scrape does to our series: labels of its own, other names for a host.
mod scraped;
mod ways;
/// Who may come in, and what is refused.
mod web;
