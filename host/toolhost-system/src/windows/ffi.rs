//! Bytes of names: UTF-8, where a name is one.

use std::ffi::{OsStr, OsString};

/// The bytes of a name.
pub trait OsStrExt {
    /// Returns the bytes in which the standard library keeps the name: UTF-8, and more for halves of UTF-16.
    fn as_bytes(&self) -> &[u8];
}

impl OsStrExt for OsStr {
    fn as_bytes(&self) -> &[u8] {
        self.as_encoded_bytes()
    }
}

/// A name of bytes.
pub trait OsStringExt {
    /// Returns the name that has these bytes. In the place of bytes that are not UTF-8 it has the character U+FFFD,
    /// so that it is the name of another file, or of none.
    fn from_vec(bytes: Vec<u8>) -> Self;

    /// Returns the bytes in which the standard library keeps the name.
    fn into_vec(self) -> Vec<u8>;
}

impl OsStringExt for OsString {
    fn from_vec(bytes: Vec<u8>) -> Self {
        match String::from_utf8(bytes) {
            Ok(text) => text.into(),
            Err(error) => String::from_utf8_lossy(error.as_bytes())
                .into_owned()
                .into(),
        }
    }

    fn into_vec(self) -> Vec<u8> {
        self.into_encoded_bytes()
    }
}
