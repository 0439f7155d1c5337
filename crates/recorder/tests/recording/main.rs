//! Recording of polls made by hand into a real database.
