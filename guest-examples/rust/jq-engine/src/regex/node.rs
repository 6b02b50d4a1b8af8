//! The parts of a regular expression.

use super::class::Class;

#[derive(Clone, Debug)]
pub(super) enum Node {
    Empty,
    Char(char, bool),
    /// Any character; whether also the end of a line.
    Any(bool),
    Class(Class),
    Sequence(Vec<Node>),
    Alternatives(Vec<Node>),
    Group(usize, Box<Node>),
    Repeat {
        node: Box<Node>,
        least: usize,
        most: Option<usize>,
        kind: Kind,
    },
    Assert(Assertion),
    Look {
        node: Box<Node>,
        behind: bool,
        negated: bool,
    },
    Atomic(Box<Node>),
    /// The groups of a name, or one; whether case counts not.
    Back(Vec<usize>, bool),
    /// The match begins here.
    Keep,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Greedy,
    Lazy,
    Possessive,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Assertion {
    TextStart,
    TextEnd,
    /// The end, or before the last end of line.
    LastLineEnd,
    LineStart,
    LineEnd,
    WordEdge,
    NoWordEdge,
    SearchStart,
}
