//! Resolves the names of a program.

use std::collections::HashMap;

use crate::ast::{Ast, AstPart, Definition, Param, Pattern};
use crate::ir::{Function, Ir, Node, Parameter, Resolved, Shape, Special};
use crate::lex::Fault;
use crate::natives;
use crate::object::Object;
use crate::parse;
use crate::prelude::DEFINITIONS;
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

#[derive(Clone, Debug)]
enum Name {
    Variable(String),
    Filter(String),
    Label(String),
    /// Takes no place among the bindings: name, number of parameters, number of the function.
    Function(String, usize, usize),
}

#[derive(Clone, Default)]
struct Scope {
    /// Each with the number of bindings before it.
    names: Vec<(Name, usize)>,
    bindings: usize,
}

impl Scope {
    fn bind(&mut self, name: Name) {
        let takes_place = !matches!(name, Name::Function(..));
        self.names.push((name, self.bindings));
        self.bindings += usize::from(takes_place);
    }

    fn find(&self, is_it: impl Fn(&Name) -> bool) -> Option<(&Name, usize)> {
        let (name, at) = self.names.iter().rev().find(|(name, _)| is_it(name))?;
        Some((name, *at))
    }

    /// How many bindings lie between here and the one at this place.
    fn distance(&self, at: usize) -> usize {
        self.bindings.saturating_sub(at + 1)
    }

    fn mark(&self) -> (usize, usize) {
        (self.names.len(), self.bindings)
    }

    fn leave(&mut self, (names, bindings): (usize, usize)) {
        self.names.truncate(names);
        self.bindings = bindings;
    }
}

