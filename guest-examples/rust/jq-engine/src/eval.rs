//! Runs a program.
//!
//! A filter hands each of its results to a receiver. Filters with exactly one result return it instead, and the last
//! step of a filter continues in the same loop: recursion in the last step takes no stack.

mod binding;
mod forms;
mod loops;
mod machine;
mod path;
mod patterns;
mod special;
mod update;

use self::path::{Current, Receiver};
use crate::access;
use crate::env::{Bound, Env};
use crate::fault::{Flow, Stop, object_key};
use crate::ir::{Function, Ir, Node, Parameter, Resolved, Shape};
use crate::natives::arithmetic;
use crate::object::Object;
use crate::value::Val;

pub(crate) use self::machine::Machine;
pub use self::machine::Surroundings;

impl<'p> Machine<'p> {
    /// Evaluates a filter with one result.
    pub(crate) fn value(&self, ir: &'p Ir, env: &Env<'p>, input: Val) -> Result<Val, Stop> {
        let result = self
            .enter()
            .and_then(|()| self.value_at_depth(ir, env, input));
        self.depth.set(self.depth.get() - 1);
        result
    }

    fn value_at_depth(&self, ir: &'p Ir, env: &Env<'p>, input: Val) -> Result<Val, Stop> {
        match &ir.node {
            Node::Identity => Ok(input),
            Node::Const(value) => Ok(value.clone()),
            Node::Variable(distance) => match env.get(*distance) {
                Some(Bound::Value(value)) => Ok(value.clone()),
                _ => Ok(Val::Null),
            },
            Node::Closure(distance) => match env.get(*distance) {
                Some(Bound::Filter(ir, env)) => self.value(ir, env, input),
                _ => Ok(input),
            },
            Node::Index(term, key) => {
                let key = self.value(key, env, input.clone())?;
                let term = self.value(term, env, input)?;
                Ok(access::get(&term, &key)?)
            }
            Node::Slice(term, from, to) => {
                let from = self.value(from, env, input.clone())?;
                let to = self.value(to, env, input.clone())?;
                let term = self.value(term, env, input)?;
                Ok(access::get(&term, &access::slice_key(from, to))?)
            }
            Node::Pipe(a, b) => {
                let value = self.value(a, env, input)?;
                self.value(b, env, value)
            }
            Node::Negate(operand) => Ok(arithmetic::negate(&self.value(operand, env, input)?)?),
            Node::Binary(operator, a, b) => {
                let right = self.value(b, env, input.clone())?;
                let left = self.value(a, env, input)?;
                Ok(arithmetic::binary(*operator, left, right)?)
            }
            Node::And(a, b) => {
                let left = self.value(a, env, input.clone())?.is_true();
                Ok(Val::Bool(left && self.value(b, env, input)?.is_true()))
            }
            Node::Or(a, b) => {
                let left = self.value(a, env, input.clone())?.is_true();
                Ok(Val::Bool(left || self.value(b, env, input)?.is_true()))
            }
            Node::If(condition, then, otherwise) => {
                let condition = self.value(condition, env, input.clone())?;
                self.value(
                    if condition.is_true() { then } else { otherwise },
                    env,
                    input,
                )
            }
            _ => self.value_of_form(ir, env, input),
        }
    }

    /// The forms that take more stack.
    #[inline(never)]
    fn value_of_form(&self, ir: &'p Ir, env: &Env<'p>, input: Val) -> Result<Val, Stop> {
        match &ir.node {
            Node::Array(None) => Ok(Vec::new().into()),
            Node::Array(Some(items)) => {
                let mut array = Vec::new();
                self.eval(items, env, input.into(), &mut |item| {
                    array.push(item.value);
                    Ok(())
                })?;
                Ok(array.into())
            }
            Node::Object(members) => {
                let mut object = Object::new();
                for (key, value) in members {
                    let key = self.value(key, env, input.clone())?;
                    object.insert(object_key(&key)?, self.value(value, env, input.clone())?);
                }
                Ok(object.into())
            }
            Node::Text(parts) => {
                let mut text = String::new();
                for part in parts.iter().rev() {
                    // The last part is evaluated first, as of every sum.
                    let part = self.value(part, env, input.clone())?;
                    text.insert_str(0, part.text().unwrap_or_default());
                }
                Ok(text.into())
            }
            Node::Native(native, args) => match args.as_slice() {
                [] => Ok((native.run)(input, &[])?),
                [arg] => {
                    let arg = self.value(arg, env, input.clone())?;
                    Ok((native.run)(input, &[arg])?)
                }
                args => {
                    let mut values = vec![Val::Null; args.len()];
                    for (place, arg) in values.iter_mut().zip(args).rev() {
                        *place = self.value(arg, env, input.clone())?;
                    }
                    Ok((native.run)(input, &values)?)
                }
            },
            Node::Reduce(source, shapes, init, update) => {
                let state = self.value(init, env, input.clone())?;
                self.reduce(source, shapes, update, env, input, state)
            }
            Node::As(source, _, body) => {
                let source = self.value(source, env, input.clone())?;
                self.value(body, &env.with(Bound::Value(source)), input)
            }
            Node::Call(number, leave, args) => {
                let Some(Function {
                    body: Some(body), ..
                }) = self.functions.get(*number)
                else {
                    return Ok(input);
                };
                let mut inner = env.without(*leave);
                for arg in args {
                    inner = inner.with(Bound::Value(self.value(arg, env, input.clone())?));
                }
                self.value(body, &inner, input)
            }
            Node::Assign(paths, value) => {
                let value = self.value(value, env, input.clone())?;
                self.assign(paths, env, input, &value)
            }
            Node::Modify(paths, update) => self.modify(paths, update, env, input),
            Node::Update(paths, value, update) => {
                let value = self.value(value, env, input.clone())?;
                self.modify(paths, update, &env.with(Bound::Value(value)), input)
            }
            Node::Special(special, _) => self.single_special(*special, input),
            _ => {
                // These may have any number of results: the first counts.
                let mut first = Val::Null;
                self.eval(ir, env, input.into(), &mut |result| {
                    first = result.value;
                    Ok(())
                })?;
                Ok(first)
            }
        }
    }

