//! Binds parameters and arguments.

use super::machine::Machine;
use super::path::Current;
use crate::env::{Bound, Env};
use crate::fault::Flow;
use crate::ir::{Ir, Node, Parameter};
use crate::value::Val;

impl<'p> Machine<'p> {
    /// A filter as an argument; that of a parameter is the argument behind it.
    pub(super) fn filter(&self, arg: &'p Ir, env: &Env<'p>) -> Bound<'p> {
        if let Node::Closure(distance) = &arg.node {
            if let Some(bound @ Bound::Filter(..)) = env.get(*distance) {
                return bound.clone();
            }
        }
        Bound::Filter(arg, env.clone())
    }

    /// Binds parameters, each value of the first with each of the next.
    #[inline(never)]
    pub(super) fn bind(
        &self,
        params: &[(Parameter, &'p Ir)],
        env: &Env<'p>,
        inner: Env<'p>,
        current: &Current,
        then: &mut dyn FnMut(&Env<'p>) -> Flow,
    ) -> Flow {
        let Some(((param, arg), rest)) = params.split_first() else {
            return then(&inner);
        };
        match param {
            Parameter::Filter => {
                self.bind(rest, env, inner.with(self.filter(arg, env)), current, then)
            }
            Parameter::Value => self.eval(arg, env, current.value.clone().into(), &mut |value| {
                self.bind(
                    rest,
                    env,
                    inner.with(Bound::Value(value.value)),
                    current,
                    then,
                )
            }),
        }
    }

    /// Evaluates each argument, the last in the outer loop.
    pub(crate) fn arguments(
        &self,
        args: &'p [Ir],
        env: &Env<'p>,
        input: &Val,
        then: &mut dyn FnMut(&[Val]) -> Flow,
    ) -> Flow {
        let mut values = vec![Val::Null; args.len()];
        self.argument(args, env, input, &mut values, then)
    }

    #[inline(never)]
    fn argument(
        &self,
        args: &'p [Ir],
        env: &Env<'p>,
        input: &Val,
        values: &mut Vec<Val>,
        then: &mut dyn FnMut(&[Val]) -> Flow,
    ) -> Flow {
        let Some((last, rest)) = args.split_last() else {
            return then(values);
        };
        self.eval(last, env, input.clone().into(), &mut |value| {
            if let Some(place) = values.get_mut(rest.len()) {
                *place = value.value;
            }
            self.argument(rest, env, input, values, then)
        })
    }
}
