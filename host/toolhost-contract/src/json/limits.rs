//! The limits of a JSON text, and the parser within them.

use std::borrow::Cow;

use serde::de::DeserializeOwned;

use super::error::JsonError;
use super::place::place_of;
use super::scan::{JsonShape, Scan, Unrepresentable, replace_surrogates, token_around};
use crate::{Limits, text};

/// Longest number in an error, in characters.
const NUMBER_MAX: usize = 48;

/// Limits of a JSON text.
///
/// By default a byte order mark is an error, and so is what a parser would change in silence: an integer
/// that 64 bits cannot hold, and half of a surrogate pair. The last of several members of a name counts.
///
/// ```
/// use toolhost_contract::{JsonError, JsonLimits};
///
/// const ANSWER: JsonLimits = JsonLimits::new(1 << 20, 32, 10_000);
///
/// let value: serde_json::Value = ANSWER.parse(r#"{"ids": [1]}"#)?;
/// assert_eq!(value["ids"][0], 1);
///
/// let many = ANSWER.parse::<serde_json::Value>(&format!("[{}0]", "0,".repeat(10_000)));
/// assert!(matches!(many, Err(JsonError::TooMany { values: 10_002, .. })));
///
/// let long = ANSWER.parse::<serde_json::Value>(r#"{"ids": [18446744073709551616]}"#);
/// assert_eq!(
///     long.unwrap_err().to_string(),
///     "has the integer 18446744073709551616 at /ids/0, which 64 bits cannot hold: write it as a string",
/// );
/// # Ok::<(), JsonError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct JsonLimits {
    /// Bytes of the text.
    pub bytes: u64,
    /// Nesting of arrays and objects. The parser itself allows 127.
    pub depth: usize,
    /// Values, as [`JsonShape`] counts them. Each takes 70 to 400 bytes of memory once parsed.
    pub values: u64,
    replaces_surrogates: bool,
    skips_byte_order_mark: bool,
    rounds_integers: bool,
}

impl JsonLimits {
    /// The answer of a server to one request, as registries and authorization servers send them: 1 MiB,
    /// 32 deep, 100,000 values.
    pub const ANSWER: Self = Self::new(1 << 20, 32, 100_000);

    /// The JSON Schema of a handler, as its component describes it: 1 MiB, 64 deep, 100,000 values. A bound beyond
    /// 64 bits is rounded: it bounds nothing that can be held.
    pub const SCHEMA: Self = Self::new(1 << 20, 64, 100_000).rounding_integers();

    /// The reply of a program that builds tools on this machine: 64 MiB, 127 deep, 1,000,000 values.
    pub const REPLY: Self = Self::new(64 << 20, 127, 1_000_000);

    /// The arguments that a model writes, before a policy limits them further: 64 MiB, 127 deep, 1,000,000
    /// values.
    pub const ARGUMENTS: Self = Self::new(64 << 20, 127, 1_000_000);

    /// Returns limits of bytes, nesting and values.
    pub const fn new(bytes: u64, depth: usize, values: u64) -> Self {
        Self {
            bytes,
            depth,
            values,
            replaces_surrogates: false,
            skips_byte_order_mark: false,
            rounds_integers: false,
        }
    }

    /// Returns the limits of a tool's output.
    pub const fn of_output(limits: &Limits) -> Self {
        Self::new(limits.output_bytes, limits.json_depth, limits.json_values)
    }

    /// Returns the limits of a tool's arguments.
    pub const fn of_input(limits: &Limits) -> Self {
        Self::new(limits.input_bytes, limits.json_depth, limits.json_values)
    }

    /// Reads half of a surrogate pair as U+FFFD.
    #[must_use]
    pub const fn replacing_surrogates(mut self) -> Self {
        self.replaces_surrogates = true;
        self
    }

    /// Skips a byte order mark.
    #[must_use]
    pub const fn skipping_byte_order_mark(mut self) -> Self {
        self.skips_byte_order_mark = true;
        self
    }

    /// Reads an integer that 64 bits cannot hold as the nearest number with a fraction. For texts whose
    /// numbers mean nothing to the reader.
    #[must_use]
    pub const fn rounding_integers(mut self) -> Self {
        self.rounds_integers = true;
        self
    }

