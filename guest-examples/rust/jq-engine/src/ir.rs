//! A program whose names are resolved.

use crate::ast::Operator;
use crate::natives::Native;
use crate::value::Val;

/// A filter.
#[derive(Debug)]
pub(crate) struct Ir {
    pub(crate) node: Node,
    /// It has exactly one result, or an error.
    pub(crate) single: bool,
}

pub(crate) fn boxed(ir: Ir) -> Box<Ir> {
    Box::new(ir)
}

pub(crate) fn single(node: Node) -> Ir {
    Ir { node, single: true }
}

pub(crate) fn many(node: Node) -> Ir {
    Ir {
        node,
        single: false,
    }
}

/// `usize` of variables, closures and labels: how many bindings lie between here and theirs.
#[derive(Debug)]
pub(crate) enum Node {
    Identity,
    Const(Val),
    Variable(usize),
    /// A parameter of a definition.
    Closure(usize),
    Index(Box<Ir>, Box<Ir>),
    Slice(Box<Ir>, Box<Ir>, Box<Ir>),
    Each(Box<Ir>),
    Try(Box<Ir>, Option<Box<Ir>>),
    Pipe(Box<Ir>, Box<Ir>),
    Comma(Box<Ir>, Box<Ir>),
    Negate(Box<Ir>),
    Binary(Operator, Box<Ir>, Box<Ir>),
    And(Box<Ir>, Box<Ir>),
    Or(Box<Ir>, Box<Ir>),
    Alternative(Box<Ir>, Box<Ir>),
    Assign(Box<Ir>, Box<Ir>),
    Modify(Box<Ir>, Box<Ir>),
    /// The last is evaluated for each path, with the value of the second as its variable.
    Update(Box<Ir>, Box<Ir>, Box<Ir>),
    If(Box<Ir>, Box<Ir>, Box<Ir>),
    Reduce(Box<Ir>, Vec<Shape>, Box<Ir>, Box<Ir>),
    Foreach(Box<Ir>, Vec<Shape>, Box<Ir>, Box<Ir>, Option<Box<Ir>>),
    As(Box<Ir>, Vec<Shape>, Box<Ir>),
    Label(Box<Ir>),
    Break(usize),
    Array(Option<Box<Ir>>),
    Object(Vec<(Ir, Ir)>),
    /// Parts are texts, or filters whose results are formatted.
    Text(Vec<Ir>),
    /// The number of the definition, the bindings to leave, and the arguments.
    Call(usize, usize, Vec<Ir>),
    Native(&'static Native, Vec<Ir>),
    Special(Special, Vec<Ir>),
}

/// Filters that are more than a function of values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Special {
    Empty,
    Select,
    Path,
    GetPath,
    Recurse,
    Range,
    First,
    Limit,
    Skip,
    Input,
    Inputs,
    Debug,
    Stderr,
    Environment,
    InputFilename,
    InputLine,
    Now,
    Halt,
    HaltError,
    Substitute,
}

/// How variables are set: in the order of [`crate::ast::Pattern::variables`].
#[derive(Debug)]
pub(crate) struct Shape {
    pub(crate) pattern: Resolved,
    /// The place of each of its variables among those of all alternatives.
    pub(crate) places: Vec<usize>,
    /// The number of variables of all alternatives.
    pub(crate) total: usize,
}

#[derive(Debug)]
pub(crate) enum Resolved {
    Variable,
    Array(Vec<Resolved>),
    /// Key, whether the value is also a variable, and the pattern of the value.
    Object(Vec<(Ir, bool, Option<Resolved>)>),
}

#[derive(Debug)]
pub(crate) struct Function {
    pub(crate) params: Vec<Parameter>,
    /// `None` while it is resolved.
    pub(crate) body: Option<Ir>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Parameter {
    Filter,
    /// Evaluated once; the body reads it as a variable.
    Value,
}
