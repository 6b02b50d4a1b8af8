//! What a transaction changes, as its commit applies it.

use super::stamp::Stamp;
use crate::workdir::tree_path::TreePath;

/// One rename of a commit.
///
/// `staged` is a name in the staging directory. `path` is a path of the workdir with `/` between its names,
/// without `.`, `..`, empty names and symbolic links: it is valid when the operation is applied, after those
/// before it. Neither ends with a slash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RenameOp {
    /// Gives a staged file, directory or link a name that is free.
    Put {
        /// Where it is.
        staged: String,
        /// Where it is to be.
        path: TreePath,
    },
    /// Takes a file, directory or link out of the workdir: it is deleted, or a later `Put` or `Exchange` gives
    /// it another name. A directory that is deleted must be empty by then: what was in it is taken before it.
    Take {
        /// Where it is.
        path: TreePath,
        /// A free name in the staging directory.
        staged: String,
        /// What the transaction saw there.
        expected: Stamp,
    },
    /// Puts a staged file in the place of another, which gets its name in the staging directory.
    Exchange {
        /// What is to be at the path.
        staged: String,
        /// Where it is to be.
        path: TreePath,
        /// What the transaction saw there.
        expected: Stamp,
    },
}

/// What a transaction changes and what it has read.
#[derive(Debug, Clone, Default)]
pub(crate) struct ChangeSet {
    /// In the order in which they are applied.
    pub(crate) ops: Vec<RenameOp>,
    /// The files of the workdir that the transaction opened, by their paths before the commit, and as they
    /// were when they were opened first. The commit conflicts with any change of them.
    pub(crate) read: Vec<(TreePath, Stamp)>,
}
