//! Runs a program.
//!
//! A filter hands each of its results to a receiver. Filters with exactly one result return it instead, and the last
//! step of a filter continues in the same loop: recursion in the last step takes no stack.

mod forms;
mod path;
mod update;

use std::cell::Cell;
use std::rc::Rc;

use crate::access;
use crate::env::{Bound, Env};
use crate::ir::{Function, Ir, Node, Parameter, Resolved, Shape};
use crate::json::excerpt;
use crate::natives::arithmetic;
use crate::object::Object;
use crate::value::Val;

pub(crate) use path::Tracked;

/// The deepest recursion: each level takes stack.
const MAX_DEPTH: usize = 700;

/// Why a filter ended early.
#[derive(Debug)]
pub enum Stop {
    /// An error that `try` can catch.
    Error(Val),
    /// `break` to the label of this number.
    Break(u64),
    /// `halt` and `halt_error`: the exit code, and what goes to stderr.
    Halt(i32, Option<Val>),
    /// Filters are nested too deep; nothing catches it.
    TooDeep,
    /// The receiver wants no more results.
    Enough,
}

impl From<Val> for Stop {
    fn from(error: Val) -> Self {
        Self::Error(error)
    }
}

pub(crate) type Flow = Result<(), Stop>;

pub(crate) type Receiver<'r> = &'r mut dyn FnMut(Current) -> Flow;

/// A value, and its path where paths are wanted.
#[derive(Clone)]
pub(crate) struct Current {
    pub(crate) value: Val,
    pub(crate) path: Option<Rc<Tracked>>,
}

impl From<Val> for Current {
    fn from(value: Val) -> Self {
        Self { value, path: None }
    }
}

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
    depth: Cell<usize>,
    labels: Cell<u64>,
}

pub(crate) fn error(message: impl Into<String>) -> Val {
    Val::from(message.into())
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

    fn enter(&self) -> Flow {
        let depth = self.depth.get() + 1;
        self.depth.set(depth);
        if depth > MAX_DEPTH {
            Err(Stop::TooDeep)
        } else {
            Ok(())
        }
    }

    fn new_label(&self) -> u64 {
        self.labels.set(self.labels.get() + 1);
        self.labels.get()
    }

    /// What a call of a parameter runs, if that has one result.
    fn single(&self, ir: &'p Ir, env: &Env<'p>) -> bool {
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

    /// A filter as an argument; that of a parameter is the argument behind it.
    fn filter(&self, arg: &'p Ir, env: &Env<'p>) -> Bound<'p> {
        if let Node::Closure(distance) = &arg.node {
            if let Some(bound @ Bound::Filter(..)) = env.get(*distance) {
                return bound.clone();
            }
        }
        Bound::Filter(arg, env.clone())
    }

    /// Binds parameters, each value of the first with each of the next.
    #[inline(never)]
    fn bind(
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

    /// Sets the variables of the first pattern that fits.
    #[inline(never)]
    fn destructure(
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

    #[inline(never)]
    fn reduce(
        &self,
        source: &'p Ir,
        shapes: &'p [Shape],
        update: &'p Ir,
        env: &Env<'p>,
        input: Val,
        mut state: Val,
    ) -> Result<Val, Stop> {
        self.eval(source, env, input.into(), &mut |item| {
            self.destructure(shapes, env, &item.value, &mut |env| {
                let before = std::mem::take(&mut state);
                if update.single {
                    state = self.value(update, env, before)?;
                    return Ok(());
                }
                // The last result counts; without one, the state is null.
                self.eval(update, env, before.into(), &mut |after| {
                    state = after.value;
                    Ok(())
                })
            })
        })?;
        Ok(state)
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

pub(crate) fn object_key(key: &Val) -> Result<Rc<str>, Val> {
    match key {
        Val::Str(text) => Ok(Rc::clone(text)),
        key => Err(error(format!(
            "Cannot use {} ({}) as object key",
            key.kind(),
            excerpt(key, 14)
        ))),
    }
}
