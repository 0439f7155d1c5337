//! Ticks to count in tests.
