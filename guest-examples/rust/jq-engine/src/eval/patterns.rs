//! Sets the variables of patterns.

use super::machine::Machine;
use crate::access;
use crate::env::{Bound, Env};
use crate::fault::{Flow, Stop, error};
use crate::ir::{Ir, Resolved, Shape};
use crate::value::Val;

impl<'p> Machine<'p> {
    /// Sets the variables of the first pattern that fits.
    #[inline(never)]
    pub(super) fn destructure(
        &self,
        shapes: &'p [Shape],
        env: &Env<'p>,
        value: &Val,
        then: &mut dyn FnMut(&Env<'p>) -> Flow,
    ) -> Flow {
        if let [
            Shape {
                pattern: Resolved::Variable,
                ..
            },
        ] = shapes
        {
            return then(&env.with(Bound::Value(value.clone())));
        }
        let Some((last, others)) = shapes.split_last() else {
            return Ok(());
        };
        for shape in others {
            match self.shape(shape, env, value, then) {
                Err(Stop::Error(_)) => {}
                result => return result,
            }
        }
        self.shape(last, env, value, then)
    }

    #[inline(never)]
    fn shape(
        &self,
        shape: &'p Shape,
        env: &Env<'p>,
        value: &Val,
        then: &mut dyn FnMut(&Env<'p>) -> Flow,
    ) -> Flow {
        let values = vec![Val::Null; shape.total];
        self.pattern(
            &[(&shape.pattern, value.clone())],
            shape,
            env,
            values,
            0,
            &mut |values, _| {
                let bound = values.iter().fold(env.clone(), |env, value| {
                    env.with(Bound::Value(value.clone()))
                });
                then(&bound)
            },
        )
    }

    /// Sets the variables of patterns, one after the other; keys may have several values.
    #[inline(never)]
    fn pattern(
        &self,
        patterns: &[(&'p Resolved, Val)],
        shape: &'p Shape,
        env: &Env<'p>,
        mut values: Vec<Val>,
        set: usize,
        then: &mut dyn FnMut(Vec<Val>, usize) -> Flow,
    ) -> Flow {
        let Some(((pattern, value), rest)) = patterns.split_first() else {
            return then(values, set);
        };
        match pattern {
            Resolved::Variable => {
                store(&mut values, shape, set, value);
                self.pattern(rest, shape, env, values, set + 1, then)
            }
            Resolved::Array(items) => {
                let mut all = Vec::with_capacity(items.len() + rest.len());
                for (at, item) in items.iter().enumerate() {
                    all.push((item, access::get(value, &at.into())?));
                }
                all.extend(rest.iter().cloned());
                self.pattern(&all, shape, env, values, set, then)
            }
            Resolved::Object(members) => {
                self.members(members, value, rest, shape, env, values, set, then)
            }
        }
    }

    #[expect(
        clippy::too_many_arguments,
        reason = "the state of a loop over patterns"
    )]
    fn members(
        &self,
        members: &'p [(Ir, bool, Option<Resolved>)],
        value: &Val,
        rest: &[(&'p Resolved, Val)],
        shape: &'p Shape,
        env: &Env<'p>,
        values: Vec<Val>,
        set: usize,
        then: &mut dyn FnMut(Vec<Val>, usize) -> Flow,
    ) -> Flow {
        let Some(((key, is_variable, pattern), others)) = members.split_first() else {
            return self.pattern(rest, shape, env, values, set, then);
        };
        let bound = values.iter().fold(env.clone(), |env, value| {
            env.with(Bound::Value(value.clone()))
        });
        self.eval(key, &bound, value.clone().into(), &mut |key| {
            if key.value.text().is_none() {
                let message = format!("Cannot index {} with {}", value.kind(), key.value.kind());
                return Err(error(message).into());
            }
            let member = access::get(value, &key.value)?;
            let (mut values, mut set) = (values.clone(), set);
            if *is_variable {
                store(&mut values, shape, set, &member);
                set += 1;
            }
            match pattern {
                Some(pattern) => self.pattern(
                    &[(pattern, member)],
                    shape,
                    env,
                    values,
                    set,
                    &mut |values, set| {
                        self.members(others, value, rest, shape, env, values, set, then)
                    },
                ),
                None => self.members(others, value, rest, shape, env, values, set, then),
            }
        })
    }
}

fn store(values: &mut [Val], shape: &Shape, set: usize, value: &Val) {
    let place = shape
        .places
        .get(set)
        .and_then(|place| values.get_mut(*place));
    if let Some(place) = place {
        *place = value.clone();
    }
}
