//! The resources of a bundle, the findings in them, and where the bytes of components come from: see
//! [`HostBuilder::component_source`](crate::HostBuilder::component_source).

pub use crate::loaded_bundle::Declares;
pub use toolhost_contract::ToolResource;
pub use toolhost_manifest::bundle::BundleView;
pub use toolhost_manifest::bundle::component_source::{
    BundleDirectory, ComponentSource, EntryFuture,
};
pub use toolhost_manifest::bundle::host_files::{folded, is_read_by_name};
pub use toolhost_manifest::{
    Bundle, ChangesetGrant, Diagnostic, LimitInfo, Place, Severity, YamlSource,
};
