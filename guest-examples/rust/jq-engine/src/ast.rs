//! A program as it is written.

use crate::value::Val;

#[derive(Clone, Debug)]
pub(crate) enum Ast {
    Identity,
    Recurse,
    Const(Val),
    Text(Option<String>, Vec<AstPart>),
    Format(String),
    Variable(String, usize),
    Location(usize),
    Index(Box<Ast>, Box<Ast>),
    Slice(Box<Ast>, Option<Box<Ast>>, Option<Box<Ast>>),
    Each(Box<Ast>),
    Try(Box<Ast>, Option<Box<Ast>>),
    Pipe(Box<Ast>, Box<Ast>),
    Comma(Box<Ast>, Box<Ast>),
    Negate(Box<Ast>),
    Binary(Operator, Box<Ast>, Box<Ast>),
    And(Box<Ast>, Box<Ast>),
    Or(Box<Ast>, Box<Ast>),
    Alternative(Box<Ast>, Box<Ast>),
    Assign(Box<Ast>, Box<Ast>),
    /// `|=`
    Modify(Box<Ast>, Box<Ast>),
    /// `+=` and its like
    Update(Operator, Box<Ast>, Box<Ast>),
    /// `//=`
    UpdateAlternative(Box<Ast>, Box<Ast>),
    If(Box<Ast>, Box<Ast>, Option<Box<Ast>>),
    Reduce(Box<Ast>, Vec<Pattern>, Box<Ast>, Box<Ast>),
    Foreach(Box<Ast>, Vec<Pattern>, Box<Ast>, Box<Ast>, Option<Box<Ast>>),
    As(Box<Ast>, Vec<Pattern>, Box<Ast>),
    Label(String, Box<Ast>),
    Break(String, usize),
    Array(Option<Box<Ast>>),
    Object(Vec<(Ast, Ast)>),
    Define(Box<Definition>, Box<Ast>),
    Call(String, Vec<Ast>, usize),
}

#[derive(Clone, Debug)]
pub(crate) enum AstPart {
    Text(String),
    Filter(Ast),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

#[derive(Clone, Debug)]
pub(crate) enum Pattern {
    Variable(String),
    Array(Vec<Pattern>),
    /// Key, the variable that is also set, and the pattern of the value.
    Object(Vec<(Ast, Option<String>, Option<Pattern>)>),
}

impl Pattern {
    /// The variables in the order in which they are set.
    pub(crate) fn variables<'a>(&'a self, names: &mut Vec<&'a str>) {
        match self {
            Self::Variable(name) => names.push(name),
            Self::Array(items) => items.iter().for_each(|item| item.variables(names)),
            Self::Object(members) => {
                for (_, variable, pattern) in members {
                    names.extend(variable.as_deref());
                    pattern.iter().for_each(|pattern| pattern.variables(names));
                }
            }
        }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Definition {
    pub(crate) name: String,
    pub(crate) params: Vec<Param>,
    pub(crate) body: Ast,
}

#[derive(Clone, Debug)]
pub(crate) struct Param {
    pub(crate) name: String,
    /// `$name`: a value.
    pub(crate) is_value: bool,
}
