//! The names of a host's accounts.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{passwd, why};
use crate::reading::Why;

/// Reads names once, and remembers them.
#[derive(Debug)]
pub struct Accounts {
    root: PathBuf,
    names: Option<HashMap<u32, Arc<str>>>,
}

impl Accounts {
    /// Those of the host below this root.
    #[must_use]
    pub const fn new(root: PathBuf) -> Self {
        Self { root, names: None }
    }

    /// The name of a uid; `None` where it has none. The file first: it needs no network.
    /// Accounts of a directory service come from the C library, which knows only the machine it
    /// runs on.
    ///
    /// # Errors
    /// When the names cannot be read.
    pub fn name(&mut self, uid: u32) -> Result<Option<Arc<str>>, Why> {
        let is_own = self.root == Path::new("/");
        let names = match &mut self.names {
            Some(names) => names,
            None => match fs::read(self.root.join("etc/passwd")) {
                Ok(bytes) => self.names.insert(passwd::parse(&String::from_utf8_lossy(&bytes))),
                // The C library may still know; elsewhere nobody does.
                Err(_) if is_own => self.names.insert(HashMap::new()),
                Err(error) => return Err(why(&error)),
            },
        };
        if let Some(name) = names.get(&uid) {
            return Ok(Some(Arc::clone(name)));
        }
        let account = if is_own { uzers::get_user_by_uid(uid) } else { None };
        let name = account.map(|account| Arc::from(account.name().to_string_lossy()));
        if let Some(name) = &name {
            names.insert(uid, Arc::clone(name));
        }
        Ok(name)
    }
}
