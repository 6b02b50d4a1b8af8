//! Resolves the names of a program.

mod calls;
mod definitions;
mod mentions;
mod scope;

use std::collections::HashMap;

use self::scope::{Name, Scope};
use crate::ast::{Ast, AstPart};
use crate::ir::{Function, Ir, Node, Resolved, Shape, Special, boxed, many, single};
use crate::lex::Fault;
use crate::natives;
use crate::object::Object;
use crate::value::Val;

/// A program that can run.
pub(crate) struct Resolution {
    pub(crate) body: Ir,
    pub(crate) functions: Vec<Function>,
}

/// Resolves a program; `variables` are set outside of it.
pub(crate) fn resolve(ast: &Ast, variables: &[&str]) -> Result<Resolution, Fault> {
    let mut resolver = Resolver {
        functions: Vec::new(),
        scope: Scope::default(),
        prelude: HashMap::new(),
    };
    for name in variables {
        resolver.scope.bind(Name::Variable((*name).to_owned()));
    }
    let body = resolver.ir(ast)?;
    Ok(Resolution {
        body,
        functions: resolver.functions,
    })
}

struct Resolver {
    functions: Vec<Function>,
    scope: Scope,
    /// Definitions of the prelude that were resolved.
    prelude: HashMap<(&'static str, usize), usize>,
}

fn fault<T>(reason: String, at: usize) -> Result<T, Fault> {
    Err(Fault { reason, at })
}

impl Resolver {
    fn boxed(&mut self, ast: &Ast) -> Result<Box<Ir>, Fault> {
        self.ir(ast).map(Box::new)
    }

    fn optional(&mut self, ast: Option<&Ast>) -> Result<Box<Ir>, Fault> {
        ast.map_or_else(
            || Ok(boxed(single(Node::Const(Val::Null)))),
            |ast| self.boxed(ast),
        )
    }

    fn pair(&mut self, a: &Ast, b: &Ast) -> Result<(Box<Ir>, Box<Ir>, bool), Fault> {
        let (a, b) = (self.boxed(a)?, self.boxed(b)?);
        let single = a.single && b.single;
        Ok((a, b, single))
    }

    fn ir(&mut self, ast: &Ast) -> Result<Ir, Fault> {
        Ok(match ast {
            Ast::Identity => single(Node::Identity),
            Ast::Recurse => self.call("recurse", &[], 0)?,
            Ast::Const(value) => single(Node::Const(value.clone())),
            Ast::Location(line) => single(Node::Const(location(*line))),
            Ast::Text(format, parts) => self.text(format.as_deref().unwrap_or("text"), parts)?,
            Ast::Format(name) => self.format(name, single(Node::Identity)),
            Ast::Variable(name, at) => self.variable(name, *at)?,
            Ast::Index(term, key) => {
                let (term, key, single) = self.pair(term, key)?;
                Ir {
                    node: Node::Index(term, key),
                    single,
                }
            }
            Ast::Slice(term, from, to) => {
                let term = self.boxed(term)?;
                let (from, to) = (
                    self.optional(from.as_deref())?,
                    self.optional(to.as_deref())?,
                );
                let single = term.single && from.single && to.single;
                Ir {
                    node: Node::Slice(term, from, to),
                    single,
                }
            }
            Ast::Each(term) => many(Node::Each(self.boxed(term)?)),
            Ast::Try(body, handler) => {
                let body = self.boxed(body)?;
                let handler = handler
                    .as_deref()
                    .map(|handler| self.boxed(handler))
                    .transpose()?;
                many(Node::Try(body, handler))
            }
            Ast::Pipe(a, b) => {
                let (a, b, single) = self.pair(a, b)?;
                Ir {
                    node: Node::Pipe(a, b),
                    single,
                }
            }
            Ast::Comma(a, b) => {
                let (a, b, _) = self.pair(a, b)?;
                many(Node::Comma(a, b))
            }
            Ast::Negate(operand) => {
                let operand = self.boxed(operand)?;
                let single = operand.single;
                Ir {
                    node: Node::Negate(operand),
                    single,
                }
            }
            Ast::Binary(operator, a, b) => {
                let (a, b, single) = self.pair(a, b)?;
                Ir {
                    node: Node::Binary(*operator, a, b),
                    single,
                }
            }
            Ast::And(a, b) => {
                let (a, b, single) = self.pair(a, b)?;
                Ir {
                    node: Node::And(a, b),
                    single,
                }
            }
            Ast::Or(a, b) => {
                let (a, b, single) = self.pair(a, b)?;
                Ir {
                    node: Node::Or(a, b),
                    single,
                }
            }
            Ast::Alternative(a, b) => {
                let (a, b, _) = self.pair(a, b)?;
                many(Node::Alternative(a, b))
            }
            Ast::Assign(a, b) => {
                let (a, b, _) = self.pair(a, b)?;
                let single = b.single;
                Ir {
                    node: Node::Assign(a, b),
                    single,
                }
            }
            Ast::Modify(a, b) => {
                let (a, b, _) = self.pair(a, b)?;
                single(Node::Modify(a, b))
            }
            Ast::Update(operator, a, b) => {
                let update = Ast::Binary(*operator, Box::new(Ast::Identity), Box::new(operand()));
                self.update(a, b, &update)?
            }
            Ast::UpdateAlternative(a, b) => {
                let update = Ast::Alternative(Box::new(Ast::Identity), Box::new(operand()));
                self.update(a, b, &update)?
            }
            Ast::If(condition, then, otherwise) => {
                let (condition, then, two) = self.pair(condition, then)?;
                let otherwise = match otherwise {
                    Some(otherwise) => self.boxed(otherwise)?,
                    None => boxed(single(Node::Identity)),
                };
                let single = two && otherwise.single;
                Ir {
                    node: Node::If(condition, then, otherwise),
                    single,
                }
            }
            Ast::Reduce(source, patterns, init, update) => {
                let (source, init, _) = self.pair(source, init)?;
                let mark = self.scope.mark();
                let shapes = self.shapes(patterns)?;
                let update = self.boxed(update)?;
                self.scope.leave(mark);
                let single = init.single;
                Ir {
                    node: Node::Reduce(source, shapes, init, update),
                    single,
                }
            }
            Ast::Foreach(source, patterns, init, update, extract) => {
                let (source, init, _) = self.pair(source, init)?;
                let mark = self.scope.mark();
                let shapes = self.shapes(patterns)?;
                let update = self.boxed(update)?;
                let extract = extract
                    .as_deref()
                    .map(|extract| self.boxed(extract))
                    .transpose()?;
                self.scope.leave(mark);
                many(Node::Foreach(source, shapes, init, update, extract))
            }
            Ast::As(source, patterns, body) => {
                let source = self.boxed(source)?;
                let mark = self.scope.mark();
                let shapes = self.shapes(patterns)?;
                let body = self.boxed(body)?;
                self.scope.leave(mark);
                let plain = matches!(
                    shapes.as_slice(),
                    [Shape {
                        pattern: Resolved::Variable,
                        ..
                    }]
                );
                let single = plain && source.single && body.single;
                Ir {
                    node: Node::As(source, shapes, body),
                    single,
                }
            }
            Ast::Label(name, body) => {
                let mark = self.scope.mark();
                self.scope.bind(Name::Label(name.clone()));
                let body = self.boxed(body)?;
                self.scope.leave(mark);
                many(Node::Label(body))
            }
            Ast::Break(name, at) => {
                let label = self
                    .scope
                    .find(|known| matches!(known, Name::Label(label) if label == name));
                let Some((_, place)) = label else {
                    return fault(format!("there is no label `${name}`"), *at);
                };
                many(Node::Break(self.scope.distance(place)))
            }
            Ast::Array(items) => {
                let items = items
                    .as_deref()
                    .map(|items| self.boxed(items))
                    .transpose()?;
                single(Node::Array(items))
            }
            Ast::Object(members) => {
                let mut resolved = Vec::with_capacity(members.len());
                for (key, value) in members {
                    resolved.push((self.ir(key)?, self.ir(value)?));
                }
                let single = resolved
                    .iter()
                    .all(|(key, value)| key.single && value.single);
                Ir {
                    node: Node::Object(resolved),
                    single,
                }
            }
            Ast::Define(definition, rest) => {
                let mark = self.scope.mark();
                self.define(definition)?;
                let rest = self.ir(rest);
                self.scope.leave(mark);
                rest?
            }
            Ast::Call(name, args, at) => self.call(name, args, *at)?,
        })
    }

