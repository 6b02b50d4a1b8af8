//! The merged view of a transaction: the workdir with the changes of the transaction, which are kept apart until
//! they are committed.
//!
//! The lower layer is the workdir itself; it is never written. Directories of the merged view are directories of
//! the lower layer, or were made by the transaction in its staging directory, so that a guest's handle of a
//! directory is a real one. Beside them lie the changed entries of each directory, keyed by its identity. What
//! the lower layer holds is moved by such an entry, and copied before its first change. In a directory that the
//! transaction made, names are the kernel's.
//!
//! Until the first change, paths are resolved by the kernel, and there is no staging directory.

mod change_set;
mod copy;
mod file;
mod listing;
mod lookup;
mod names;
mod open_lower;
mod rename;
mod snapshot;
mod state;
mod view;
mod walk;

pub(crate) use copy::Charge;
pub(crate) use file::WorkdirFile;
pub(crate) use listing::ListingChanges;
pub(crate) use view::Overlay;
