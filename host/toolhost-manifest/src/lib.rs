//! Reads the YAML files of toolhost: bundles and policies.
//!
//! - [`Bundle`]: the resources of a manifest, and the directory that contains the files it names
//! - [`Policy`]: what the operator grants to each tool
//! - [`Diagnostic`]: a finding in one of these files, with its place and a help text
//!
//! This crate compiles and runs no component.

pub mod bundle;
mod command;
mod commit_condition;
pub mod component_source;
mod diagnostic;
mod draft;
pub mod exports_text;
pub mod lock;
mod oauth_values;
pub mod policy;
pub mod reader;
pub mod yaml;

pub use bundle::{Bundle, LoadError};
pub use diagnostic::{Diagnostic, DiagnosticList, Place, Position, Related, Severity, Span};
pub use draft::manifest;
pub use policy::{
    ChangesetGrant, CredentialError, CredentialProvider, CredentialProviderError,
    CredentialResponse, Credentials, LimitInfo, McpGrant, McpOAuth, McpOAuthGrant, McpReach,
    OAuthAppGrant, Policy, PolicyError, SecretSource, ToolOAuthGrant,
};
pub use yaml::YamlSource;
