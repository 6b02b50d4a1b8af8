//! Patterns of names: `*`, `?`, `[…]`.

/// What `*` and `?` match.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::commands) enum Slash {
    /// Any character.
    IsAny,
    /// Any character but `/`; `**` matches any.
    Separates,
}

/// A pattern that is read once.
pub(in crate::commands) struct Glob {
    tokens: Vec<Token>,
    ignores_case: bool,
}

enum Token {
    Char(char),
    /// `?`
    One,
    /// `*`
    Many,
    /// `**`
    Deep,
    /// The `**` of `**/`, which matches no folder, too.
    Folders,
    Set {
        members: Members,
        is_negated: bool,
    },
}

impl Glob {
    pub(in crate::commands) fn new(pattern: &str, slash: Slash) -> Self {
        let chars: Vec<char> = pattern.chars().collect();
        let mut rest = &*chars;
        let mut tokens = Vec::new();
        while let Some((first, after)) = rest.split_first() {
            rest = after;
            tokens.push(match first {
                '*' if slash == Slash::Separates && after.first() == Some(&'*') => {
                    rest = after.get(1..).unwrap_or_default();
                    if rest.first() == Some(&'/') {
                        Token::Folders
                    } else {
                        Token::Deep
                    }
                }
                '*' if slash == Slash::Separates => Token::Many,
                '*' => Token::Deep,
                '?' => Token::One,
                '[' => match set(after) {
                    Some((members, is_negated, end)) => {
                        rest = end;
                        Token::Set {
                            members,
                            is_negated,
                        }
                    }
                    None => Token::Char('['),
                },
                '\\' => match after.split_first() {
                    Some((char, end)) => {
                        rest = end;
                        Token::Char(*char)
                    }
                    None => Token::Char('\\'),
                },
                char => Token::Char(*char),
            });
        }
        // A slash is no member of a set where it separates.
        if slash == Slash::Separates {
            for token in &mut tokens {
                if let Token::Set {
                    members,
                    is_negated: true,
                } = token
                {
                    members.push(('/', '/'));
                } else if let Token::One = token {
                    *token = Token::Set {
                        members: vec![('/', '/')],
                        is_negated: true,
                    };
                }
            }
        }
        Self {
            tokens,
            ignores_case: false,
        }
    }

    pub(in crate::commands) fn ignoring_case(mut self) -> Self {
        self.ignores_case = true;
        self
    }

    /// Whether the whole of a text matches.
    pub(in crate::commands) fn matches(&self, text: &str) -> bool {
        let mut states = vec![false; self.tokens.len() + 1];
        self.enter(&mut states, 0);
        let mut next = states.clone();
        for char in text.chars() {
            next.fill(false);
            let mut is_alive = false;
            for (at, token) in self.tokens.iter().enumerate() {
                if states.get(at) != Some(&true) || !self.takes(token, char) {
                    continue;
                }
                is_alive = true;
                match token {
                    Token::Folders => {
                        // Within a name, only its slash goes on.
                        set_true(&mut next, at);
                        set_true(&mut next, at + 1);
                    }
                    Token::Many | Token::Deep => self.enter(&mut next, at),
                    Token::Char(_) | Token::One | Token::Set { .. } => {
                        self.enter(&mut next, at + 1);
                    }
                }
            }
            if !is_alive {
                return false;
            }
            std::mem::swap(&mut states, &mut next);
        }
        states.last() == Some(&true)
    }

    /// Adds a state, and those that nothing more leads to.
    fn enter(&self, states: &mut [bool], mut at: usize) {
        loop {
            set_true(states, at);
            match self.tokens.get(at) {
                Some(Token::Many | Token::Deep) => at += 1,
                Some(Token::Folders) => at += 2,
                _ => return,
            }
        }
    }

    fn takes(&self, token: &Token, char: char) -> bool {
        match token {
            Token::One | Token::Deep | Token::Folders => true,
            Token::Many => char != '/',
            Token::Char(own) => *own == char || self.ignores_case && lower(*own) == lower(char),
            Token::Set {
                members,
                is_negated,
            } => {
                let is_member = |char| {
                    members
                        .iter()
                        .any(|(from, to)| *from <= char && char <= *to)
                };
                let folded = || is_member(lower(char)) || is_member(upper(char));
                (is_member(char) || self.ignores_case && folded()) != *is_negated
            }
        }
    }
}

fn set_true(states: &mut [bool], at: usize) {
    if let Some(state) = states.get_mut(at) {
        *state = true;
    }
}

fn lower(char: char) -> char {
    char.to_lowercase().next().unwrap_or(char)
}

fn upper(char: char) -> char {
    char.to_uppercase().next().unwrap_or(char)
}

/// Whether the whole of a text matches.
pub(in crate::commands) fn matches(pattern: &str, text: &str, slash: Slash) -> bool {
    Glob::new(pattern, slash).matches(text)
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
        check("a/**/b", "a/b", Slash::Separates, true);
        check("a/**/b", "a/x/y/b", Slash::Separates, true);
        check("a/**/b", "a/xb", Slash::Separates, false);
        check("a/**", "a/x/y", Slash::Separates, true);
        check("?", "/", Slash::Separates, false);
        check("[!a]", "/", Slash::Separates, false);
        let many = "a".repeat(200);
        check("*a*a*a*a*a*a*a*b", &many, Slash::IsAny, false);
        check("", "", Slash::IsAny, true);
        check("", "a", Slash::IsAny, false);
    }
}
