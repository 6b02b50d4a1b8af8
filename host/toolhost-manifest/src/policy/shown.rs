//! A policy's text for showing its lines, without what it keeps secret.

use std::collections::BTreeSet;
use std::ops::Range;

use super::Policy;
use super::variable::SECRET_MIN;
use crate::yaml::{self, Node, Value, YamlSource};

/// Shortest word of a plain variable that is hidden wherever it stands, in characters.
const WORD_MIN: usize = 8;

/// What a value is beneath.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Beneath {
    Rules,
    Env,
    Secret,
}

/// What is not shown.
#[derive(Debug, Default)]
struct Hidden {
    places: Vec<Range<usize>>,
    /// What may stand elsewhere as well: behind an anchor, on the lines of a block.
    words: BTreeSet<String>,
}

impl Policy {
    /// The text of a policy for showing its lines, at the same places: the values of environment
    /// variables, and whatever is called `secret`, are written as `*`. None where the text is no YAML:
    /// then nobody can tell what is secret in it.
    #[must_use]
    pub fn shown(text: &str, file: &str) -> Option<YamlSource> {
        let source = YamlSource::new(file, text);
        let mut hidden = Hidden::default();
        for document in yaml::documents(&source, usize::MAX) {
            hidden.gather(&source, &document.ok()?, Beneath::Rules);
        }
        Some(YamlSource::new(file, &hidden.blot(source.text())?))
    }
}

impl Hidden {
    fn gather(&mut self, source: &YamlSource, node: &Node, beneath: Beneath) {
        match &node.value {
            Value::Map(entries) => {
                for (key, value) in entries {
                    let beneath = match (key.name.as_str(), beneath) {
                        ("secret", _) | (_, Beneath::Secret) => Beneath::Secret,
                        ("env", _) | (_, Beneath::Env) => Beneath::Env,
                        (_, Beneath::Rules) => Beneath::Rules,
                    };
                    self.gather(source, value, beneath);
                }
            }
            Value::List(items) => {
                for item in items {
                    self.gather(source, item, beneath);
                }
            }
            Value::Null | Value::Bool(_) | Value::Integer(_) | Value::Float(_) => {
                self.scalar(source, node, "", beneath);
            }
            Value::Text(text) => self.scalar(source, node, text, beneath),
        }
    }

    fn scalar(&mut self, source: &YamlSource, node: &Node, text: &str, beneath: Beneath) {
        let shortest = match beneath {
            Beneath::Rules => return,
            Beneath::Env => WORD_MIN,
            Beneath::Secret => SECRET_MIN,
        };
        if let Some(at) = source.place(node.mark, "").position {
            self.places
                .push(at.span.offset..at.span.offset + at.span.length);
        }
        let words = text.split_whitespace();
        let words = words.filter(|word| word.chars().count() >= shortest);
        self.words.extend(words.map(str::to_owned));
    }

    /// Writes `*` over it, byte for byte; line breaks stay.
    fn blot(mut self, text: &str) -> Option<String> {
        for word in &self.words {
            let found = text.match_indices(word.as_str());
            self.places
                .extend(found.map(|(at, word)| at..at + word.len()));
        }
        let mut bytes = text.as_bytes().to_vec();
        for place in self.places {
            for byte in bytes.get_mut(place)? {
                if !matches!(byte, b'\n' | b'\r') {
                    *byte = b'*';
                }
            }
        }
        String::from_utf8(bytes).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_value_of_a_variable_is_shown_and_everything_else_at_its_place() {
        let text = r#"x: &later sk-anchored-9
tools:
  bash:
    limits: {deadlineMs: 5}
    env:
      LANG: C.UTF-8
      PIN: 48151623
      A: {secret: sk-plain-1}
      B: {secret: "sk-\"quoted-2"}
      C: {secret: 'sk-''single-3'}
      D:
        secret: |
          sk-block-4
          가나다라마 sk-5
      E: {secret: sk-folded
          over-lines-6}
      F: {secert: sk-misspelt-7}
      G: {secret: *later}
    secret: sk-elsewhere-8
    readonly: true
"#;
        let shown = Policy::shown(text, "p.yaml").unwrap();
        let shown = shown.text();
        assert_eq!(shown.len(), text.len());
        for secret in [
            "sk-",
            "C.UTF",
            "4815",
            "plain-1",
            "quoted",
            "single",
            "block",
            "가나",
            "folded",
            "over-",
            "misspelt",
            "elsewhere",
            "anchored",
        ] {
            assert!(!shown.contains(secret), "{secret}: {shown}");
        }
        for (line, plain) in shown.lines().zip(text.lines()) {
            assert_eq!(line.len(), plain.len());
        }
        assert!(shown.contains("    limits: {deadlineMs: 5}\n    env:\n      LANG: *******\n"));
        assert!(shown.contains("    readonly: true\n"));
    }

    #[test]
    fn nothing_is_shown_of_what_is_no_yaml() {
        for text in ["a: {secret: sk-1", "a: 1\na: 2\n", "\t\u{0}"] {
            assert!(Policy::shown(text, "p.yaml").is_none(), "{text}");
        }
        assert_eq!(Policy::shown("", "p.yaml").unwrap().text(), "");
    }
}
