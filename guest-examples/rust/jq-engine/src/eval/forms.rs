//! Filters with any number of results.

use super::machine::Machine;
use super::path::{Current, Receiver, each};
use crate::access;
use crate::env::{Bound, Env};
use crate::fault::{Flow, Stop, object_key};
use crate::ir::{Ir, Node};
use crate::natives::arithmetic;
use crate::object::Object;
use crate::value::Val;

impl<'p> Machine<'p> {
    #[inline(never)]
    pub(super) fn eval_form(
        &self,
        ir: &'p Ir,
        env: &Env<'p>,
        current: Current,
        receive: Receiver<'_>,
    ) -> Flow {
        match &ir.node {
            Node::Index(term, key) => {
                self.eval(key, env, current.value.clone().into(), &mut |key| {
                    self.eval(term, env, current.clone(), &mut |term| {
                        term.expect_element(&key.value)?;
                        let value = access::get(&term.value, &key.value)?;
                        receive(term.child(|| key.value.clone(), value))
                    })
                })
            }
            Node::Slice(term, from, to) => {
                self.eval(from, env, current.value.clone().into(), &mut |from| {
                    self.eval(to, env, current.value.clone().into(), &mut |to| {
                        let key = access::slice_key(from.value.clone(), to.value);
                        self.eval(term, env, current.clone(), &mut |term| {
                            term.expect_element(&key)?;
                            let value = access::get(&term.value, &key)?;
                            receive(term.child(|| key.clone(), value))
                        })
                    })
                })
            }
            Node::Each(term) => self.eval(term, env, current, &mut |term| each(&term, receive)),
            Node::Try(body, handler) => {
                self.attempt(body, handler.as_deref(), env, current, receive)
            }
            Node::Alternative(a, b) => {
                let mut has_result = false;
                self.eval(a, env, current.clone(), &mut |result| {
                    if !result.value.is_true() {
                        return Ok(());
                    }
                    has_result = true;
                    receive(result)
                })?;
                if has_result {
                    Ok(())
                } else {
                    self.eval(b, env, current, receive)
                }
            }
            Node::Label(body) => {
                let label = self.new_label();
                match self.eval(body, &env.with(Bound::Label(label)), current, receive) {
                    Err(Stop::Break(ended)) if ended == label => Ok(()),
                    result => result,
                }
            }
            Node::Break(distance) => match env.get(*distance) {
                Some(Bound::Label(label)) => Err(Stop::Break(*label)),
                _ => Ok(()),
            },
            Node::Reduce(source, shapes, init, update) => {
                self.eval(init, env, current.value.clone().into(), &mut |state| {
                    let value = self.reduce(
                        source,
                        shapes,
                        update,
                        env,
                        current.value.clone(),
                        state.value,
                    )?;
                    receive(current.computed(value))
                })
            }
            Node::Foreach(source, shapes, init, update, extract) => {
                self.eval(init, env, current.value.clone().into(), &mut |state| {
                    self.foreach(
                        source,
                        shapes,
                        update,
                        extract.as_deref(),
                        env,
                        &current,
                        state.value,
                        receive,
                    )
                })
            }
            Node::Special(special, args) => self.special(*special, args, env, current, receive),
            _ => self.eval_values(ir, env, current, receive),
        }
    }

    /// Filters of values alone: the result lies nowhere within the input.
    #[inline(never)]
    fn eval_values(
        &self,
        ir: &'p Ir,
        env: &Env<'p>,
        current: Current,
        receive: Receiver<'_>,
    ) -> Flow {
        let input = &current.value;
        if ir.single {
            let value = self.value(ir, env, input.clone())?;
            return receive(current.computed(value));
        }
        match &ir.node {
            Node::Negate(operand) => {
                self.eval(operand, env, input.clone().into(), &mut |operand| {
                    receive(current.computed(arithmetic::negate(&operand.value)?))
                })
            }
            Node::Binary(operator, a, b) => self.eval(b, env, input.clone().into(), &mut |right| {
                self.eval(a, env, input.clone().into(), &mut |left| {
                    let value = arithmetic::binary(*operator, left.value, right.value.clone())?;
                    receive(current.computed(value))
                })
            }),
            Node::And(a, b) | Node::Or(a, b) => {
                self.eval(a, env, input.clone().into(), &mut |left| {
                    let decides = matches!(ir.node, Node::Or(..));
                    if left.value.is_true() == decides {
                        return receive(current.computed(Val::Bool(decides)));
                    }
                    self.eval(b, env, input.clone().into(), &mut |right| {
                        receive(current.computed(Val::Bool(right.value.is_true())))
                    })
                })
            }
            Node::Object(members) => {
                self.object(members, Object::new(), env, input, &mut |object| {
                    receive(current.computed(object.into()))
                })
            }
            Node::Text(parts) => self.arguments(parts, env, input, &mut |parts| {
                let text: String = parts.iter().filter_map(Val::text).collect();
                receive(current.computed(text.into()))
            }),
            Node::Native(native, args) => self.arguments(args, env, input, &mut |args| {
                receive(current.computed((native.run)(input.clone(), args)?))
            }),
            Node::Assign(paths, value) => {
                self.eval(value, env, input.clone().into(), &mut |value| {
                    receive(current.computed(self.assign(
                        paths,
                        env,
                        input.clone(),
                        &value.value,
                    )?))
                })
            }
            Node::Update(paths, value, update) => {
                self.eval(value, env, input.clone().into(), &mut |value| {
                    let env = env.with(Bound::Value(value.value));
                    receive(current.computed(self.modify(paths, update, &env, input.clone())?))
                })
            }
            _ => {
                let value = self.value(ir, env, input.clone())?;
                receive(current.computed(value))
            }
        }
    }

    /// Each value of the first member with each of the next.
    #[inline(never)]
    fn object(
        &self,
        members: &'p [(Ir, Ir)],
        object: Object,
        env: &Env<'p>,
        input: &Val,
        then: &mut dyn FnMut(Object) -> Flow,
    ) -> Flow {
        let Some(((key, value), rest)) = members.split_first() else {
            return then(object);
        };
        self.eval(key, env, input.clone().into(), &mut |key| {
            self.eval(value, env, input.clone().into(), &mut |value| {
                let mut object = object.clone();
                object.insert(object_key(&key.value)?, value.value);
                self.object(rest, object, env, input, then)
            })
        })
    }

    /// Only the errors of the body are caught, not those of what follows.
    #[inline(never)]
    fn attempt(
        &self,
        body: &'p Ir,
        handler: Option<&'p Ir>,
        env: &Env<'p>,
        current: Current,
        receive: Receiver<'_>,
    ) -> Flow {
        let mut downstream = false;
        let result = self.eval(body, env, current.clone(), &mut |result| {
            receive(result).inspect_err(|_| downstream = true)
        });
        match (result, handler) {
            (Err(Stop::Error(message)), handler) if !downstream => match handler {
                Some(handler) => self.eval(handler, env, current.computed(message), receive),
                None => Ok(()),
            },
            (result, _) => result,
        }
    }
}
