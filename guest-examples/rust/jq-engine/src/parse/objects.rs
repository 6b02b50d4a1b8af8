//! Objects, and the patterns of variables.

use super::filters::piped;
use super::parser::{Parsed, Parser};
use super::terms::index;
use crate::ast::{Ast, Pattern};
use crate::lex::Token;

impl Parser<'_> {
    pub(super) fn object(&mut self) -> Parsed<Ast> {
        let mut members = Vec::new();
        while !self.take_sign("}") {
            members.push(self.member()?);
            if !self.take_sign(",") {
                self.expect("}")?;
                break;
            }
        }
        Ok(Ast::Object(members))
    }

    fn member(&mut self) -> Parsed<(Ast, Ast)> {
        let place = self.place();
        let (key, value) = match self.peek() {
            Some(Token::Variable(name)) => {
                self.at += 1;
                let (key, value) = if name == "__loc__" {
                    (Ast::Const("__loc__".into()), self.location(place))
                } else {
                    (
                        Ast::Const(name.as_str().into()),
                        Ast::Variable(name.clone(), place),
                    )
                };
                if self.is_sign(":") {
                    (value, None)
                } else {
                    (key, Some(value))
                }
            }
            Some(Token::Word(name)) => {
                self.at += 1;
                let key = Ast::Const(name.as_str().into());
                (key.clone(), Some(index(Ast::Identity, key)))
            }
            Some(Token::Number(value)) => {
                self.at += 1;
                (Ast::Const(value.clone()), None)
            }
            Some(Token::Text(_)) => {
                let key = self.text(None)?;
                (key.clone(), Some(index(Ast::Identity, key)))
            }
            Some(Token::Format(name)) => {
                self.at += 1;
                let key = self.text(Some(name.clone()))?;
                (key.clone(), Some(index(Ast::Identity, key)))
            }
            Some(Token::Sign("(")) => {
                self.at += 1;
                let key = self.pipe()?;
                self.expect(")")?;
                (key, None)
            }
            _ => return self.unexpected("a key"),
        };
        if self.take_sign(":") {
            return Ok((key, self.member_value()?));
        }
        match value {
            Some(value) => Ok((key, value)),
            None => self.unexpected("`:`"),
        }
    }

    /// A value of an object: no comma outside of brackets.
    fn member_value(&mut self) -> Parsed<Ast> {
        let mut stages = vec![self.binary(0)?];
        while self.take_sign("|") {
            stages.push(self.binary(0)?);
        }
        Ok(piped(stages))
    }

    pub(super) fn patterns(&mut self) -> Parsed<Vec<Pattern>> {
        let mut patterns = vec![self.pattern()?];
        while self.take_sign("?//") {
            patterns.push(self.pattern()?);
        }
        Ok(patterns)
    }

    fn pattern(&mut self) -> Parsed<Pattern> {
        match self.next() {
            Some(Token::Variable(name)) => Ok(Pattern::Variable(name.clone())),
            Some(Token::Sign("[")) => {
                let mut items = vec![self.pattern()?];
                while self.take_sign(",") {
                    items.push(self.pattern()?);
                }
                self.expect("]")?;
                Ok(Pattern::Array(items))
            }
            Some(Token::Sign("{")) => {
                let mut members = vec![self.pattern_member()?];
                while self.take_sign(",") {
                    members.push(self.pattern_member()?);
                }
                self.expect("}")?;
                Ok(Pattern::Object(members))
            }
            _ => {
                self.at -= 1;
                self.unexpected("a variable, `[` or `{`")
            }
        }
    }

    fn pattern_member(&mut self) -> Parsed<(Ast, Option<String>, Option<Pattern>)> {
        let (key, variable) = match self.peek() {
            Some(Token::Variable(name)) => {
                self.at += 1;
                (Ast::Const(name.as_str().into()), Some(name.clone()))
            }
            Some(Token::Word(name)) => {
                self.at += 1;
                (Ast::Const(name.as_str().into()), None)
            }
            Some(Token::Text(_)) => (self.text(None)?, None),
            Some(Token::Sign("(")) => {
                self.at += 1;
                let key = self.pipe()?;
                self.expect(")")?;
                (key, None)
            }
            _ => return self.unexpected("a key or a variable"),
        };
        if variable.is_some() && !self.is_sign(":") {
            return Ok((key, variable, None));
        }
        self.expect(":")?;
        let pattern = self.pattern()?;
        Ok((key, variable, Some(pattern)))
    }
}
