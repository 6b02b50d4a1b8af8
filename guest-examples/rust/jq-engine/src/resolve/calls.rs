//! Calls of filters: of those that a program defines, of forms of the language, of natives and of the prelude.

use super::scope::Name;
use super::{Resolver, fault};
use crate::ast::Ast;
use crate::ir::{Ir, Node, Parameter, Special, boxed, many, single};
use crate::lex::Fault;
use crate::prelude::DEFINITIONS;
use crate::value::Val;
use crate::{natives, parse};

impl Resolver {
    fn args(&mut self, args: &[Ast]) -> Result<Vec<Ir>, Fault> {
        args.iter().map(|arg| self.ir(arg)).collect()
    }

    pub(super) fn call(&mut self, name: &str, args: &[Ast], at: usize) -> Result<Ir, Fault> {
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
