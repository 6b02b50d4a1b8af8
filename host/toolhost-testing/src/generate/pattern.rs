//! Texts that match a regular expression.

use regex_syntax::hir::{Class, Hir, HirKind};

/// Longest text, in bytes.
const TEXT_MAX: usize = 1_000;

/// Returns a short text that matches `pattern`, if it is a regular expression that a short text can
/// match.
pub(super) fn example(pattern: &str) -> Option<String> {
    let hir = regex_syntax::parse(pattern).ok()?;
    let mut text = String::new();
    write(&hir, &mut text)?;
    Some(text)
}

fn write(hir: &Hir, text: &mut String) -> Option<()> {
    if text.len() > TEXT_MAX {
        return None;
    }
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => Some(()),
        HirKind::Literal(literal) => {
            text.push_str(std::str::from_utf8(&literal.0).ok()?);
            Some(())
        }
        HirKind::Class(Class::Unicode(class)) => {
            let ranges = class.ranges();
            let of_range = |range: &regex_syntax::hir::ClassUnicodeRange| {
                // Prefers a letter or a digit.
                let plain = ['a', 'A', '0'];
                plain
                    .into_iter()
                    .find(|c| (range.start()..=range.end()).contains(c))
            };
            let letter = ranges.iter().find_map(of_range);
            text.push(letter.or_else(|| ranges.first().map(|range| range.start()))?);
            Some(())
        }
        HirKind::Class(Class::Bytes(class)) => {
            text.push(char::from(class.ranges().first()?.start()));
            Some(())
        }
        HirKind::Repetition(repetition) => {
            for _ in 0..repetition.min {
                write(&repetition.sub, text)?;
            }
            Some(())
        }
        HirKind::Capture(capture) => write(&capture.sub, text),
        HirKind::Concat(parts) => parts.iter().try_for_each(|part| write(part, text)),
        HirKind::Alternation(parts) => write(parts.first()?, text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_example_matches() {
        for pattern in [
            "^[a-z][a-z0-9-]*$",
            r"^\d{4}-\d{2}-\d{2}$",
            "^(GET|POST)$",
            "a|b",
            "^#[0-9a-fA-F]{6}$",
            "",
            r"^[^/]+/[^/]+$",
        ] {
            let text = example(pattern).unwrap();
            assert!(
                regex::Regex::new(pattern).unwrap().is_match(&text),
                "{pattern}: {text}"
            );
        }
        assert_eq!(example("a{1000000}"), None);
        assert_eq!(example("("), None);
    }
}
