//! Counters as series: scraped, or sent to a Prometheus-compatible engine.
