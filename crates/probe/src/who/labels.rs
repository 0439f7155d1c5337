//! What the environments of a process and of those before it say. Their owner can forge it, so
//! it never decides whose a process is.

use std::sync::Arc;

use super::environ::{Environ, Name};
use super::evidence::{Ancestor, Evidence};
use super::{Source, Told};

/// What a process has in its own environment, and what it is likely to have had.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Labels {
    pub own: Environ,
    /// Of the nearest ancestor that has one, where the own one cannot be read or was wiped.
    pub inherited: Environ,
}

impl Labels {
    #[must_use]
    pub fn of(evidence: &Evidence) -> Self {
        let own = evidence.environ.clone();
        if own.is_whole() {
            return Self { own, inherited: Environ::default() };
        }
        // Another user's, or that of who runs a container, was never its own.
        let is_kin =
            |kin: &&Arc<Ancestor>| kin.uid == evidence.uid && kin.is_in_the_container_of(evidence);
        let kin = evidence.ancestors.iter().take_while(is_kin);
        let whole = kin.map(|kin| &kin.environ).find(|environ| environ.is_whole());
        Self { own, inherited: whole.cloned().unwrap_or_default() }
    }

    #[must_use]
    pub fn get(&self, name: Name) -> Option<Told<Arc<str>>> {
        let told = |environ: &Environ, source| {
            Some(Told { value: Arc::clone(environ.get(name)?), source })
        };
        told(&self.own, Source::Environment)
            .or_else(|| told(&self.inherited, Source::AncestorEnvironment))
    }
}
