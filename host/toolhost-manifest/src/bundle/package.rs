//! Tools in OCI registries: what `spec.entry` names with `oci://`, and where a component came from.

use std::fmt;

use toolhost_contract::text::short;

/// What an entry begins with that names a tool in a registry.
pub const SCHEME: &str = "oci://";

/// Maximum length of a reference, in bytes.
const REFERENCE_MAX: usize = 512;

/// Maximum length of a repository, in bytes.
const REPOSITORY_MAX: usize = 255;

/// Maximum length of a tag, in bytes.
const TAG_MAX: usize = 128;

/// Where the component of an entry came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackageOrigin {
    /// The reference, as in the manifest: `oci://HOST/REPOSITORY:TAG@sha256:HEX`.
    pub reference: String,
    /// The digest of the package's manifest in the registry: `sha256:HEX`.
    pub digest: String,
    /// Who signed it, of those whom the policy accepts. Empty if it required no signature.
    pub signers: Vec<String>,
}

/// The name of a tool in a registry: `[oci://]HOST[:PORT]/REPOSITORY[:TAG][@sha256:HEX]`.
///
/// ```
/// use toolhost_manifest::bundle::package::PackageReference;
/// let reference = PackageReference::parse("oci://ghcr.io/me/text:1.2").expect("it has a host and a repository");
/// assert_eq!((reference.registry(), reference.repository()), ("ghcr.io", "me/text"));
/// assert_eq!((reference.tag(), reference.digest()), (Some("1.2"), None));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct PackageReference {
    registry: String,
    repository: String,
    tag: Option<String>,
    digest: Option<String>,
}

/// Why a text is not the name of a tool in a registry.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PackageReferenceError {
    /// There is no registry: the first part is no host name with a dot or a port, nor `localhost`.
    #[error("'{0}' names no registry: write HOST/REPOSITORY[:TAG], such as ghcr.io/me/text:1.0")]
    Registry(String),
    /// It is a URL of another kind.
    #[error("'{0}' is a URL: leave out what is before the host")]
    Scheme(String),
    /// The repository is empty, or has other characters than those of OCI.
    #[error(
        "repository '{0}' is invalid: it has lower-case letters, digits, '.', '_', '-' and '/'"
    )]
    Repository(String),
    /// The tag is empty, or has other characters than those of OCI.
    #[error("tag '{0}' is invalid: it has at most 128 letters, digits, '.', '_' and '-'")]
    Tag(String),
    /// The digest is not a SHA-256 in lower-case hexadecimal digits.
    #[error("digest '{0}' is invalid: it is sha256: and 64 lower-case hexadecimal digits")]
    Digest(String),
    /// The text is too long.
    #[error("the reference is longer than 512 bytes")]
    TooLong,
}

impl PackageReference {
    /// Parses a reference, with or without `oci://`.
    ///
    /// # Errors
    /// [`PackageReferenceError`] if the text is invalid.
    pub fn parse(text: &str) -> Result<Self, PackageReferenceError> {
        if text.len() > REFERENCE_MAX {
            return Err(PackageReferenceError::TooLong);
        }
        let text = text.strip_prefix(SCHEME).unwrap_or(text);
        if text.contains("://") {
            return Err(PackageReferenceError::Scheme(short(text)));
        }
        let (name, digest) = match text.split_once('@') {
            Some((name, digest)) => (name, Some(digest)),
            None => (text, None),
        };
        let (registry, path) = name.split_once('/').unwrap_or((name, ""));
        if !is_registry(registry) || path.is_empty() {
            return Err(PackageReferenceError::Registry(short(text)));
        }
        let (repository, tag) = match path.split_once(':') {
            Some((repository, tag)) => (repository, Some(tag)),
            None => (path, None),
        };
        if !is_repository(repository) {
            return Err(PackageReferenceError::Repository(short(repository)));
        }
        if let Some(tag) = tag.filter(|tag| !is_tag(tag)) {
            return Err(PackageReferenceError::Tag(short(tag)));
        }
        if let Some(digest) = digest.filter(|digest| !is_digest(digest)) {
            return Err(PackageReferenceError::Digest(short(digest)));
        }
        Ok(Self {
            registry: registry.to_owned(),
            repository: repository.to_owned(),
            tag: tag.map(str::to_owned),
            digest: digest.map(str::to_owned),
        })
    }

    /// Returns the host of the registry, with its port if it has one.
    pub fn registry(&self) -> &str {
        &self.registry
    }

    /// Returns the repository in the registry.
    pub fn repository(&self) -> &str {
        &self.repository
    }

    /// Returns the tag.
    pub fn tag(&self) -> Option<&str> {
        self.tag.as_deref()
    }

    /// Returns the digest of the manifest in the registry: `sha256:HEX`.
    pub fn digest(&self) -> Option<&str> {
        self.digest.as_deref()
    }

    /// Returns this reference with a tag, if it has neither a tag nor a digest.
    #[must_use]
    pub fn or_tag(mut self, tag: &str) -> Self {
        if self.tag.is_none() && self.digest.is_none() && is_tag(tag) {
            self.tag = Some(tag.to_owned());
        }
        self
    }

