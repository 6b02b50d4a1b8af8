//! Filters: definitions, pipes and operators.

use super::parser::{KEYWORDS, Parsed, Parser};
use crate::ast::{Ast, Definition, Operator, Param};
use crate::lex::{Fault, Token};

impl<'t> Parser<'t> {
    pub(super) fn refuse_modules(&self) -> Parsed<()> {
        if ["import", "include", "module"]
            .iter()
            .any(|word| self.is_word(word))
        {
            let reason =
                "modules (`import`, `include`) are not supported; define the filters with `def`";
            return Err(Fault {
                reason: reason.to_owned(),
                at: self.place(),
            });
        }
        Ok(())
    }

    /// Parses a program or the inside of an interpolation.
    pub(super) fn body(&mut self) -> Parsed<Ast> {
        if self.peek().is_none() {
            return Ok(Ast::Identity);
        }
        if self.is_word("def") {
            self.at += 1;
            let definition = self.definition()?;
            let rest = self.body()?;
            return Ok(Ast::Define(Box::new(definition), Box::new(rest)));
        }
        self.pipe()
    }

    /// Parses a definition after `def`.
    pub(super) fn definition(&mut self) -> Parsed<Definition> {
        let name = match self.next() {
            Some(Token::Word(name)) if !KEYWORDS.contains(&name.as_str()) => name.clone(),
            _ => {
                self.at -= 1;
                return self.unexpected("the name of a filter");
            }
        };
        let mut params = Vec::new();
        if self.take_sign("(") {
            loop {
                params.push(match self.next() {
                    Some(Token::Word(name)) => Param {
                        name: name.clone(),
                        is_value: false,
                    },
                    Some(Token::Variable(name)) => Param {
                        name: name.clone(),
                        is_value: true,
                    },
                    _ => {
                        self.at -= 1;
                        return self.unexpected("the name of a parameter");
                    }
                });
                if !self.take_sign(";") {
                    break;
                }
            }
            self.expect(")")?;
        }
        self.expect(":")?;
        let body = self.pipe()?;
        self.expect(";")?;
        Ok(Definition { name, params, body })
    }

    pub(super) fn pipe(&mut self) -> Parsed<Ast> {
        self.nested(Self::pipe_at_depth)
    }

    fn pipe_at_depth(&mut self) -> Parsed<Ast> {
        let mut stages = Vec::new();
        loop {
            if self.take_word("def") {
                let definition = self.definition()?;
                let rest = self.pipe()?;
                stages.push(Ast::Define(Box::new(definition), Box::new(rest)));
                break;
            }
            stages.push(self.comma()?);
            if !self.take_sign("|") {
                break;
            }
        }
        Ok(piped(stages))
    }

    fn comma(&mut self) -> Parsed<Ast> {
        let mut left = self.binary(0)?;
        while self.take_sign(",") {
            let right = self.binary(0)?;
            left = Ast::Comma(Box::new(left), Box::new(right));
        }
        Ok(left)
    }

    /// The strength of the next operator, and whether it groups to the left, to the right or not at all.
    fn operator(&self) -> Option<(&'t str, u8, Grouping)> {
        let (text, is_word) = match self.peek()? {
            Token::Sign(sign) => (*sign, false),
            Token::Word(word) => (word.as_str(), true),
            _ => return None,
        };
        let text = if text == "?//" && self.halved == Some(self.at) {
            "//"
        } else {
            text
        };
        let (strength, grouping) = match (text, is_word) {
            ("//", false) => (0, Grouping::Right),
            ("=" | "|=" | "+=" | "-=" | "*=" | "/=" | "%=" | "//=", false) => (1, Grouping::None),
            ("or", true) => (2, Grouping::Left),
            ("and", true) => (3, Grouping::Left),
            ("==" | "!=" | "<" | "<=" | ">" | ">=", false) => (4, Grouping::None),
            ("+" | "-", false) => (5, Grouping::Left),
            ("*" | "/" | "%", false) => (6, Grouping::Left),
            _ => return None,
        };
        Some((text, strength, grouping))
    }

