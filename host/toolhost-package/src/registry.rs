//! A client of OCI registries, in which everything that a registry sends is limited and checked.

mod auth;
mod client;
mod descriptor;
mod error;
mod exchange;
mod objects;
mod referrers;
mod request;

pub(crate) use self::client::MANIFEST_MAX;
pub use self::client::{MANIFEST_TYPE, Manifest, Registry, RegistryConfig};
pub use self::descriptor::Descriptor;
pub(crate) use self::descriptor::digest_of;
pub use self::error::RegistryError;

#[cfg(test)]
mod tests;
