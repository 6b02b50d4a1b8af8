//! Masks the secrets in a policy's text, so that messages can quote its lines.

use std::collections::BTreeSet;
use std::ops::Range;

use super::Policy;
use super::credentials::SECRET_MIN;
use super::state::password_in;
use crate::yaml::{self, Node, Value, YamlSource};

/// Shortest word of a plain variable's value that is masked everywhere in the text, in characters.
const WORD_MIN: usize = 8;

/// The parts of a text to mask.
#[derive(Debug, Default)]
struct Mask {
    places: Vec<Range<usize>>,
    /// Words to mask everywhere: the place of a value does not include its anchor or the lines of a
    /// block.
    words: BTreeSet<String>,
}

impl Policy {
    /// Returns the text of a policy with `*` in place of each byte of the values of environment variables,
    /// of credentials, of keys named `secret` and `password`, and of URLs with a password. Positions stay the same. Returns `None` if the text is
    /// not valid YAML, because its secrets cannot be found then.
    pub fn masked(text: &str, file: &str) -> Option<YamlSource> {
        let source = YamlSource::new(file, text);
        let mut mask = Mask::default();
        for document in yaml::documents(&source, usize::MAX) {
            mask.gather(&source, &document.ok()?, None);
        }
        Some(YamlSource::new(file, &mask.apply(source.text())?))
    }
}

impl Mask {
    /// Adds the values beneath keys named `env`, `secret`, `password` and `value`, and URLs with a password. `shortest` is the length of the shortest word
    /// to mask everywhere; if it is `None`, the value is not beneath such a key.
    fn gather(&mut self, source: &YamlSource, node: &Node, shortest: Option<usize>) {
        let has_password = matches!(&node.value, Value::Text(text) if password_in(text).is_some());
        let shortest = shortest.or(has_password.then_some(SECRET_MIN));
        if let Value::Map(entries) = &node.value {
            for (key, value) in entries {
                let shortest = match key.name.as_str() {
                    // A credential may have its secret as `value` by mistake.
                    "secret" | "value" | "password" => Some(SECRET_MIN),
                    "env" => shortest.or(Some(WORD_MIN)),
                    _ => shortest,
                };
                self.gather(source, value, shortest);
            }
        } else if let Value::List(items) = &node.value {
            for item in items {
                self.gather(source, item, shortest);
            }
        } else if let Some(shortest) = shortest {
            let place = source.place(node.mark, "").position;
            let place = place.map(|at| at.span.offset..at.span.offset + at.span.length);
            self.places.extend(place);
            if let Value::Text(text) = &node.value {
                let words = text.split_whitespace();
                let words = words.filter(|word| word.chars().count() >= shortest);
                self.words.extend(words.map(str::to_owned));
            }
        }
    }

    /// Replaces each byte with `*`, except line breaks.
    fn apply(mut self, text: &str) -> Option<String> {
        for word in &self.words {
            let matches = text.match_indices(word.as_str());
            self.places
                .extend(matches.map(|(at, word)| at..at + word.len()));
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
    http:
      credentials:
        - {origin: "https://a.example", header: x, value: sk-direct-10}
        - {origin: "https://a.example", header: x, value: {secert: sk-wrong-11}}
    readonly: true
"#;
        let masked = Policy::masked(text, "p.yaml").unwrap();
        let masked = masked.text();
        assert_eq!(masked.len(), text.len());
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
            "direct",
            "wrong",
            "anchored",
        ] {
            assert!(!masked.contains(secret), "{secret}: {masked}");
        }
        for (line, plain) in masked.lines().zip(text.lines()) {
            assert_eq!(line.len(), plain.len());
        }
        assert!(masked.contains("    limits: {deadlineMs: 5}\n    env:\n      LANG: *******\n"));
        assert!(masked.contains("    readonly: true\n"));
    }

    #[test]
    fn a_text_that_is_not_yaml_is_not_shown() {
        for text in ["a: {secret: sk-1", "a: 1\na: 2\n", "\t\u{0}"] {
            assert!(Policy::masked(text, "p.yaml").is_none(), "{text}");
        }
        assert_eq!(Policy::masked("", "p.yaml").unwrap().text(), "");
    }
}