    /// `a OPERATOR= b`: a variable has the value of `b`.
    fn update(&mut self, a: &Ast, b: &Ast, update: &Ast) -> Result<Ir, Fault> {
        let (value, mark) = (self.boxed(b)?, self.scope.mark());
        self.scope.bind(Name::Variable(OPERAND.to_owned()));
        let (paths, update, _) = self.pair(a, update)?;
        self.scope.leave(mark);
        let single = value.single;
        Ok(Ir {
            node: Node::Update(paths, value, update),
            single,
        })
    }

    fn variable(&mut self, name: &str, at: usize) -> Result<Ir, Fault> {
        let variable = self
            .scope
            .find(|known| matches!(known, Name::Variable(known) if known == name));
        if let Some((_, place)) = variable {
            return Ok(single(Node::Variable(self.scope.distance(place))));
        }
        if name == "ENV" {
            return Ok(single(Node::Special(Special::Environment, Vec::new())));
        }
        fault(format!("${name} is not defined"), at)
    }

    fn text(&mut self, format: &str, parts: &[AstPart]) -> Result<Ir, Fault> {
        let mut resolved = Vec::with_capacity(parts.len());
        for part in parts {
            resolved.push(match part {
                AstPart::Text(text) => single(Node::Const(text.as_str().into())),
                AstPart::Filter(filter) => {
                    let filter = self.ir(filter)?;
                    self.format(format, filter)
                }
            });
        }
        let single = resolved.iter().all(|part| part.single);
        Ok(Ir {
            node: Node::Text(resolved),
            single,
        })
    }

    /// Pipes a filter into a format.
    fn format(&self, name: &str, filter: Ir) -> Ir {
        let Some(native) = natives::find("format", 1) else {
            return filter;
        };
        let single_filter = filter.single;
        let format = single(Node::Native(native, vec![single(Node::Const(name.into()))]));
        Ir {
            node: Node::Pipe(boxed(filter), boxed(format)),
            single: single_filter,
        }
    }
}

/// The variable of an update has a name that no program can write.
const OPERAND: &str = " operand";

fn operand() -> Ast {
    Ast::Variable(OPERAND.to_owned(), 0)
}

fn location(line: usize) -> Val {
    let mut object = Object::new();
    object.insert("file".into(), "<top-level>".into());
    object.insert("line".into(), line.into());
    object.into()
}