struct Resolver {
    functions: Vec<Function>,
    scope: Scope,
    /// Definitions of the prelude that were resolved.
    prelude: HashMap<(&'static str, usize), usize>,
}

fn boxed(ir: Ir) -> Box<Ir> {
    Box::new(ir)
}

fn single(node: Node) -> Ir {
    Ir { node, single: true }
}

fn many(node: Node) -> Ir {
    Ir {
        node,
        single: false,
    }
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

    fn shapes(&mut self, patterns: &[Pattern]) -> Result<Vec<Shape>, Fault> {
        let mut all: Vec<&str> = Vec::new();
        for pattern in patterns {
            pattern.variables(&mut all);
        }
        let mut names: Vec<&str> = Vec::new();
        for name in all {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        // Keys of patterns may read the variables before them.
        let mark = self.scope.mark();
        for name in &names {
            self.scope.bind(Name::Variable((*name).to_owned()));
        }
        let bound = self.scope.clone();
        let mut shapes = Vec::with_capacity(patterns.len());
        for pattern in patterns {
            let mut own = Vec::new();
            pattern.variables(&mut own);
            let places = own
                .iter()
                .filter_map(|name| names.iter().position(|known| known == name))
                .collect();
            let pattern = self.pattern(pattern)?;
            shapes.push(Shape {
                pattern,
                places,
                total: names.len(),
            });
        }
        self.scope.leave(mark);
        self.scope = bound;
        Ok(shapes)
    }

    fn pattern(&mut self, pattern: &Pattern) -> Result<Resolved, Fault> {
        Ok(match pattern {
            Pattern::Variable(_) => Resolved::Variable,
            Pattern::Array(items) => Resolved::Array(
                items
                    .iter()
                    .map(|item| self.pattern(item))
                    .collect::<Result<_, _>>()?,
            ),
            Pattern::Object(members) => {
                let mut resolved = Vec::with_capacity(members.len());
                for (key, variable, pattern) in members {
                    let key = self.ir(key)?;
                    let pattern = pattern
                        .as_ref()
                        .map(|pattern| self.pattern(pattern))
                        .transpose()?;
                    resolved.push((key, variable.is_some(), pattern));
                }
                Resolved::Object(resolved)
            }
        })
    }

    /// Resolves a definition, and leaves its name in the scope.
    fn define(&mut self, definition: &Definition) -> Result<usize, Fault> {
        let number = self.functions.len();
        self.functions.push(Function {
            params: Vec::new(),
            body: None,
        });
        self.scope.bind(Name::Function(
            definition.name.clone(),
            definition.params.len(),
            number,
        ));
        let mark = self.scope.mark();
        // A value that is also called as a filter is a filter, and a variable within.
        let is_plain = |param: &Param| param.is_value && !calls(&definition.body, &param.name);
        let mut params = Vec::with_capacity(definition.params.len());
        for param in &definition.params {
            let (kind, name) = if is_plain(param) {
                (Parameter::Value, Name::Variable(param.name.clone()))
            } else {
                (Parameter::Filter, Name::Filter(param.name.clone()))
            };
            params.push(kind);
            self.scope.bind(name);
        }
        let mut body = definition.body.clone();
        for param in definition
            .params
            .iter()
            .rev()
            .filter(|param| param.is_value && !is_plain(param))
        {
            let source = Box::new(Ast::Call(param.name.clone(), Vec::new(), 0));
            body = Ast::As(
                source,
                vec![Pattern::Variable(param.name.clone())],
                Box::new(body),
            );
        }
        if let Some(function) = self.functions.get_mut(number) {
            function.params = params;
        }
        let body = self.ir(&body);
        self.scope.leave(mark);
        let body = body?;
        if let Some(function) = self.functions.get_mut(number) {
            function.body = Some(body);
        }
        Ok(number)
    }

    fn args(&mut self, args: &[Ast]) -> Result<Vec<Ir>, Fault> {
        args.iter().map(|arg| self.ir(arg)).collect()
    }

    fn call(&mut self, name: &str, args: &[Ast], at: usize) -> Result<Ir, Fault> {
        let is_it = |known: &Name| match known {
            Name::Filter(known) => args.is_empty() && known == name,
            Name::Function(known, arity, _) => known == name && *arity == args.len(),
            Name::Variable(_) | Name::Label(_) => false,
        };
        if let Some((found, place)) = self.scope.find(is_it) {
            let (found, leave) = (found.clone(), self.scope.bindings - place);
            return match found {
                Name::Function(_, _, number) => Ok(self.function(number, leave, args)?),
                _ => Ok(many(Node::Closure(leave - 1))),
            };
        }
        if let Some(ir) = self.form(name, args)? {
            return Ok(ir);
        }
        if let Some(native) = natives::find(name, args.len()) {
            let args = self.args(args)?;
            let single = args.iter().all(|arg| arg.single);
            return Ok(Ir {
                node: Node::Native(native, args),
                single,
            });
        }
        let Some(number) = self.prelude(name, args.len())? else {
            return fault(format!("{name}/{} is not defined", args.len()), at);
        };
        self.function(number, usize::MAX, args)
    }

    fn function(&mut self, number: usize, leave: usize, args: &[Ast]) -> Result<Ir, Fault> {
        let args = self.args(args)?;
        let function = self.functions.get(number);
        let single = function.is_some_and(|function| {
            let values = function
                .params
                .iter()
                .all(|param| *param == Parameter::Value);
            values
                && function.body.as_ref().is_some_and(|body| body.single)
                && args.iter().all(|arg| arg.single)
        });
        Ok(Ir {
            node: Node::Call(number, leave, args),
            single,
        })
    }

    /// Resolves a definition of the prelude, which sees no binding of the program.
    fn prelude(&mut self, name: &str, arity: usize) -> Result<Option<usize>, Fault> {
        let entry = DEFINITIONS
            .iter()
            .find(|(known, params, _)| *known == name && *params == arity);
        let Some((name, _, text)) = entry else {
            return Ok(None);
        };
        if let Some(number) = self.prelude.get(&(*name, arity)) {
            return Ok(Some(*number));
        }
        let definition = parse::definition(text)?;
        let outer = std::mem::take(&mut self.scope);
        // Known before it is resolved, as it may call itself.
        self.prelude.insert((*name, arity), self.functions.len());
        let number = self.define(&definition);
        self.scope = outer;
        number.map(Some)
    }

    /// Filters that are forms of the language, or more than a function of values.
    fn form(&mut self, name: &str, args: &[Ast]) -> Result<Option<Ir>, Fault> {
        let identity = || single(Node::Identity);
        let each = || many(Node::Each(boxed(single(Node::Identity))));
        let pipe = |a: Ir, b: Ir| {
            let single = a.single && b.single;
            Ir {
                node: Node::Pipe(boxed(a), boxed(b)),
                single,
            }
        };
        let array = |items: Ir| single(Node::Array(Some(boxed(items))));
        let special = |this: &mut Self, special: Special| {
            let single = matches!(
                special,
                Special::Debug
                    | Special::Stderr
                    | Special::Environment
                    | Special::InputFilename
                    | Special::InputLine
                    | Special::Now
                    | Special::Input
                    | Special::Halt
            );
            Ok::<_, Fault>(Some(Ir {
                node: Node::Special(special, this.args(args)?),
                single,
            }))
        };
        let by = |this: &mut Self, native: &str, key: &Ast| {
            let keys = array(pipe(each(), array(this.ir(key)?)));
            Ok::<_, Fault>(
                natives::find(native, 1).map(|native| single(Node::Native(native, vec![keys]))),
            )
        };
        match (name, args) {
            ("empty", []) => special(self, Special::Empty),
            ("select", [_]) => special(self, Special::Select),
            ("path", [_]) => special(self, Special::Path),
            ("getpath", [_]) => special(self, Special::GetPath),
            ("range", [_, _]) => special(self, Special::Range),
            ("first", [_]) => special(self, Special::First),
            ("limit", [_, _]) => special(self, Special::Limit),
            ("skip", [_, _]) => special(self, Special::Skip),
            ("input", []) => special(self, Special::Input),
            ("inputs", []) => special(self, Special::Inputs),
            ("debug", []) => special(self, Special::Debug),
            ("stderr", []) => special(self, Special::Stderr),
            ("env", []) => special(self, Special::Environment),
            ("input_filename", []) => special(self, Special::InputFilename),
            ("input_line_number", []) => special(self, Special::InputLine),
            ("now", []) => special(self, Special::Now),
            ("halt", []) => special(self, Special::Halt),
            ("halt_error", [_]) => special(self, Special::HaltError),
            ("sub", [_, _, _]) => special(self, Special::Substitute),
            ("recurse", [_]) => special(self, Special::Recurse),
            ("recurse", []) => special(self, Special::Recurse),
            ("map", [f]) => Ok(Some(array(pipe(each(), self.ir(f)?)))),
            ("map_values", [f]) => Ok(Some(single(Node::Modify(boxed(each()), self.boxed(f)?)))),
            ("del", [f]) => {
                let paths = array(many(Node::Special(Special::Path, vec![self.ir(f)?])));
                Ok(natives::find("delpaths", 1)
                    .map(|native| single(Node::Native(native, vec![paths]))))
            }
            ("with_entries", [f]) => {
                let (to, from) = (
                    natives::find("to_entries", 0),
                    natives::find("from_entries", 0),
                );
                let (Some(to), Some(from)) = (to, from) else {
                    return Ok(None);
                };
                let changed = array(pipe(each(), self.ir(f)?));
                let from = single(Node::Native(from, Vec::new()));
                Ok(Some(pipe(
                    single(Node::Native(to, Vec::new())),
                    pipe(changed, from),
                )))
            }
            ("sort_by" | "group_by" | "unique_by" | "min_by" | "max_by", [key]) => {
                by(self, &format!("_{name}"), key)
            }
            ("unique", []) => by(self, "_unique_by", &Ast::Identity),
            ("first", []) => Ok(Some(single(Node::Index(
                boxed(identity()),
                boxed(single(Node::Const(0_usize.into()))),
            )))),
            ("last", []) => Ok(Some(single(Node::Index(
                boxed(identity()),
                boxed(single(Node::Const((-1.0).into()))),
            )))),
            ("builtins", []) => Ok(Some(single(Node::Const(builtins())))),
            _ => Ok(None),
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

/// The names and arities of the forms.
const FORMS: &[&str] = &[
    "empty/0",
    "select/1",
    "path/1",
    "getpath/1",
    "range/2",
    "first/1",
    "limit/2",
    "skip/2",
    "input/0",
    "inputs/0",
    "debug/0",
    "stderr/0",
    "env/0",
    "input_filename/0",
    "input_line_number/0",
    "now/0",
    "halt/0",
    "halt_error/1",
    "sub/3",
    "recurse/1",
    "recurse/0",
    "map/1",
    "map_values/1",
    "del/1",
    "with_entries/1",
    "sort_by/1",
    "group_by/1",
    "unique/0",
    "unique_by/1",
    "min_by/1",
    "max_by/1",
    "first/0",
    "last/0",
    "builtins/0",
];

fn builtins() -> Val {
    let forms = FORMS.iter().map(|form| Val::from(*form));
    let natives = natives::all().map(|native| (native.name, native.arity));
    let prelude = DEFINITIONS.iter().map(|(name, arity, _)| (*name, *arity));
    let others = natives
        .chain(prelude)
        .filter(|(name, _)| !name.starts_with('_'));
    forms
        .chain(others.map(|(name, arity)| format!("{name}/{arity}").into()))
        .collect::<Vec<_>>()
        .into()
}

/// Whether a filter calls another without arguments.
fn calls(ast: &Ast, name: &str) -> bool {
    let any = |parts: &[&Ast]| parts.iter().any(|part| calls(part, name));
    let in_patterns = |patterns: &[Pattern]| {
        patterns
            .iter()
            .any(|pattern| calls_in_pattern(pattern, name))
    };
    match ast {
        Ast::Call(known, args, _) => {
            (args.is_empty() && known == name) || args.iter().any(|arg| calls(arg, name))
        }
        Ast::Identity
        | Ast::Recurse
        | Ast::Const(_)
        | Ast::Format(_)
        | Ast::Variable(..)
        | Ast::Location(_)
        | Ast::Break(..)
        | Ast::Array(None) => false,
        Ast::Text(_, parts) => parts
            .iter()
            .any(|part| matches!(part, AstPart::Filter(part) if calls(part, name))),
        Ast::Index(a, b)
        | Ast::Pipe(a, b)
        | Ast::Comma(a, b)
        | Ast::Binary(_, a, b)
        | Ast::And(a, b)
        | Ast::Or(a, b)
        | Ast::Alternative(a, b)
        | Ast::Assign(a, b)
        | Ast::Modify(a, b)
        | Ast::Update(_, a, b)
        | Ast::UpdateAlternative(a, b) => any(&[a, b]),
        Ast::Slice(a, b, c) => {
            any(&[a]) || [b, c].into_iter().flatten().any(|part| calls(part, name))
        }
        Ast::If(a, b, c) => any(&[a, b]) || c.as_deref().is_some_and(|c| calls(c, name)),
        Ast::Each(a) | Ast::Negate(a) | Ast::Label(_, a) | Ast::Array(Some(a)) => any(&[a]),
        Ast::Try(a, b) => any(&[a]) || b.as_deref().is_some_and(|b| calls(b, name)),
        Ast::Reduce(a, patterns, b, c) => any(&[a, b, c]) || in_patterns(patterns),
        Ast::Foreach(a, patterns, b, c, d) => {
            any(&[a, b, c]) || in_patterns(patterns) || d.as_deref().is_some_and(|d| calls(d, name))
        }
        Ast::As(a, patterns, b) => any(&[a, b]) || in_patterns(patterns),
        Ast::Object(members) => members.iter().any(|(key, value)| any(&[key, value])),
        Ast::Define(definition, rest) => any(&[&definition.body, rest]),
    }
}

fn calls_in_pattern(pattern: &Pattern, name: &str) -> bool {
    match pattern {
        Pattern::Variable(_) => false,
        Pattern::Array(items) => items.iter().any(|item| calls_in_pattern(item, name)),
        Pattern::Object(members) => members.iter().any(|(key, _, pattern)| {
            calls(key, name)
                || pattern
                    .as_ref()
                    .is_some_and(|pattern| calls_in_pattern(pattern, name))
        }),
    }
}
