//! All cards and holders now, live or as last seen.
