//! Regular expressions of `find`.

use crate::commands::call::Failure;
use crate::commands::on_text::pattern::{Pattern, Reading, Syntax, Within};

/// How `-regex` reads an expression.
#[derive(Clone, Copy)]
pub(super) enum Type {
    Emacs,
    Basic,
    Extended,
}

/// Names of types, in the order of GNU's message.
const TYPES: [(&str, Type); 13] = [
    ("findutils-default", Type::Emacs),
    ("ed", Type::Basic),
    ("emacs", Type::Emacs),
    ("gnu-awk", Type::Extended),
    ("grep", Type::Basic),
    ("posix-awk", Type::Extended),
    ("awk", Type::Extended),
    ("posix-basic", Type::Basic),
    ("posix-egrep", Type::Extended),
    ("egrep", Type::Extended),
    ("posix-extended", Type::Extended),
    ("posix-minimal-basic", Type::Basic),
    ("sed", Type::Basic),
];

impl Type {
    pub(super) fn named(name: &str, quoted: impl Fn(&str) -> String) -> Result<Self, Failure> {
        let kind = TYPES.iter().find(|(known, _)| *known == name);
        kind.map(|(_, kind)| *kind).ok_or_else(|| {
            let names: Vec<_> = TYPES.iter().map(|(name, _)| quoted(name)).collect();
            let text = format!(
                "Unknown regular expression type {}; valid types are {}.",
                quoted(name),
                names.join(", ")
            );
            Failure::new(1, text)
        })
    }

    /// A pattern for a whole path.
    pub(super) fn pattern(
        self,
        source: &str,
        ignore_case: bool,
        unicode: bool,
    ) -> Result<Pattern, Failure> {
        let (syntax, text) = match self {
            Self::Emacs => (Syntax::Basic, of_emacs(source)),
            Self::Basic => (Syntax::Basic, source.to_owned()),
            Self::Extended => (Syntax::Extended, source.to_owned()),
        };
        let mut reading = Reading::new(syntax, unicode);
        reading.ignore_case = ignore_case;
        reading.within = Within::Lines;
        Pattern::new(vec![text], reading).map_err(|error| {
            let text = format!("failed to compile regular expression '{source}': {error}");
            Failure::new(1, text)
        })
    }
}

/// Writes an expression of Emacs as a basic one of GNU: `+` and `?` are operators without a backslash, braces
/// are always characters.
fn of_emacs(source: &str) -> String {
    let mut text = String::with_capacity(source.len() + 8);
    let mut chars = source.chars();
    while let Some(char) = chars.next() {
        match char {
            '+' | '?' => {
                text.push('\\');
                text.push(char);
            }
            '\\' => match chars.next() {
                Some(plain @ ('+' | '?' | '{' | '}')) => text.push(plain),
                other => {
                    text.push('\\');
                    text.extend(other);
                }
            },
            '[' => {
                // A set ends at the first bracket that is not its first member.
                text.push('[');
                let rest = chars.as_str();
                let first = rest.strip_prefix('^').unwrap_or(rest);
                let skipped = rest.len() - first.len();
                let end = first
                    .char_indices()
                    .skip(1)
                    .find(|(_, char)| *char == ']')
                    .map_or(rest.len(), |(at, _)| skipped + at);
                let (set, after) = rest.split_at(end);
                text.push_str(set);
                chars = after.chars();
            }
            char => text.push(char),
        }
    }
    text
}
