//! Patterns of texts, with `*` for any text.

use std::fmt;

/// A text, in which each `*` stands for any text, `/` and none included: `docs/*`, `*.md`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextPattern(String);

/// Most characters of a pattern.
const CHARS_MAX: usize = 1_024;

/// A text is not a pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("it must have 1 to {CHARS_MAX} characters")]
pub struct TextPatternError;

impl TextPattern {
    /// Parses a pattern.
    ///
    /// # Errors
    /// [`TextPatternError`] for an empty text, and for one of more than 1,024 characters.
    pub fn parse(text: &str) -> Result<Self, TextPatternError> {
        if text.is_empty() || text.chars().count() > CHARS_MAX {
            return Err(TextPatternError);
        }
        Ok(Self(text.to_owned()))
    }

    /// Whether it stands for this text alone.
    pub fn is_exact(&self) -> bool {
        !self.0.contains('*')
    }

    /// Whether a text fits, as it is written.
    pub fn matches(&self, text: &str) -> bool {
        fits(&self.0, text, |c| c)
    }

    /// Whether a text fits for certain, where it may be a path: one with a `.` or `..` between its slashes, which may
    /// lead elsewhere, fits no pattern with a `*`.
    pub fn surely_matches(&self, text: &str) -> bool {
        let is_plain = || path_of(text).as_deref() == Some(text);
        self.matches(text) && (self.is_exact() || is_plain())
    }

    /// Whether a text may fit, where it may be a path: as it is written, or as a path, from the workdir, without `.`,
    /// `..` and empty names. One that leads out of the workdir may fit every pattern.
    pub fn may_match(&self, text: &str) -> bool {
        if self.matches(text) {
            return true;
        }
        let pattern = path_of(&self.0).unwrap_or_default();
        path_of(text).is_none_or(|path| fits(&pattern, &path, |c| c))
    }

    /// Whether a path beneath this one may fit, which is from the workdir and without `.`, `..` and empty names.
    pub fn may_match_beneath(&self, path: &str) -> bool {
        let pattern = path_of(&self.0).unwrap_or_default();
        let beneath = format!("{path}/");
        match pattern.split_once('*') {
            // The star stands for what follows.
            Some((first, _)) => first.starts_with(&beneath) || beneath.starts_with(first),
            None => pattern.starts_with(&beneath),
        }
    }

    /// Whether every text that fits this pattern fits the other.
    pub fn is_within(&self, other: &Self) -> bool {
        // A star of this one may stand for anything, so only a star of the other one takes it.
        fits(&other.0, &self.0, |c| if c == '*' { '\0' } else { c })
    }
}

impl fmt::Display for TextPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Returns a path from the workdir without `.`, `..` and empty names. None if it leads out of the workdir.
fn path_of(text: &str) -> Option<String> {
    let mut names = Vec::new();
    for name in text.split(['/', '\\']) {
        match name {
            "" | "." => {}
            ".." => drop(names.pop()?),
            name => names.push(name),
        }
    }
    Some(names.join("/"))
}

/// Whether a text fits a pattern. Takes time with the product of their lengths at most.
fn fits(pattern: &str, text: &str, as_seen: impl Fn(char) -> char) -> bool {
    let (pattern, text): (Vec<char>, Vec<char>) = (
        pattern.chars().collect(),
        text.chars().map(as_seen).collect(),
    );
    let (mut at, mut from) = (0, 0);
    // The last star, and what it was tried for.
    let mut star: Option<(usize, usize)> = None;
    while let Some(c) = text.get(from) {
        match pattern.get(at) {
            Some('*') => {
                star = Some((at, from));
                at += 1;
            }
            Some(expected) if expected == c => {
                at += 1;
                from += 1;
            }
            Some(_) | None => {
                let Some((after, tried)) = star else {
                    return false;
                };
                star = Some((after, tried + 1));
                at = after + 1;
                from = tried + 1;
            }
        }
    }
    let rest = pattern.get(at..).unwrap_or_default();
    rest.iter().all(|c| *c == '*')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(text: &str) -> TextPattern {
        TextPattern::parse(text).unwrap()
    }

    #[test]
    fn a_star_stands_for_any_text() {
        for (text, fits) in [
            ("docs/a.md", true),
            ("docs/", true),
            ("docs/a/b", true),
            ("docs", false),
            ("xdocs/a", false),
        ] {
            assert_eq!(pattern("docs/*").matches(text), fits, "{text}");
        }
        assert!(pattern("*a*b*").matches("xxaxxbxx"));
        assert!(!pattern("*a*b").matches("ba"));
        assert!(pattern("*").matches(""));
        assert!(pattern("한*").matches("한글"));
        let long = pattern(&"*a".repeat(500));
        assert!(!long.matches(&"a".repeat(499)));
        assert!(TextPattern::parse("").is_err());
        assert!(TextPattern::parse(&"x".repeat(1_025)).is_err());
    }

    #[test]
    fn a_path_that_may_lead_elsewhere_fits_for_certain_only_as_it_is_written() {
        let docs = pattern("docs/*");
        for text in [
            "docs/../secret",
            "docs/./a",
            "docs//a",
            "docs\\..\\x",
            "docs/..",
        ] {
            assert!(!docs.surely_matches(text), "{text}");
        }
        assert!(docs.surely_matches("docs/a..b/.c"));
        assert!(pattern("docs/../a").surely_matches("docs/../a"));
    }

    #[test]
    fn a_path_may_fit_by_the_way_that_it_leads() {
        let secret = pattern("secret/*");
        for text in [
            "secret/a",
            "./secret/a",
            "/secret/a",
            "docs/../secret/a",
            "x/./..//secret//a",
            "secret\\a",
            "../work/secret/a",
        ] {
            assert!(secret.may_match(text), "{text}");
        }
        assert!(!secret.may_match("docs/secret/a"));
        assert!(!secret.may_match("secret"));
        assert!(pattern("/secret/*").may_match("secret/a"));
    }

    #[test]
    fn a_pattern_may_match_beneath_a_folder_if_it_begins_with_it_or_has_a_star_before() {
        for (text, path, may_match) in [
            ("src/*", "src", true),
            ("src/a/*.rs", "src", true),
            ("src/a/*.rs", "src/b", false),
            ("src*", "src", true),
            ("*.md", "docs", true),
            ("/src/a", "src", true),
            ("src/a", "src/a", false),
            ("src/*", "sr", false),
            ("src/*", "docs", false),
        ] {
            let found = pattern(text).may_match_beneath(path);
            assert_eq!(found, may_match, "{text} {path}");
        }
    }

    #[test]
    fn a_pattern_is_within_another_if_all_that_fits_it_fits_the_other() {
        for (narrow, wide, is_within) in [
            ("docs/a", "docs/*", true),
            ("docs/public/*", "docs/*", true),
            ("docs/*", "docs/public/*", false),
            ("*", "*", true),
            ("*", "docs/*", false),
            ("a*c", "a*", true),
            ("a*", "a*c", false),
            ("*.md", "docs/*", false),
        ] {
            let found = pattern(narrow).is_within(&pattern(wide));
            assert_eq!(found, is_within, "{narrow} {wide}");
        }
    }
}