    /// Returns this reference with another digest; `None` if `digest` is not `sha256:HEX`.
    #[must_use]
    pub fn with_digest(mut self, digest: &str) -> Option<Self> {
        if !is_digest(digest) {
            return None;
        }
        self.digest = Some(digest.to_owned());
        Some(self)
    }

    /// Returns this reference without its digest.
    #[must_use]
    pub fn without_digest(mut self) -> Self {
        self.digest = None;
        self
    }
}

/// Writes the reference with `oci://`.
impl fmt::Display for PackageReference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{SCHEME}{}/{}", self.registry, self.repository)?;
        if let Some(tag) = &self.tag {
            write!(f, ":{tag}")?;
        }
        if let Some(digest) = &self.digest {
            write!(f, "@{digest}")?;
        }
        Ok(())
    }
}

/// Returns whether an entry names a tool in a registry.
pub fn is_package(entry: &str) -> bool {
    entry.starts_with(SCHEME)
}

/// Returns whether a text is `sha256:` and 64 lower-case hexadecimal digits.
pub fn is_digest(text: &str) -> bool {
    let hex = text.strip_prefix("sha256:").unwrap_or_default();
    let is_hex = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
    hex.len() == 64 && hex.bytes().all(is_hex)
}

/// Returns whether a text is a host with a dot or a port, or `localhost`, as other clients require.
fn is_registry(text: &str) -> bool {
    let (host, port) = match text.strip_prefix('[') {
        Some(rest) => {
            let Some((address, after)) = rest.split_once(']') else {
                return false;
            };
            let port = after.strip_prefix(':');
            if address.parse::<std::net::Ipv6Addr>().is_err()
                || (port.is_none() && !after.is_empty())
            {
                return false;
            }
            return port.is_none_or(is_port);
        }
        None => match text.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (text, None),
        },
    };
    let is_label = |label: &str| {
        let inner = |b: u8| b.is_ascii_alphanumeric() || b == b'-';
        !label.is_empty()
            && label.bytes().all(inner)
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    host.split('.').all(is_label)
        && port.is_none_or(is_port)
        && (port.is_some() || host.contains('.') || host == "localhost")
}

fn is_port(text: &str) -> bool {
    text.bytes().all(|b| b.is_ascii_digit()) && text.parse::<u16>().is_ok_and(|port| port > 0)
}

fn is_repository(text: &str) -> bool {
    let is_inner = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    let is_part = |part: &str| {
        let allowed = |b: u8| is_inner(b) || matches!(b, b'.' | b'_' | b'-');
        let ends = [part.bytes().next(), part.bytes().next_back()];
        part.bytes().all(allowed)
            && ends.into_iter().all(|end| end.is_some_and(is_inner))
            && !part.contains("..")
    };
    text.len() <= REPOSITORY_MAX && text.split('/').all(is_part)
}

fn is_tag(text: &str) -> bool {
    let is_word = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
    let allowed = |b: u8| is_word(b) || matches!(b, b'.' | b'-');
    text.len() <= TAG_MAX && text.bytes().next().is_some_and(is_word) && text.bytes().all(allowed)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEX: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

    #[test]
    fn a_reference_is_written_as_it_was_parsed() {
        let check = |text: &str, tag: Option<&str>| {
            let reference = PackageReference::parse(text).unwrap();
            assert_eq!(reference.to_string(), text);
            assert_eq!(reference.tag(), tag, "{text}");
        };
        check("oci://ghcr.io/me/text", None);
        check("oci://ghcr.io/me/text:1.0", Some("1.0"));
        check("oci://localhost:5000/text:v1", Some("v1"));
        check("oci://localhost/text:v1", Some("v1"));
        check("oci://[::1]:5000/text:v1", Some("v1"));
        check(
            &format!("oci://127.0.0.1:5000/a/b-c:x@sha256:{HEX}"),
            Some("x"),
        );
        check(&format!("oci://a.example/b@sha256:{HEX}"), None);
    }

    #[test]
    fn refuses_references_that_name_nothing_or_another_place() {
        for text in [
            "",
            "text",
            "me/text",
            "oci://",
            "oci://ghcr.io",
            "oci://ghcr.io/",
            "oci://user:password@ghcr.io/a",
            "oci://ghcr.io/A",
            "oci://ghcr.io/../a",
            "oci://ghcr.io/a/../b",
            "oci://ghcr.io/a//b",
            "oci://ghcr.io/a?x=1",
            "oci://ghcr.io/a#b",
            "oci://ghcr.io:0/a",
            "oci://ghcr.io:99999/a",
            "oci://ghcr.io/a:",
            "oci://ghcr.io/a:-x",
            "oci://ghcr.io/a:x y",
            "oci://ghcr.io/a@sha256:abc",
            "oci://ghcr.io/a@sha512:abc",
            "oci://[::1/a",
            "oci://[::1]x/a",
            "https://ghcr.io/a",
            &format!("oci://ghcr.io/a@sha256:{}", HEX.to_uppercase()),
            &format!("oci://ghcr.io/{}", "a".repeat(600)),
        ] {
            assert!(PackageReference::parse(text).is_err(), "{text}");
        }
    }
}
