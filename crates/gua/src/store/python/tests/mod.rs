//! Tests of importing, with files as the versions of the Python gua have made them.

mod fixture;
mod law;
mod layouts;
mod places;
mod trouble;
