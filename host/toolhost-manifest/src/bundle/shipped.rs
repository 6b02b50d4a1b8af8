//! Bundles that a program ships, which other bundles include by name.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// How the paths of a shipped bundle's files begin in a bundle that includes it.
pub(super) const SHIPPED: &str = "toolhost:";

/// Returns whether a path from the bundle's directory is that of a shipped bundle's file.
pub(super) fn is_shipped(path: &Path) -> bool {
    path.to_string_lossy().starts_with(SHIPPED)
}

/// Bundles that a program ships: what `include: [base]` adds.
///
/// # Contract
///
/// - The folder has a `goondan.yaml`, and its files do not change while a load runs.
/// - No workdir contains the folder or lies in it: guests could change the tools. The host does not protect it.
/// - It is asked for on a thread that may block, and only for names that a manifest includes.
pub trait ShippedBundles: fmt::Debug + Send + Sync + 'static {
    /// Returns the folder of the bundle with this name; `None` if the program ships none.
    fn folder(&self, name: &str) -> Option<io::Result<PathBuf>>;
}

/// No bundles.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoShippedBundles;

impl ShippedBundles for NoShippedBundles {
    fn folder(&self, _name: &str) -> Option<io::Result<PathBuf>> {
        None
    }
}
