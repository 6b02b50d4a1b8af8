//! The tokens of a program, read one after the other.

use crate::lex::{Fault, Placed, Token};

/// Words that are no names of filters.
pub(super) const KEYWORDS: &[&str] = &[
    "as", "import", "include", "module", "def", "if", "then", "else", "elif", "and", "or", "end",
    "reduce", "foreach", "try", "catch", "label", "break", "__loc__",
];

/// The deepest nesting of a program: parsing takes stack for each level.
const MAX_DEPTH: usize = 200;

pub(super) type Parsed<T> = Result<T, Fault>;

pub(super) struct Parser<'t> {
    pub(super) tokens: &'t [Placed],
    pub(super) at: usize,
    /// The byte after the last token.
    pub(super) end: usize,
    pub(super) program: &'t str,
    pub(super) depth: usize,
    /// The place of a `?//` after a term, which is `?` and `//` there.
    pub(super) halved: Option<usize>,
}

impl<'t> Parser<'t> {
    pub(super) fn new(program: &'t str, tokens: &'t [Placed]) -> Self {
        Self {
            tokens,
            at: 0,
            end: program.len(),
            program,
            depth: 0,
            halved: None,
        }
    }

    /// Parses what may contain itself.
    pub(super) fn nested<T>(&mut self, parse: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            let reason = format!("the program is nested more than {MAX_DEPTH} deep");
            return Err(Fault {
                reason,
                at: self.place(),
            });
        }
        let parsed = parse(self);
        self.depth -= 1;
        parsed
    }

    pub(super) fn peek(&self) -> Option<&'t Token> {
        self.tokens.get(self.at).map(|placed| &placed.token)
    }

    pub(super) fn next(&mut self) -> Option<&'t Token> {
        let token = self.peek();
        self.at += 1;
        token
    }

    pub(super) fn place(&self) -> usize {
        self.tokens
            .get(self.at)
            .map_or(self.end, |placed| placed.at)
    }

    pub(super) fn is_sign(&self, sign: &str) -> bool {
        matches!(self.peek(), Some(Token::Sign(next)) if *next == sign)
    }

    pub(super) fn is_word(&self, word: &str) -> bool {
        matches!(self.peek(), Some(Token::Word(next)) if next == word)
    }

    pub(super) fn take_sign(&mut self, sign: &str) -> bool {
        let found = self.is_sign(sign);
        self.at += usize::from(found);
        found
    }

    pub(super) fn take_word(&mut self, word: &str) -> bool {
        let found = self.is_word(word);
        self.at += usize::from(found);
        found
    }

    pub(super) fn expect(&mut self, sign: &str) -> Parsed<()> {
        if self.take_sign(sign) {
            Ok(())
        } else {
            self.unexpected(&format!("`{sign}`"))
        }
    }

    pub(super) fn expect_word(&mut self, word: &str) -> Parsed<()> {
        if self.take_word(word) {
            Ok(())
        } else {
            self.unexpected(&format!("`{word}`"))
        }
    }

    pub(super) fn expect_end(&self) -> Parsed<()> {
        if self.peek().is_none() {
            Ok(())
        } else {
            self.unexpected("the end or an operator")
        }
    }

    pub(super) fn unexpected<T>(&self, expected: &str) -> Parsed<T> {
        Err(Fault {
            reason: format!("expected {expected}"),
            at: self.place(),
        })
    }
}
