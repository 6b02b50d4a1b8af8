//! What names stand for while a program runs.

use std::rc::Rc;

use crate::ir::Ir;
use crate::value::Val;

/// The bindings at a place of the program, the innermost first.
#[derive(Clone, Default)]
pub(crate) struct Env<'p>(Option<Rc<Binding<'p>>>);

struct Binding<'p> {
    outer: Env<'p>,
    bound: Bound<'p>,
}

#[derive(Clone)]
pub(crate) enum Bound<'p> {
    Value(Val),
    Filter(&'p Ir, Env<'p>),
    Label(u64),
}

impl<'p> Env<'p> {
    pub(crate) fn with(&self, bound: Bound<'p>) -> Self {
        Self(Some(Rc::new(Binding {
            outer: self.clone(),
            bound,
        })))
    }

    /// The environment without its last `count` bindings.
    pub(crate) fn without(&self, count: usize) -> Self {
        if count == usize::MAX {
            return Self::default();
        }
        let mut env = self;
        for _ in 0..count {
            match &env.0 {
                Some(binding) => env = &binding.outer,
                None => break,
            }
        }
        env.clone()
    }

    pub(crate) fn get(&self, distance: usize) -> Option<&Bound<'p>> {
        let mut binding = self.0.as_deref()?;
        for _ in 0..distance {
            binding = binding.outer.0.as_deref()?;
        }
        Some(&binding.bound)
    }
}
