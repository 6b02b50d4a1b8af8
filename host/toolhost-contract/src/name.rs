//! Names of resources, exports and tools.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Longest tool name, in characters. Model providers accept `^[a-zA-Z0-9_-]{1,64}$`.
const TOOL_NAME_MAX: usize = 64;

/// Separates the names of resource and export in a tool name.
const SEPARATOR: &str = "__";

/// A string that is not a valid name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NameError {
    /// The name is empty.
    #[error("a name must not be empty")]
    Empty,
    /// A character outside `a-z`, `0-9`, `_` and `-`.
    #[error(
        "'{}' contains {character:?}: only a-z, 0-9, '_' and '-' are allowed",
        .name.escape_debug()
    )]
    Character {
        /// The string.
        name: String,
        /// The first invalid character.
        character: char,
    },
    /// The first character is neither a letter nor a digit.
    #[error("'{0}' must start with a letter or a digit")]
    Start(String),
    /// The name contains `__`, the separator of tool names.
    #[error("'{0}' must not contain '__', which separates the tool from its export")]
    Separator(String),
    /// The name ends with `_`. With such names, two pairs could give the same tool name.
    #[error("'{0}' must not end with '_'")]
    End(String),
    /// The tool name is longer than model providers accept.
    #[error(
        "'{}' is {length} characters long: at most {TOOL_NAME_MAX} are allowed",
        .name.escape_debug()
    )]
    TooLong {
        /// The string, truncated.
        name: String,
        /// Length in characters.
        length: usize,
    },
    /// The tool name contains no `__`.
    #[error("'{}' has no '__' between the tool and its export", .0.escape_debug())]
    NoSeparator(String),
}

fn check_part(name: &str) -> Result<(), NameError> {
    let Some(first) = name.chars().next() else {
        return Err(NameError::Empty);
    };
    let length = name.chars().count();
    if length > TOOL_NAME_MAX {
        let name = name.chars().take(TOOL_NAME_MAX).collect();
        return Err(NameError::TooLong { name, length });
    }
    let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '_' | '-');
    if let Some(character) = name.chars().find(|c| !allowed(*c)) {
        let name = name.to_owned();
        return Err(NameError::Character { name, character });
    }
    if name.contains(SEPARATOR) {
        return Err(NameError::Separator(name.to_owned()));
    }
    if !first.is_ascii_alphanumeric() {
        return Err(NameError::Start(name.to_owned()));
    }
    Ok(())
}

macro_rules! text_conversions {
    ($($type:ident.$text:tt),*) => {$(
        impl $type {
            /// Returns the name as text.
            pub fn as_str(&self) -> &str {
                &self.$text
            }
        }

        impl TryFrom<String> for $type {
            type Error = NameError;
            fn try_from(name: String) -> Result<Self, NameError> {
                Self::parse(&name)
            }
        }

        impl From<$type> for String {
            fn from(name: $type) -> String {
                name.$text
            }
        }

        impl std::str::FromStr for $type {
            type Err = NameError;
            fn from_str(name: &str) -> Result<Self, NameError> {
                Self::parse(name)
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.$text)
            }
        }

        /// Equal, ordered and hashed as its text, so that a map can be searched with the text alone.
        impl std::borrow::Borrow<str> for $type {
            fn borrow(&self) -> &str {
                &self.$text
            }
        }

        impl std::hash::Hash for $type {
            fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
                self.$text.hash(state);
            }
        }
    )*};
}

text_conversions!(ResourceName.0, ExportName.0, ToolName.whole);

/// Name of a resource, `[a-z0-9][a-z0-9_-]*` without `__` and without a trailing `_`.
///
/// Spec: tool-spec-v2 §2.2, §5.2.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ResourceName(String);

impl ResourceName {
    /// Parses a name.
    ///
    /// # Errors
    /// [`NameError`] if the string is not a valid name.
    pub fn parse(name: &str) -> Result<Self, NameError> {
        check_part(name)?;
        if name.ends_with('_') {
            return Err(NameError::End(name.to_owned()));
        }
        Ok(Self(name.to_owned()))
    }
}

/// Name of an export of a Tool, `[a-z0-9][a-z0-9_-]*` without `__`.
///
/// Spec: tool-spec-v2 §6.2.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ExportName(String);

impl ExportName {
    /// Parses a name.
    ///
    /// # Errors
    /// [`NameError`] if the string is not a valid name.
    pub fn parse(name: &str) -> Result<Self, NameError> {
        check_part(name)?;
        Ok(Self(name.to_owned()))
    }
}

/// The tool name given to the model: `{resource}__{export}`, at most 64 characters.
///
/// Spec: tool-spec-v2 §5.1. Stricter than the snippet of §5.3, which accepts `__exec` and `a__b__c`:
/// both parts must be valid names, so that different pairs give different tool names.
///
/// ```
/// use toolhost_contract::ToolName;
/// let name = ToolName::parse("file-system__read")?;
/// assert_eq!(name.resource().as_str(), "file-system");
/// assert_eq!(name.export().as_str(), "read");
/// assert!(ToolName::parse("a__b__c").is_err());
/// # Ok::<(), toolhost_contract::NameError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ToolName {
    whole: String,
    resource: ResourceName,
    export: ExportName,
}

impl ToolName {
    /// Joins the names of a resource and an export.
    ///
    /// # Errors
    /// [`NameError::TooLong`] if the tool name exceeds 64 characters.
    pub fn new(resource: ResourceName, export: ExportName) -> Result<Self, NameError> {
        let whole = format!("{resource}{SEPARATOR}{export}");
        let length = whole.chars().count();
        if length > TOOL_NAME_MAX {
            let name = whole;
            return Err(NameError::TooLong { name, length });
        }
        Ok(Self {
            whole,
            resource,
            export,
        })
    }

    /// Parses a tool name.
    ///
    /// # Errors
    /// [`NameError`] if the string is not a valid name.
    pub fn parse(whole: &str) -> Result<Self, NameError> {
        let Some((resource, export)) = whole.split_once(SEPARATOR) else {
            let name = whole.chars().take(TOOL_NAME_MAX).collect();
            return Err(NameError::NoSeparator(name));
        };
        Self::new(ResourceName::parse(resource)?, ExportName::parse(export)?)
    }

    /// Returns the name of the Tool resource.
    pub fn resource(&self) -> &ResourceName {
        &self.resource
    }

    /// Returns the name of the export.
    pub fn export(&self) -> &ExportName {
        &self.export
    }
}

#[cfg(test)]
mod tests;
