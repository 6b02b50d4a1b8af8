//! `wasi:filesystem` over `openat2`: the workdir and nothing else.
//!
//! Closed by design:
//! - every way out of the workdir: `..`, absolute paths, symlinks (refused by the system's own
//!   beneath-resolution, not by comparing strings)
//! - everything but regular files and directories: what was opened is looked at by handle
//! - changes to write-protected files, whatever name they are met under
//! - growth beyond the call's and the workdir's limits
//!
//! Calls are made inline: on regular files and directories of a local disk none waits long, but for
//! syncs, which have threads of their own. For other disks there is
//! [`FileIo::Offload`](crate::FileIo).

mod beneath;
mod budget;
mod code;
mod descriptor;
mod file;
mod listing;
mod open;
mod place;
mod stream;
mod times;

use std::sync::Arc;

use wasmtime::component::{HasData, Resource, ResourceTable};

use crate::WorkdirAccess;
use crate::accounting::meter::Meter;
use crate::host::bindings::filesystem::{preopens, types};
use crate::scheduler::blocking::BlockingPool;
use crate::workdir::{Growth, Workdir, WriteProtected};

pub(crate) use budget::Budget;
pub(crate) use code::FsError;
#[expect(unreachable_pub, reason = "the generated bindings re-export them")]
pub use {descriptor::Descriptor, listing::Listing};

use descriptor::OpenDir;

/// The filesystem of one call.
pub(crate) struct Filesystem {
    root: Option<Workdir>,
    access: WorkdirAccess,
    protected: WriteProtected,
    budget: Budget,
    slow: BlockingPool,
}

impl Filesystem {
    /// The filesystem of a call that has no directory at all.
    pub(crate) fn none(meter: Arc<Meter>, slow: BlockingPool) -> Self {
        Self {
            root: None,
            access: WorkdirAccess::ReadOnly,
            protected: WriteProtected::default(),
            budget: Budget::new(meter, Growth::default()),
            slow,
        }
    }

    /// The filesystem whose `/` is `root`.
    pub(crate) fn of(
        root: Workdir,
        access: WorkdirAccess,
        protected: WriteProtected,
        meter: Arc<Meter>,
        slow: BlockingPool,
    ) -> Self {
        let budget = Budget::new(meter, root.growth.clone());
        Self {
            root: Some(root),
            access,
            protected,
            budget,
            slow,
        }
    }
}

/// Where the bindings find the filesystem in a store.
pub(crate) struct HasFilesystem;

impl HasData for HasFilesystem {
    type Data<'a> = FilesystemView<'a>;
}

/// The filesystem and the table of handles, borrowed for one host call.
pub(crate) struct FilesystemView<'a> {
    pub(crate) fs: &'a mut Filesystem,
    pub(crate) table: &'a mut ResourceTable,
}

impl preopens::Host for FilesystemView<'_> {
    fn get_directories(&mut self) -> wasmtime::Result<Vec<(Resource<types::Descriptor>, String)>> {
        let Some(root) = &self.fs.root else {
            return Ok(Vec::new());
        };
        // The handle is the workdir's own: it takes no slot.
        let dir = OpenDir::new(Arc::clone(&root.dir), None);
        let handle = self.table.push(Descriptor::Dir(dir))?;
        Ok(vec![(handle, "/".to_owned())])
    }
}
