//! What no guest may change, wherever it meets it.

use std::fmt;
use std::sync::Arc;

use toolhost_contract::{FileId, Protected};

/// Files and directories that no guest may change, wherever it meets them: a bundle's manifest, its
/// entries and the folders above them. Held by identity, so that another name is no way around, and
/// by name, so that nothing takes the place of what is gone.
#[derive(Clone, Default)]
pub struct WriteProtected {
    known: Held,
    look: Option<Look>,
}

/// Finds what is protected; none where that cannot be known.
type Look = Arc<dyn Fn() -> Option<Vec<Arc<Protected>>> + Send + Sync>;

#[derive(Debug, Clone)]
pub(crate) enum Held {
    These(Vec<Arc<Protected>>),
    All,
}

impl Default for Held {
    fn default() -> Self {
        Self::These(Vec::new())
    }
}

impl From<Option<Vec<Arc<Protected>>>> for Held {
    fn from(found: Option<Vec<Arc<Protected>>>) -> Self {
        found.map_or(Self::All, Self::These)
    }
}

impl Held {
    /// Whether all is held, or any part of it says so.
    fn any(&self, says: impl Fn(&Protected) -> bool) -> bool {
        match self {
            Self::These(these) => these.iter().any(|these| says(these)),
            Self::All => true,
        }
    }

    pub(crate) fn holds(&self, id: FileId) -> bool {
        self.any(|these| these.contains(id))
    }

    pub(crate) fn holds_name(&self, folder: FileId, name: &str) -> bool {
        self.any(|these| these.contains_name(folder, name))
    }
}

impl fmt::Debug for WriteProtected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.known.fmt(f)
    }
}

impl WriteProtected {
    /// Protects these, as they are now.
    pub fn new(ids: impl IntoIterator<Item = FileId>) -> Self {
        let mut known = Protected::default();
        ids.into_iter().for_each(|id| known.add(id));
        Self {
            known: Held::These(vec![Arc::new(known)]),
            look: None,
        }
    }

    /// Protects everything, and makes a workdir read-only: for when it cannot be said what there is
    /// to protect.
    #[must_use]
    pub fn all() -> Self {
        Self {
            known: Held::All,
            look: None,
        }
    }

    /// Protects all that `look` finds, and everything where it finds that it cannot know. It is asked
    /// now, and again, from within a guest's file calls, whenever a guest is about to change something
    /// that bears one of the names: an editor or a build replaces a file by another.
    pub fn refreshed_by(
        look: impl Fn() -> Option<Vec<Arc<Protected>>> + Send + Sync + 'static,
    ) -> Self {
        match look() {
            None => Self::all(),
            found => Self {
                known: found.into(),
                look: Some(Arc::new(look)),
            },
        }
    }

    pub(crate) fn holds(&self, id: FileId) -> bool {
        self.known.holds(id)
    }

    pub(crate) fn holds_all(&self) -> bool {
        matches!(self.known, Held::All)
    }

    /// Whether one of those protected bears this name, in any folder.
    pub(crate) fn knows(&self, name: &str) -> bool {
        self.known.any(|these| these.has_name(name))
    }

    /// Whether any folder is closed.
    pub(crate) fn closes_any(&self) -> bool {
        self.known.any(Protected::closes_any)
    }

    /// Whether this folder is closed.
    pub(crate) fn closes(&self, folder: FileId) -> bool {
        self.known.any(|these| these.is_closed(folder))
    }

    /// Whether what is protected may be more than was known.
    pub(crate) fn asks_again(&self) -> bool {
        self.look.is_some()
    }

    /// What is protected now.
    pub(crate) fn now(&self) -> Held {
        match &self.look {
            Some(look) => look().into(),
            None => self.known.clone(),
        }
    }
}
