//! The command line of `find`: roots, operators, and primaries by name.

use super::commands::Command;
use super::expression::{Expression, Primary};
use super::patterns::Type;
use super::walk::{Follow, Options};
use crate::commands::call::{Call, Failure};
use crate::commands::dates::{Moment, Zone};

/// Primaries whose argument is a pattern, which the shell may have expanded.
const PATTERNS: [&str; 10] = [
    "-name",
    "-iname",
    "-path",
    "-ipath",
    "-wholename",
    "-iwholename",
    "-lname",
    "-ilname",
    "-regex",
    "-iregex",
];

/// The most parentheses and negations within each other.
const DEEPEST: usize = 200;

pub(super) struct Parser<'a, 'c> {
    pub(super) call: &'a Call<'c>,
    at: usize,
    depth: usize,
    pub(super) options: Options,
    pub(super) roots: Vec<String>,
    /// Files that actions write.
    pub(super) sinks: Vec<String>,
    pub(super) commands: Vec<Command>,
    pub(super) pattern_type: Type,
    pub(super) zone: Zone,
    pub(super) now: Moment,
    pub(super) from_start_of_day: bool,
    pub(super) has_action: bool,
    pub(super) has_delete: bool,
    pub(super) has_prune: bool,
    /// The name of the primary before.
    last: Option<&'c str>,
}

fn wrong(text: impl Into<String>) -> Failure {
    Failure::new(1, text)
}

/// Whether an argument ends the roots.
fn begins_expression(arg: &str, is_first: bool) -> bool {
    arg.starts_with('-') && arg.len() > 1
        || matches!(arg, "(" | "!")
        || !is_first && matches!(arg, ")" | ",")
}

impl<'a, 'c> Parser<'a, 'c> {
    pub(super) fn new(call: &'a Call<'c>) -> Self {
        Self {
            call,
            at: 0,
            depth: 0,
            options: Options::default(),
            roots: Vec::new(),
            sinks: Vec::new(),
            commands: Vec::new(),
            pattern_type: Type::Emacs,
            zone: call.zone(),
            now: Moment::now(),
            from_start_of_day: false,
            has_action: false,
            has_delete: false,
            has_prune: false,
            last: None,
        }
    }