    pub(super) fn binary(&mut self, least: u8) -> Parsed<Ast> {
        let mut left = self.postfix()?;
        while let Some((operator, strength, grouping)) = self.operator() {
            if strength < least {
                break;
            }
            self.at += 1;
            let right = self.binary(if grouping == Grouping::Right {
                strength
            } else {
                strength + 1
            })?;
            left = combined(operator, left, right);
            if grouping == Grouping::None
                && self.operator().is_some_and(|(_, next, _)| next == strength)
            {
                return self
                    .unexpected("parentheses: this operator cannot follow another of its kind");
            }
        }
        Ok(left)
    }

    /// Parses a term with what follows it, and the forms that begin with a keyword.
    pub(super) fn postfix(&mut self) -> Parsed<Ast> {
        self.nested(Self::postfix_at_depth)
    }

    fn postfix_at_depth(&mut self) -> Parsed<Ast> {
        if self.take_sign("-") {
            let operand = self.binary(6)?;
            return Ok(Ast::Negate(Box::new(operand)));
        }
        if self.take_word("label") {
            let Some(Token::Variable(name)) = self.next() else {
                self.at -= 1;
                return self.unexpected("the label, as `$name`");
            };
            self.expect("|")?;
            return Ok(Ast::Label(name.clone(), Box::new(self.pipe()?)));
        }
        if self.take_word("def") {
            let definition = self.definition()?;
            let rest = self.pipe()?;
            return Ok(Ast::Define(Box::new(definition), Box::new(rest)));
        }
        if self.take_word("try") {
            let body = self.attempt()?;
            let handler = if self.take_word("catch") {
                Some(Box::new(self.attempt()?))
            } else {
                None
            };
            let attempt = Ast::Try(Box::new(body), handler);
            return Ok(self.optional(attempt));
        }
        let term = self.term()?;
        if !self.take_word("as") {
            return Ok(term);
        }
        let patterns = self.patterns()?;
        self.expect("|")?;
        let body = self.pipe()?;
        Ok(Ast::As(Box::new(term), patterns, Box::new(body)))
    }

    /// The operand of `try` and `catch`.
    fn attempt(&mut self) -> Parsed<Ast> {
        self.postfix()
    }

    fn optional(&mut self, mut ast: Ast) -> Ast {
        while self.take_sign("?") {
            ast = Ast::Try(Box::new(ast), None);
        }
        ast
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Grouping {
    Left,
    Right,
    None,
}

/// Groups to the right.
pub(super) fn piped(mut stages: Vec<Ast>) -> Ast {
    let mut last = stages.pop().unwrap_or(Ast::Identity);
    while let Some(stage) = stages.pop() {
        last = Ast::Pipe(Box::new(stage), Box::new(last));
    }
    last
}

fn combined(operator: &str, left: Ast, right: Ast) -> Ast {
    let (left, right) = (Box::new(left), Box::new(right));
    let binary = match operator {
        "//" => return Ast::Alternative(left, right),
        "=" => return Ast::Assign(left, right),
        "|=" => return Ast::Modify(left, right),
        "//=" => return Ast::UpdateAlternative(left, right),
        "or" => return Ast::Or(left, right),
        "and" => return Ast::And(left, right),
        "+=" => return Ast::Update(Operator::Add, left, right),
        "-=" => return Ast::Update(Operator::Subtract, left, right),
        "*=" => return Ast::Update(Operator::Multiply, left, right),
        "/=" => return Ast::Update(Operator::Divide, left, right),
        "%=" => return Ast::Update(Operator::Remainder, left, right),
        "==" => Operator::Equal,
        "!=" => Operator::NotEqual,
        "<" => Operator::Less,
        "<=" => Operator::LessOrEqual,
        ">" => Operator::Greater,
        ">=" => Operator::GreaterOrEqual,
        "+" => Operator::Add,
        "-" => Operator::Subtract,
        "*" => Operator::Multiply,
        "/" => Operator::Divide,
        _ => Operator::Remainder,
    };
    Ast::Binary(binary, left, right)
}
