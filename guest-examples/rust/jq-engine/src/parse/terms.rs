//! Terms, with what follows them.

use super::parser::{KEYWORDS, Parsed, Parser};
use crate::ast::{Ast, AstPart, Pattern};
use crate::lex::{Part, Token};
use crate::value::Val;

impl Parser<'_> {
    pub(super) fn term(&mut self) -> Parsed<Ast> {
        let start = self.primary()?;
        self.suffixes(start)
    }

    fn suffixes(&mut self, mut term: Ast) -> Parsed<Ast> {
        loop {
            match self.peek() {
                Some(Token::Field(name)) => {
                    self.at += 1;
                    term = index(term, Ast::Const(name.as_str().into()));
                }
                Some(Token::Sign("?")) => {
                    self.at += 1;
                    term = Ast::Try(Box::new(term), None);
                }
                Some(Token::Sign("?//")) if self.halved != Some(self.at) => {
                    self.halved = Some(self.at);
                    return Ok(Ast::Try(Box::new(term), None));
                }
                Some(Token::Sign("[")) => {
                    self.at += 1;
                    term = self.bracket(term)?;
                }
                Some(Token::Sign(".")) => {
                    match self.tokens.get(self.at + 1).map(|placed| &placed.token) {
                        Some(Token::Text(_)) => {
                            self.at += 1;
                            let key = self.text(None)?;
                            term = index(term, key);
                        }
                        Some(Token::Sign("[")) => {
                            self.at += 2;
                            term = self.bracket(term)?;
                        }
                        _ => return Ok(term),
                    }
                }
                _ => return Ok(term),
            }
        }
    }

    /// Parses what follows `[` after a term.
    fn bracket(&mut self, term: Ast) -> Parsed<Ast> {
        if self.take_sign("]") {
            return Ok(Ast::Each(Box::new(term)));
        }
        let term = Box::new(term);
        if self.take_sign(":") {
            let to = self.pipe()?;
            self.expect("]")?;
            return Ok(Ast::Slice(term, None, Some(Box::new(to))));
        }
        let key = Box::new(self.pipe()?);
        if self.take_sign(":") {
            let to = if self.is_sign("]") {
                None
            } else {
                Some(Box::new(self.pipe()?))
            };
            self.expect("]")?;
            return Ok(Ast::Slice(term, Some(key), to));
        }
        self.expect("]")?;
        Ok(Ast::Index(term, key))
    }

    fn primary(&mut self) -> Parsed<Ast> {
        let place = self.place();
        let Some(token) = self.peek() else {
            return self.unexpected("a filter");
        };
        match token {
            Token::Number(value) => {
                self.at += 1;
                Ok(Ast::Const(value.clone()))
            }
            Token::Text(_) => self.text(None),
            Token::Format(name) => {
                self.at += 1;
                if matches!(self.peek(), Some(Token::Text(_))) {
                    return self.text(Some(name.clone()));
                }
                Ok(Ast::Format(name.clone()))
            }
            Token::Field(name) => {
                self.at += 1;
                Ok(index(Ast::Identity, Ast::Const(name.as_str().into())))
            }
            Token::Variable(name) => {
                self.at += 1;
                if name == "__loc__" {
                    return Ok(self.location(place));
                }
                Ok(Ast::Variable(name.clone(), place))
            }
            Token::Sign(sign) => self.bracketed(sign),
            Token::Word(word) => self.word(word, place),
        }
    }

    pub(super) fn location(&self, place: usize) -> Ast {
        let before = self.program.get(..place).unwrap_or_default();
        Ast::Location(before.matches('\n').count() + 1)
    }

    fn bracketed(&mut self, sign: &str) -> Parsed<Ast> {
        self.at += 1;
        match sign {
            "." => {
                if matches!(self.peek(), Some(Token::Text(_))) {
                    let key = self.text(None)?;
                    return Ok(index(Ast::Identity, key));
                }
                Ok(Ast::Identity)
            }
            ".." => Ok(Ast::Recurse),
            "(" => {
                let inner = self.pipe()?;
                self.expect(")")?;
                Ok(inner)
            }
            "[" => {
                if self.take_sign("]") {
                    return Ok(Ast::Array(None));
                }
                let inner = self.pipe()?;
                self.expect("]")?;
                Ok(Ast::Array(Some(Box::new(inner))))
            }
            "{" => self.object(),
            _ => {
                self.at -= 1;
                self.unexpected("a filter")
            }
        }
    }

    fn word(&mut self, word: &str, place: usize) -> Parsed<Ast> {
        self.at += 1;
        match word {
            "if" => self.conditional(),
            "reduce" => {
                let (source, patterns) = self.source()?;
                let init = self.pipe()?;
                self.expect(";")?;
                let update = self.pipe()?;
                self.expect(")")?;
                Ok(Ast::Reduce(
                    Box::new(source),
                    patterns,
                    Box::new(init),
                    Box::new(update),
                ))
            }
            "foreach" => {
                let (source, patterns) = self.source()?;
                let init = self.pipe()?;
                self.expect(";")?;
                let update = self.pipe()?;
                let extract = if self.take_sign(";") {
                    Some(Box::new(self.pipe()?))
                } else {
                    None
                };
                self.expect(")")?;
                Ok(Ast::Foreach(
                    Box::new(source),
                    patterns,
                    Box::new(init),
                    Box::new(update),
                    extract,
                ))
            }
            "break" => match self.next() {
                Some(Token::Variable(name)) => Ok(Ast::Break(name.clone(), place)),
                _ => {
                    self.at -= 1;
                    self.unexpected("the label to break to, as `$name`")
                }
            },
            "true" => Ok(Ast::Const(Val::Bool(true))),
            "false" => Ok(Ast::Const(Val::Bool(false))),
            "null" => Ok(Ast::Const(Val::Null)),
            _ if KEYWORDS.contains(&word) => {
                self.at -= 1;
                self.unexpected("a filter")
            }
            name => {
                let mut args = Vec::new();
                if self.take_sign("(") {
                    loop {
                        args.push(self.pipe()?);
                        if !self.take_sign(";") {
                            break;
                        }
                    }
                    self.expect(")")?;
                }
                Ok(Ast::Call(name.to_owned(), args, place))
            }
        }
    }

    /// `TERM as PATTERN (`, after `reduce` and `foreach`.
    fn source(&mut self) -> Parsed<(Ast, Vec<Pattern>)> {
        let source = self.term()?;
        self.expect_word("as")?;
        let patterns = self.patterns()?;
        self.expect("(")?;
        Ok((source, patterns))
    }

    /// Parses what follows `if` or `elif`.
    fn conditional(&mut self) -> Parsed<Ast> {
        let condition = Box::new(self.pipe()?);
        self.expect_word("then")?;
        let then = Box::new(self.pipe()?);
        let otherwise = if self.take_word("elif") {
            Some(Box::new(self.conditional()?))
        } else if self.take_word("else") {
            let otherwise = self.pipe()?;
            self.expect_word("end")?;
            Some(Box::new(otherwise))
        } else {
            self.expect_word("end")?;
            None
        };
        Ok(Ast::If(condition, then, otherwise))
    }

    pub(super) fn text(&mut self, format: Option<String>) -> Parsed<Ast> {
        let Some(Token::Text(parts)) = self.next() else {
            self.at -= 1;
            return self.unexpected("a text");
        };
        let mut result = Vec::with_capacity(parts.len());
        for part in parts {
            result.push(match part {
                Part::Text(text) => AstPart::Text(text.clone()),
                Part::Tokens(tokens) => {
                    let mut inner = Parser {
                        tokens,
                        at: 0,
                        end: self.place(),
                        program: self.program,
                        depth: self.depth,
                        halved: None,
                    };
                    if tokens.is_empty() {
                        return inner.unexpected("a filter");
                    }
                    let filter = inner.pipe()?;
                    inner.expect_end()?;
                    AstPart::Filter(filter)
                }
            });
        }
        Ok(match result.as_slice() {
            [] => Ast::Const("".into()),
            [AstPart::Text(text)] => Ast::Const(text.as_str().into()),
            _ => Ast::Text(format, result),
        })
    }
}

pub(super) fn index(term: Ast, key: Ast) -> Ast {
    Ast::Index(Box::new(term), Box::new(key))
}