    fn peek(&self) -> Option<&'c str> {
        self.call.args.get(self.at).map(String::as_str)
    }

    pub(super) fn next(&mut self) -> Option<&'c str> {
        let arg = self.peek()?;
        self.at += 1;
        Some(arg)
    }

    pub(super) fn argument(&mut self, name: &str) -> Result<&'c str, Failure> {
        self.next()
            .ok_or_else(|| wrong(format!("missing argument to `{name}'")))
    }

    /// Reads the command line. Without an action, what is true is printed.
    pub(super) fn read(&mut self) -> Result<Expression, Failure> {
        self.leading_options()?;
        let mut is_first = true;
        while let Some(arg) = self.peek().filter(|arg| !begins_expression(arg, is_first)) {
            self.roots.push(arg.to_owned());
            self.at += 1;
            is_first = false;
        }
        let expression = if self.peek().is_some() {
            let expression = self.list()?;
            match self.peek() {
                Some(")") => return Err(wrong("you have too many ')'")),
                Some(arg) => return Err(wrong(format!("unexpected argument `{arg}'"))),
                None => {}
            }
            Some(expression)
        } else {
            None
        };
        if self.has_delete {
            if self.has_prune && !self.options.depth_first {
                return Err(wrong(
                    "The -delete action automatically turns on -depth, but -prune does nothing when -depth is in effect.  If you want to carry on anyway, just explicitly use the -depth option.",
                ));
            }
            self.options.depth_first = true;
        }
        let print = || {
            Expression::Primary(Primary::Print {
                sink: None,
                end: '\n',
            })
        };
        Ok(match expression {
            Some(expression) if self.has_action => expression,
            Some(expression) => Expression::And(vec![expression, print()]),
            None => print(),
        })
    }

    fn leading_options(&mut self) -> Result<(), Failure> {
        while let Some(arg) = self.peek() {
            match arg {
                "-P" => self.options.follow = Follow::Never,
                "-H" => self.options.follow = Follow::Roots,
                "-L" => self.options.follow = Follow::Always,
                "-O0" | "-O1" | "-O2" | "-O3" => {}
                "-D" => {
                    return Err(Failure::usage(
                        "the option -D is not implemented here; these are: -P -H -L -O",
                    ));
                }
                "--" => {
                    self.at += 1;
                    break;
                }
                _ => break,
            }
            self.at += 1;
        }
        Ok(())
    }

    /// `A , B`
    fn list(&mut self) -> Result<Expression, Failure> {
        let mut parts = vec![self.or()?];
        while self.peek() == Some(",") {
            self.operator();
            parts.push(self.or()?);
        }
        Ok(only(parts, Expression::List))
    }

    fn or(&mut self) -> Result<Expression, Failure> {
        let mut parts = vec![self.and()?];
        while matches!(self.peek(), Some("-o" | "-or")) {
            self.operator();
            parts.push(self.and()?);
        }
        Ok(only(parts, Expression::Or))
    }

    fn and(&mut self) -> Result<Expression, Failure> {
        let mut parts = vec![self.unary()?];
        loop {
            match self.peek() {
                Some("-a" | "-and") => self.operator(),
                None | Some("-o" | "-or" | "," | ")") => break,
                Some(_) => {}
            }
            parts.push(self.unary()?);
        }
        Ok(only(parts, Expression::And))
    }

    fn operator(&mut self) {
        self.last = self.next();
    }

    fn unary(&mut self) -> Result<Expression, Failure> {
        let before = self.last;
        let Some(arg) = self.next() else {
            let before = before.unwrap_or_default();
            return Err(wrong(if before == "(" {
                "invalid expression; expected to find a ')' but didn't see one. Perhaps you need an extra predicate after '('".to_owned()
            } else {
                format!("expected an expression after '{before}'")
            }));
        };
        self.last = Some(arg);
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(wrong(format!(
                "the expression has more than {DEEPEST} parentheses and negations within each other"
            )));
        }
        let expression = match arg {
            "!" | "-not" => Expression::Not(Box::new(self.unary()?)),
            "(" => {
                if self.peek() == Some(")") {
                    return Err(wrong(
                        "invalid expression; empty parentheses are not allowed.",
                    ));
                }
                let inner = self.list()?;
                if self.next() != Some(")") {
                    return Err(wrong(
                        "invalid expression; I was expecting to find a ')' somewhere but did not see one.",
                    ));
                }
                inner
            }
            ")" if before == Some("(") || before.is_none() => {
                return Err(wrong("you have too many ')'"));
            }
            ")" => {
                let before = before.unwrap_or_default();
                return Err(wrong(format!(
                    "expected an expression between '{before}' and ')'"
                )));
            }
            "-a" | "-and" | "-o" | "-or" | "," => {
                return Err(wrong(format!(
                    "invalid expression; you have used a binary operator '{arg}' with nothing before it."
                )));
            }
            name if name.starts_with('-') && name.len() > 1 => {
                Expression::Primary(self.primary(name)?)
            }
            operand => {
                let mut text = format!("paths must precede expression: `{operand}'");
                if let Some(before) = before.filter(|before| PATTERNS.contains(before)) {
                    text.push_str(&format!(
                        "\nfind: possible unquoted pattern after predicate `{before}'?"
                    ));
                }
                return Err(wrong(text));
            }
        };
        self.depth -= 1;
        Ok(expression)
    }
}

fn only(mut parts: Vec<Expression>, all: fn(Vec<Expression>) -> Expression) -> Expression {
    if parts.len() > 1 {
        return all(parts);
    }
    let alone = parts.pop();
    alone.unwrap_or(Expression::Primary(Primary::Always(true)))
}