    /// Evaluates a filter, and hands its results to a receiver.
    pub(crate) fn eval(
        &self,
        ir: &'p Ir,
        env: &Env<'p>,
        current: Current,
        receive: Receiver<'_>,
    ) -> Flow {
        let result = self
            .enter()
            .and_then(|()| self.eval_at_depth(ir, env, current, receive));
        self.depth.set(self.depth.get() - 1);
        result
    }

    fn eval_at_depth(
        &self,
        mut ir: &'p Ir,
        env: &Env<'p>,
        mut current: Current,
        receive: Receiver<'_>,
    ) -> Flow {
        let mut env = env.clone();
        loop {
            if current.path.is_none() && ir.single {
                let value = self.value(ir, &env, current.value)?;
                return receive(value.into());
            }
            match &ir.node {
                Node::Identity => return receive(current),
                Node::Closure(distance) => match env.get(*distance) {
                    Some(Bound::Filter(filter, outer)) => {
                        (ir, env) = (*filter, outer.clone());
                    }
                    _ => return receive(current),
                },
                Node::Pipe(a, b) => {
                    if current.path.is_none() && self.single(a, &env) {
                        current.value = self.value(a, &env, current.value)?;
                        ir = b;
                        continue;
                    }
                    return self.eval(a, &env, current, &mut |middle| {
                        self.eval(b, &env, middle, receive)
                    });
                }
                Node::Comma(a, b) => {
                    self.eval(a, &env, current.clone(), receive)?;
                    ir = b;
                }
                Node::If(condition, then, otherwise) => {
                    if self.single(condition, &env) {
                        let condition = self.value(condition, &env, current.value.clone())?;
                        ir = if condition.is_true() { then } else { otherwise };
                        continue;
                    }
                    return self.eval(
                        condition,
                        &env,
                        current.value.clone().into(),
                        &mut |condition| {
                            let branch = if condition.value.is_true() {
                                then
                            } else {
                                otherwise
                            };
                            self.eval(branch, &env, current.clone(), receive)
                        },
                    );
                }
                Node::As(source, shapes, body) => {
                    if let (
                        [
                            Shape {
                                pattern: Resolved::Variable,
                                ..
                            },
                        ],
                        true,
                    ) = (shapes.as_slice(), self.single(source, &env))
                    {
                        let value = self.value(source, &env, current.value.clone())?;
                        env = env.with(Bound::Value(value));
                        ir = body;
                        continue;
                    }
                    return self.eval(source, &env, current.value.clone().into(), &mut |value| {
                        self.destructure(shapes, &env, &value.value, &mut |inner| {
                            self.eval(body, inner, current.clone(), receive)
                        })
                    });
                }
                Node::Call(number, leave, args) => {
                    let Some(Function {
                        params,
                        body: Some(body),
                    }) = self.functions.get(*number)
                    else {
                        return receive(current);
                    };
                    let mut inner = env.without(*leave);
                    let is_plain = |(param, arg): (&Parameter, &'p Ir)| {
                        *param == Parameter::Filter || self.single(arg, &env)
                    };
                    if params.iter().zip(args).all(is_plain) {
                        for (param, arg) in params.iter().zip(args) {
                            inner = inner.with(match param {
                                Parameter::Filter => self.filter(arg, &env),
                                Parameter::Value => {
                                    Bound::Value(self.value(arg, &env, current.value.clone())?)
                                }
                            });
                        }
                        ir = body;
                        env = inner;
                        continue;
                    }
                    let params: Vec<_> = params.iter().copied().zip(args).collect();
                    return self.bind(&params, &env, inner, &current, &mut |inner| {
                        self.eval(body, inner, current.clone(), receive)
                    });
                }
                _ => {
                    // A form takes as much stack again.
                    let result = self
                        .enter()
                        .and_then(|()| self.eval_form(ir, &env, current, receive));
                    self.depth.set(self.depth.get() - 1);
                    return result;
                }
            }
        }
    }
}
