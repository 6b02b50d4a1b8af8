//! The secrets that calls get, and how to provide them otherwise than by the policy: see
//! [`HostBuilder::credential_provider`](crate::HostBuilder::credential_provider).

pub use toolhost_manifest::{
    CredentialError, CredentialProvider, CredentialProviderError, CredentialResponse, Credentials,
    SecretSource,
};
