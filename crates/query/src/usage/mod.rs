//! What cards and people did over a window.
