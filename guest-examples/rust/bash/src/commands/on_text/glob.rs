//! Patterns of names: `*`, `?`, `[…]`.

/// What `*` and `?` match.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Slash {
    /// Any character.
    IsAny,
    /// Any character but `/`; `**` matches any.
    Separates,
}

/// Whether the whole of a text matches.
pub(super) fn matches(pattern: &str, text: &str, slash: Slash) -> bool {
    let pattern: Vec<char> = pattern.chars().collect();
    let text: Vec<char> = text.chars().collect();
    matches_at(&pattern, &text, slash)
}

fn matches_at(pattern: &[char], text: &[char], slash: Slash) -> bool {
    let Some((first, rest)) = pattern.split_first() else {
        return text.is_empty();
    };
    match first {
        '*' => {
            if let (Slash::Separates, ['*', ..]) = (slash, rest) {
                let rest = rest.strip_prefix(&['*']).unwrap_or(rest);
                // `**/` matches no folder, too.
                let below = rest.strip_prefix(&['/']);
                return below.is_some_and(|below| matches_at(below, text, slash))
                    || (0..=text.len())
                        .any(|at| matches_at(rest, text.get(at..).unwrap_or_default(), slash));
            }
            let mut at = 0;
            loop {
                let tail = text.get(at..).unwrap_or_default();
                if matches_at(rest, tail, slash) {
                    return true;
                }
                match tail.first() {
                    Some('/') if slash == Slash::Separates => return false,
                    Some(_) => at += 1,
                    None => return false,
                }
            }
        }
        '?' => match text.split_first() {
            Some(('/', _)) if slash == Slash::Separates => false,
            Some((_, tail)) => matches_at(rest, tail, slash),
            None => false,
        },
        '[' => match (set(rest), text.split_first()) {
            (Some((members, negated, after)), Some((char, tail))) => {
                let is_member = members.iter().any(|(from, to)| from <= char && char <= to);
                is_member != negated && matches_at(after, tail, slash)
            }
            (Some(_), None) => false,
            (None, _) => {
                text.first() == Some(&'[')
                    && matches_at(rest, text.get(1..).unwrap_or_default(), slash)
            }
        },
        '\\' if !rest.is_empty() => {
            rest.first() == text.first()
                && matches_at(
                    rest.get(1..).unwrap_or_default(),
                    text.get(1..).unwrap_or_default(),
                    slash,
                )
        }
        char => {
            text.first() == Some(char) && matches_at(rest, text.get(1..).unwrap_or_default(), slash)
        }
    }
}

type Members = Vec<(char, char)>;

/// Reads a set after its `[`: its members, whether it is negated, and what follows it.
fn set(pattern: &[char]) -> Option<(Members, bool, &[char])> {
    let negated = matches!(pattern.first(), Some('!' | '^'));
    let mut at = usize::from(negated);
    let first = at;
    let mut members = Vec::new();
    loop {
        let mut char = *pattern.get(at)?;
        if char == ']' && at > first {
            return Some((members, negated, pattern.get(at + 1..)?));
        }
        if char == '[' && pattern.get(at + 1) == Some(&':') {
            let end = (at + 2..pattern.len()).find(|end| pattern.get(*end) == Some(&':'))?;
            let name: String = pattern.get(at + 2..end)?.iter().collect();
            members.extend(class(&name));
            at = end + 2;
            continue;
        }
        if char == '\\' {
            at += 1;
            char = *pattern.get(at)?;
        }
        let to = pattern.get(at + 2).filter(|to| **to != ']');
        if let (Some('-'), Some(to)) = (pattern.get(at + 1), to) {
            members.push((char, *to));
            at += 3;
        } else {
            members.push((char, char));
            at += 1;
        }
    }
}

fn class(name: &str) -> &'static [(char, char)] {
    match name {
        "alpha" => &[('a', 'z'), ('A', 'Z')],
        "digit" => &[('0', '9')],
        "alnum" => &[('a', 'z'), ('A', 'Z'), ('0', '9')],
        "upper" => &[('A', 'Z')],
        "lower" => &[('a', 'z')],
        "space" => &[('\t', '\r'), (' ', ' ')],
        "xdigit" => &[('0', '9'), ('a', 'f'), ('A', 'F')],
        "punct" => &[('!', '/'), (':', '@'), ('[', '`'), ('{', '~')],
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    use super::{Slash, matches};

    #[test]
    fn names_match_patterns() {
        let check = |pattern, text, slash, expected| {
            assert_eq!(matches(pattern, text, slash), expected, "{pattern} {text}");
        };
        check("*.c", "a.c", Slash::IsAny, true);
        check("*.c", "d/a.c", Slash::IsAny, true);
        check("*.c", "d/a.c", Slash::Separates, false);
        check("**/*.c", "a.c", Slash::Separates, true);
        check("**/*.c", "d/e/a.c", Slash::Separates, true);
        check("[!a-c]?", "dx", Slash::IsAny, true);
        check("[]x]", "]", Slash::IsAny, true);
        check("[a", "[a", Slash::IsAny, true);
        check("\\*", "*", Slash::IsAny, true);
        check("[[:digit:]]x", "5x", Slash::IsAny, true);
    }
}