    /// Parses a text. Memory is taken only once the text is within the limits.
    ///
    /// # Errors
    /// [`JsonError`] if the text exceeds a limit, is not JSON, has a number or a string that cannot be held
    /// as it is written, or is not a `T`.
    pub fn parse<T: DeserializeOwned>(&self, json: &str) -> Result<T, JsonError> {
        self.parse_measured(json).map(|(value, _)| value)
    }

    /// Parses a text that may not be UTF-8. See [`Self::parse`].
    ///
    /// # Errors
    /// As [`Self::parse`], and [`JsonError::NotUtf8`].
    pub fn parse_bytes<T: DeserializeOwned>(&self, json: &[u8]) -> Result<T, JsonError> {
        self.parse(self.utf8(json)?)
    }

    /// Parses a text, and returns its shape. See [`Self::parse`].
    ///
    /// # Errors
    /// As [`Self::parse`].
    pub fn parse_measured<T: DeserializeOwned>(
        &self,
        json: &str,
    ) -> Result<(T, JsonShape), JsonError> {
        let (json, shape) = self.checked(json)?;
        Ok((serde_json::from_str(&json)?, shape))
    }

    /// Checks a text as [`Self::parse`] does, except its syntax, and returns its shape.
    ///
    /// # Errors
    /// [`JsonError`] if the text exceeds a limit, or has a number or a string that cannot be held as it is
    /// written.
    pub fn check(&self, json: &str) -> Result<JsonShape, JsonError> {
        self.checked(json).map(|(_, shape)| shape)
    }

    /// Returns bytes as text, if there are not too many of them.
    ///
    /// # Errors
    /// [`JsonError::TooLarge`] and [`JsonError::NotUtf8`].
    pub fn utf8<'j>(&self, json: &'j [u8]) -> Result<&'j str, JsonError> {
        self.check_bytes(json.len())?;
        std::str::from_utf8(json).map_err(|error| JsonError::NotUtf8 {
            offset: error.valid_up_to(),
        })
    }

    fn check_bytes(&self, bytes: usize) -> Result<(), JsonError> {
        let (bytes, limit) = (bytes as u64, self.bytes);
        if bytes > limit {
            return Err(JsonError::TooLarge { bytes, limit });
        }
        Ok(())
    }

    /// Returns what the parser is given.
    fn checked<'j>(&self, json: &'j str) -> Result<(Cow<'j, str>, JsonShape), JsonError> {
        self.check_bytes(json.len())?;
        let json = match json.strip_prefix('\u{feff}') {
            None => json,
            Some(rest) if self.skips_byte_order_mark => rest,
            Some(_) => return Err(JsonError::ByteOrderMark),
        };
        let scan = Scan::of(json);
        let JsonShape { depth, values } = scan.shape;
        if depth > self.depth {
            let limit = self.depth;
            return Err(JsonError::TooDeep { depth, limit });
        }
        if values > self.values {
            let limit = self.values;
            return Err(JsonError::TooMany { values, limit });
        }
        if let Some((at, why)) = scan.number {
            self.check_number(json, at, why)?;
        }
        let json = match scan.surrogate {
            None => Cow::Borrowed(json),
            Some(_) if self.replaces_surrogates => replace_surrogates(json),
            Some(at) => {
                let place = place_of(json, at);
                return Err(JsonError::LoneSurrogate { place });
            }
        };
        Ok((json, scan.shape))
    }

    fn check_number(&self, json: &str, at: usize, why: Unrepresentable) -> Result<(), JsonError> {
        let place = place_of(json, at);
        let token = json.get(token_around(json.as_bytes(), at));
        let token = text::shorten(token.unwrap_or_default(), NUMBER_MAX);
        match why {
            Unrepresentable::Integer if self.rounds_integers => Ok(()),
            Unrepresentable::Integer => Err(JsonError::LongInteger {
                place,
                digits: token,
            }),
            Unrepresentable::NotFinite => Err(JsonError::NotFinite {
                place,
                literal: token,
            }),
        }
    }
}

#[cfg(test)]
mod tests;
