//! A secret text.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use zeroize::Zeroizing;

/// A secret. It is wiped from memory when it is dropped.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Secret(Zeroizing<String>);

impl Secret {
    pub(super) fn new(text: impl Into<String>) -> Self {
        Self(Zeroizing::new(text.into()))
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("********")
    }
}

impl Serialize for Secret {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Secret {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(Self::new)
    }
}

/// Returns a text without these secrets. Short ones would hit ordinary words.
pub(super) fn without<'a>(text: &str, secrets: impl IntoIterator<Item = &'a str>) -> String {
    let secrets = secrets.into_iter().filter(|secret| secret.len() >= 6);
    secrets.fold(text.to_owned(), |text, secret| {
        text.replace(secret, "********")
    })
}
