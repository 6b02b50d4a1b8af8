//! What filters run in.

use std::cell::Cell;

use crate::env::{Bound, Env};
use crate::fault::{Flow, Stop};
use crate::ir::{Function, Ir, Node};
use crate::value::Val;

/// The deepest recursion: each level takes stack.
const MAX_DEPTH: usize = 700;

/// What a program can ask for while it runs.
pub trait Surroundings {
    /// The next value of the inputs.
    fn input(&self) -> Option<Result<Val, String>>;
    fn input_filename(&self) -> Option<String>;
    /// Lines that were read of the current input.
    fn input_line(&self) -> usize;
    fn stderr(&self, text: &str);
    fn environment(&self) -> Val;
    /// Seconds since 1970.
    fn now(&self) -> f64;
}

pub(crate) struct Machine<'p> {
    pub(crate) functions: &'p [Function],
    pub(crate) surroundings: &'p dyn Surroundings,
    pub(super) depth: Cell<usize>,
    labels: Cell<u64>,
}

impl<'p> Machine<'p> {
    pub(crate) fn new(functions: &'p [Function], surroundings: &'p dyn Surroundings) -> Self {
        Self {
            functions,
            surroundings,
            depth: Cell::new(0),
            labels: Cell::new(0),
        }
    }

    pub(super) fn enter(&self) -> Flow {
        let depth = self.depth.get() + 1;
        self.depth.set(depth);
        if depth > MAX_DEPTH {
            Err(Stop::TooDeep)
        } else {
            Ok(())
        }
    }

    pub(super) fn new_label(&self) -> u64 {
        self.labels.set(self.labels.get() + 1);
        self.labels.get()
    }

    /// What a call of a parameter runs, if that has one result.
    pub(super) fn single(&self, ir: &'p Ir, env: &Env<'p>) -> bool {
        if ir.single {
            return true;
        }
        match &ir.node {
            Node::Closure(distance) => match env.get(*distance) {
                Some(Bound::Filter(ir, env)) => self.single(ir, env),
                _ => false,
            },
            _ => false,
        }
    }
}
