//! `gua db`: one file a question.

mod import;

use crate::cli::Db;
use crate::failure::Failure;

pub(super) fn run(typed: &Db) -> Result<u8, Failure> {
    match typed {
        Db::Import(typed) => import::run(typed),
    }
}
