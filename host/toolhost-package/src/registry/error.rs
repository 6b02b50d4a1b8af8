//! Why a request to a registry failed.

/// Why a request to a registry failed. Texts of the registry are cut and escaped.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the fields are in the messages")]
pub enum RegistryError {
    /// The registry could not be reached, or did not answer as HTTP requires, or not in time.
    #[error("{registry} cannot be reached: {reason}")]
    Unreachable { registry: String, reason: String },
    /// The registry refuses the request.
    #[error("{registry} refuses to {action}{}: {reason}", credentials(*.had_credentials))]
    Refused {
        registry: String,
        /// Such as `read me/text`.
        action: String,
        /// Whether credentials were sent.
        had_credentials: bool,
        /// What it answered.
        reason: String,
    },
    /// The registry has no such manifest or blob.
    #[error("{registry} has no {what}")]
    NotFound {
        registry: String,
        /// Such as `me/text:1.0`.
        what: String,
    },
    /// The registry sent, or announced, more than is read.
    #[error("{what} of {registry} is larger than {max} bytes")]
    TooLarge {
        registry: String,
        /// What was asked for.
        what: String,
        /// Most bytes that are read of it.
        max: u64,
    },
    /// The bytes have another digest than the one that was asked for.
    #[error("{registry} sent other bytes for {what}: they have the digest {found}")]
    Digest {
        registry: String,
        /// What was asked for, by digest.
        what: String,
        /// The digest of the bytes.
        found: String,
    },
    /// The registry answered with something that the protocol does not have.
    #[error("{registry} did not {action}: {reason}")]
    Protocol {
        registry: String,
        /// Such as `read me/text`.
        action: String,
        /// What it answered.
        reason: String,
    },
    /// The credentials for the registry could not be read.
    #[error("the credentials for {registry} could not be read: {reason}")]
    Credentials { registry: String, reason: String },
}

fn credentials(had: bool) -> &'static str {
    if had {
        " with the credentials for it"
    } else {
        " without credentials"
    }
}

impl RegistryError {
    /// Returns the next step for the reader.
    pub fn help(&self) -> &'static str {
        match self {
            Self::Unreachable { .. } => {
                "Check the name of the registry and the network. What was pulled before is used without a network."
            }
            Self::Refused {
                had_credentials: false,
                ..
            } => "Log in, such as with `docker login`: its configuration file is read.",
            Self::Refused { .. } => {
                "Log in as somebody who may do this, or check the name of the repository."
            }
            Self::NotFound { .. } => "Check the name, the tag and the digest.",
            Self::TooLarge { .. } => {
                "Nothing was kept. It is not a package of a tool, or too large for this host."
            }
            Self::Digest { .. } => {
                "Nothing was kept: the registry, or somebody on the way to it, exchanges files. Do not use it before this is explained."
            }
            Self::Protocol { .. } => "Check that it is an OCI registry, and try again later.",
            Self::Credentials { .. } => {
                "Log in again, such as with `docker login`, or correct the file."
            }
        }
    }
}
