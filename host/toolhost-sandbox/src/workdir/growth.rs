//! By how much guests have grown each workdir.

use std::collections::HashMap;
use std::sync::atomic::{AtomicI64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

use cap_std::fs::Dir;
use cap_std::time::SystemTime;

use super::FileId;
use crate::meter::lock;

/// Most workdirs remembered that no call holds.
const REMEMBERED: usize = 10_000;

/// A directory, told apart from a later one to which the system gives the same number.
type Birth = (FileId, Option<SystemTime>);

/// The counts of the workdirs a sandbox has opened. They outlive the handles: a host that opens a
/// workdir anew for each turn has one count, not one for each.
#[derive(Debug, Default)]
pub(crate) struct Growths(Mutex<HashMap<Birth, Growth>>);

impl Growths {
    /// The count of a directory: one for all handles on it.
    pub(crate) fn of(&self, dir: &Dir) -> Growth {
        let Ok(metadata) = dir.dir_metadata() else {
            return Growth::default();
        };
        let birth = (FileId::of(&metadata), metadata.created().ok());
        let mut known = lock(&self.0);
        if known.len() >= REMEMBERED {
            known.retain(|_, growth| growth.is_held() || growth.bytes.load(Relaxed) > 0);
        }
        if known.len() >= REMEMBERED {
            known.retain(|_, growth| growth.is_held());
        }
        known.entry(birth).or_default().clone()
    }
}

/// Bytes by which guests have grown one workdir.
#[derive(Debug, Clone, Default)]
pub(crate) struct Growth {
    bytes: Arc<AtomicI64>,
}

impl Growth {
    fn is_held(&self) -> bool {
        Arc::strong_count(&self.bytes) > 1
    }

    /// Takes `bytes` where that leads to no more than `most`, in one step: other calls take of it
    /// too.
    pub(crate) fn take(&self, bytes: u64, most: u64) -> bool {
        let add = |grown: i64| {
            let grown = grown.saturating_add(signed(bytes));
            (grown <= signed(most)).then_some(grown)
        };
        bytes == 0 || self.bytes.fetch_update(Relaxed, Relaxed, add).is_ok()
    }

    pub(crate) fn give_back(&self, bytes: u64) {
        self.bytes.fetch_sub(signed(bytes), Relaxed);
    }
}

fn signed(bytes: u64) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}
