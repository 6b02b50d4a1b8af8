//! Which tools a tool may call.

use std::fmt;

use crate::ToolName;
use crate::suggest::closest;

/// Separates the name of a resource and that of its export.
const SEPARATOR: &str = "__";

/// A tool that may be called, or all of those whose name begins in one way: `json-query__query`, `file-system__*`, `*`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolPattern {
    /// The name, or how it begins.
    text: String,
    /// Whether the name may go on.
    is_prefix: bool,
}

/// Why a text is not a pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "it must be the name of a tool such as 'file-system__read', or end with '*' such as 'file-system__*'"
)]
pub struct ToolPatternError;

impl ToolPattern {
    /// Parses a pattern. A `*` stands only at its end, and for any text, also none.
    ///
    /// # Errors
    /// [`ToolPatternError`] for anything else.
    pub fn parse(text: &str) -> Result<Self, ToolPatternError> {
        let (name, is_prefix) = match text.strip_suffix('*') {
            Some(prefix) => (prefix, true),
            None => (text, false),
        };
        let is_name = if is_prefix {
            let is_plain =
                |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-_".contains(c);
            let parts = name.split("__").count();
            name.chars().all(is_plain) && !name.starts_with(['-', '_']) && parts <= 2
        } else {
            ToolName::parse(name).is_ok()
        };
        is_name
            .then(|| Self {
                text: name.to_owned(),
                is_prefix,
            })
            .ok_or(ToolPatternError)
    }

    /// Returns the pattern of every tool: `*`.
    pub fn any() -> Self {
        Self {
            text: String::new(),
            is_prefix: true,
        }
    }

    /// Whether it can be for a tool of this resource, whatever tools that has.
    pub fn may_match_one_of(&self, resource: &str) -> bool {
        let start = format!("{resource}{SEPARATOR}");
        self.text.starts_with(&start) || self.is_prefix && start.starts_with(&self.text)
    }

    /// Returns the tool that it was probably meant for, or the pattern of those of a resource.
    pub fn closest(&self, names: &[&str]) -> Option<String> {
        let Some((resource, "")) = self.text.split_once(SEPARATOR).filter(|_| self.is_prefix)
        else {
            return closest(&self.text, names).map(str::to_owned);
        };
        let resources = names.iter().filter_map(|name| name.split_once(SEPARATOR));
        let resources: Vec<&str> = resources.map(|(resource, _)| resource).collect();
        let similar = closest(resource, &resources)?;
        Some(format!("{similar}{SEPARATOR}*"))
    }

    /// Whether it is for the tool with this name.
    pub fn matches(&self, tool: &str) -> bool {
        if self.is_prefix {
            tool.starts_with(&self.text)
        } else {
            tool == self.text
        }
    }
}

impl fmt::Display for ToolPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let star = if self.is_prefix { "*" } else { "" };
        write!(f, "{}{star}", self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_is_a_name_or_how_names_begin() {
        let matches =
            |pattern: &str, tool: &str| ToolPattern::parse(pattern).unwrap().matches(tool);
        assert!(matches("file-system__read", "file-system__read"));
        assert!(!matches("file-system__read", "file-system__read-all"));
        assert!(matches("file-system__*", "file-system__read"));
        assert!(!matches("file-system__*", "file-system2__read"));
        assert!(matches("file-system__re*", "file-system__read"));
        assert!(matches("file*", "file-system__read"));
        assert!(matches("*", "file-system__read"));
        for wrong in [
            "",
            "read",
            "file-system",
            "*__read",
            "a*b",
            "a__*b",
            "a b*",
            "__*",
            "A__read",
            "a__b__*",
        ] {
            assert_eq!(
                ToolPattern::parse(wrong),
                Err(ToolPatternError),
                "{wrong:?}"
            );
        }
        let closest = |pattern: &str| {
            ToolPattern::parse(pattern)
                .unwrap()
                .closest(&["file-system__read", "text__upper"])
        };
        assert_eq!(closest("file-sistem__*").unwrap(), "file-system__*");
        assert_eq!(closest("file-system__reed").unwrap(), "file-system__read");
        assert_eq!(closest("other__*"), None);
        for (pattern, may) in [
            ("a__*", true),
            ("a__b", true),
            ("a*", true),
            ("*", true),
            ("ab*", false),
            ("b__*", false),
        ] {
            let pattern = ToolPattern::parse(pattern).unwrap();
            assert_eq!(pattern.may_match_one_of("a"), may, "{pattern}");
        }
        for text in ["file-system__*", "*", "a__b"] {
            assert_eq!(ToolPattern::parse(text).unwrap().to_string(), text);
        }
    }
}
