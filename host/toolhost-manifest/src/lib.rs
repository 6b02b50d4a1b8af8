//! Reads the files that people write for toolhost: a bundle's manifest, the operator's policy, and the
//! JSON Schemas of tools' arguments.
//!
//! [`Bundle`] is a checked manifest and the directory that it names files in, [`Policy`] is what the
//! operator allows, and [`Diagnostic`] is a finding in one of the two, with its place and the next move.
//! Nothing here compiles or runs a component.

pub mod bundle;
mod diagnostic;
mod draft;
pub mod policy;
pub mod reader;
pub mod schema;
mod suggest;
pub mod yaml;

pub use bundle::{Bundle, LoadError};
pub use diagnostic::{Diagnostic, DiagnosticList, Place, Position, Related, Severity, Span};
pub use draft::manifest;
pub use policy::{
    CredentialError, CredentialProvider, CredentialProviderError, CredentialResponse, Credentials,
    LimitInfo, Policy, PolicyError, SecretSource,
};
pub use suggest::closest;
pub use yaml::YamlSource;
