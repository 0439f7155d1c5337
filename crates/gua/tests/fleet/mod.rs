//! Many hosts: metrics out, the same report back, with the real Prometheus and VictoriaMetrics of Debian.
//!
//! No test waits for hours: hosts are simulated, and the engines import their samples.

/// The report over many hosts has the figures of their own reports.
mod agreement;
/// Real Prometheus and VictoriaMetrics, each on a port and in a folder of its own.
mod engine;
/// An engine that is not there, not one, or does not let us in.
mod failing;
/// Simulated hosts, recorded and scraped.
mod hosts;
/// Ten recorders at once, scraped and pushing.
mod live;
/// `/metrics`: what it says, and that it goes on.
mod metrics;
/// Every view says the same of one moment.
mod one_moment;
/// The rules, the alerts and the dashboard that are shipped.
mod packaging;
/// The page and what belongs to it, asked as a program asks.
mod page;
/// Pushing: what is taken, what is not, and what then.
mod push;
/// What a scrape does to our series: labels of its own, other names for a host.
mod scraped;
/// Hosts with several targets, that come and go, or whose counters begin again.
mod ways;
/// Who may come in, and what is refused.
mod web;
