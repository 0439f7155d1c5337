//! Who is behind a holder, as it was written down.

use probe::who::{self, Told};

use crate::ledger;

/// Null is what is not known, and nothing is guessed. A user that is null is unattributed.
pub type Identity = gua_core::identity::Who;

/// All that was written down of who is behind a holder; `None` where nothing was. Whose it is
/// stands apart from what it runs for.
#[must_use]
pub fn written(identity: &ledger::Identity, who: Option<&Identity>) -> Option<Identity> {
    let ledger::Identity { user, uid, source } = identity;
    let user = uid
        .zip(*source)
        .map(|(uid, source)| Told { value: who::User { uid, name: user.clone() }, source });
    let is_known = who.is_some() || user.is_some();
    is_known.then(|| Identity { user, ..who.cloned().unwrap_or_default() })
}
