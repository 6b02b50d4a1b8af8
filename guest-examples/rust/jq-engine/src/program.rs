//! A program from its text to its results.

use crate::env::{Bound, Env};
use crate::eval::{Machine, Surroundings};
use crate::fault::Stop;
use crate::ir::{Function, Ir};
use crate::lex::Fault;
use crate::value::Val;
use crate::{parse, resolve};

/// A compiled program.
pub struct Program {
    body: Ir,
    functions: Vec<Function>,
    /// The values of its variables, in the order of their names.
    variables: Vec<Val>,
}

/// Why a text is no program.
#[derive(Debug)]
pub struct Rejected {
    pub reason: String,
    /// Line and column of the place, from 1.
    pub line: usize,
    pub column: usize,
    /// Some characters from there on.
    pub near: String,
}

impl Rejected {
    fn new(text: &str, fault: Fault) -> Self {
        let before = text.get(..fault.at).unwrap_or(text);
        let near = text.get(fault.at..).unwrap_or_default();
        Self {
            reason: fault.reason,
            line: before.matches('\n').count() + 1,
            column: before
                .rsplit('\n')
                .next()
                .unwrap_or_default()
                .chars()
                .count()
                + 1,
            near: near.chars().take(20).collect(),
        }
    }
}

impl Program {
    /// Compiles a text, with the variables that it may read.
    ///
    /// # Errors
    /// The text is not jq, or names what does not exist.
    pub fn new(text: &str, variables: Vec<(String, Val)>) -> Result<Self, Rejected> {
        let rejected = |fault| Rejected::new(text, fault);
        let names: Vec<&str> = variables.iter().map(|(name, _)| name.as_str()).collect();
        let ast = parse::program(text).map_err(rejected)?;
        let resolution = resolve::resolve(&ast, &names).map_err(rejected)?;
        let variables = variables.into_iter().map(|(_, value)| value).collect();
        Ok(Self {
            body: resolution.body,
            functions: resolution.functions,
            variables,
        })
    }

    /// Runs the program on one input, and hands each result to a receiver.
    ///
    /// # Errors
    /// The program ended with an error or `halt`, or the receiver with what it returned.
    pub fn run(
        &self,
        input: Val,
        surroundings: &dyn Surroundings,
        receive: &mut dyn FnMut(Val) -> Result<(), Stop>,
    ) -> Result<(), Stop> {
        let machine = Machine::new(&self.functions, surroundings);
        let variables = self.variables.iter().cloned();
        let env = variables.fold(Env::default(), |env, value| env.with(Bound::Value(value)));
        let result = machine.eval(&self.body, &env, input.into(), &mut |result| {
            receive(result.value)
        });
        match result {
            // A label of a program that has ended.
            Err(Stop::Break(_)) => Err(Stop::Error(Val::from("break"))),
            result => result,
        }
    }
}
