//! Sources of the bytes of components.

use std::future::Future;
use std::pin::Pin;

use toolhost_contract::ToolResource;

use crate::bundle::{Entry, OpenBundle};
use crate::diagnostic::Diagnostic;
use crate::policy::PackageRules;

/// A future of an entry's bytes.
pub type EntryFuture<'a> =
    Pin<Box<dyn Future<Output = Result<Entry, Box<Diagnostic>>> + Send + 'a>>;

/// Reads the bytes of the components that a bundle's Tools name. [`BundleDirectory`], the default,
/// reads files beneath the bundle's directory; another source may fetch from elsewhere.
///
/// An implementation must keep this:
///
/// - It is called for each distinct `spec.entry` while a bundle loads, never during a call: for one after
///   another, in the order of the manifest, while the components before it are prepared. The host uses the
///   component for all Tools of the entry, but calls it again for the next one after an error.
/// - The returned bytes are checked, hashed, compiled and run. Nothing is read again.
/// - No more than `max_bytes` may be returned, nor held while reading.
/// - [`Entry::files`] names the files that the component was built of, relative to the bundle's
///   directory. The host protects them, and `spec.entry`, against changes by guests.
/// - An error is a finding at `spec.entry`: [`OpenBundle::entry_place`] is its place. It ends the load.
/// - Dropping the future must stop the read.
pub trait ComponentSource: Send + Sync + 'static {
    /// Returns whether this source reads the component of a Tool. The host reads those of other Tools from
    /// the bundle's directory, on a thread of its sandbox. Default: it reads all.
    fn reads(&self, tool: &ToolResource) -> bool {
        let _ = tool;
        true
    }

    /// Returns whether this source has verified, by these rules, the signature of each package that it reads and that
    /// they do not exempt. Where a policy has such rules, the host refuses packages of a source that does not. Default:
    /// it verifies none.
    fn verifies(&self, rules: &PackageRules) -> bool {
        let _ = rules;
        false
    }

    /// Reads the component of a Tool of this bundle.
    fn read<'a>(
        &'a self,
        bundle: &'a OpenBundle,
        tool: &'a ToolResource,
        max_bytes: u64,
    ) -> EntryFuture<'a>;
}

/// Reads components from the bundle's directory: see [`OpenBundle::read_entry`]. It reads within the
/// task that polls it. A host that has no other source reads on a thread of its sandbox instead.
#[derive(Debug, Clone, Copy, Default)]
pub struct BundleDirectory;

impl ComponentSource for BundleDirectory {
    fn read<'a>(
        &'a self,
        bundle: &'a OpenBundle,
        tool: &'a ToolResource,
        max_bytes: u64,
    ) -> EntryFuture<'a> {
        Box::pin(async move { bundle.read_entry(tool, max_bytes) })
    }
}
