//! Filters with any number of results.

use super::{Current, Flow, Machine, Receiver, Stop, error, object_key};
use crate::access;
use crate::env::{Bound, Env};
use crate::ir::{Ir, Node, Shape, Special};
use crate::json;
use crate::natives::{arithmetic, matching};
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

    #[expect(clippy::too_many_arguments, reason = "the parts of a loop")]
    fn foreach(
        &self,
        source: &'p Ir,
        shapes: &'p [Shape],
        update: &'p Ir,
        extract: Option<&'p Ir>,
        env: &Env<'p>,
        current: &Current,
        mut state: Val,
        receive: Receiver<'_>,
    ) -> Flow {
        self.eval(source, env, current.clone(), &mut |item| {
            self.destructure(shapes, env, &item.value, &mut |env| {
                let before = item.computed(std::mem::take(&mut state));
                self.eval(update, env, before, &mut |after| {
                    state = after.value.clone();
                    match extract {
                        Some(extract) => self.eval(extract, env, after, receive),
                        None => receive(after),
                    }
                })
            })
        })
    }

    /// Special filters with one result.
    pub(super) fn single_special(&self, special: Special, input: Val) -> Result<Val, Stop> {
        let surroundings = self.surroundings;
        match special {
            Special::Input => match surroundings.input() {
                Some(value) => Ok(value.map_err(error)?),
                None => Err(error("break").into()),
            },
            Special::Debug => {
                surroundings.stderr(&format!("[\"DEBUG:\",{}]\n", json::print(&input)));
                Ok(input)
            }
            Special::Stderr => {
                match input.text() {
                    Some(text) => surroundings.stderr(text),
                    None => surroundings.stderr(&json::print(&input)),
                }
                Ok(input)
            }
            Special::Environment => Ok(surroundings.environment()),
            Special::InputFilename => {
                Ok(surroundings.input_filename().map_or(Val::Null, Val::from))
            }
            Special::InputLine => Ok(surroundings.input_line().into()),
            Special::Now => Ok(surroundings.now().into()),
            Special::Halt => Err(Stop::Halt(0, None)),
            _ => Ok(input),
        }
    }

    #[inline(never)]
    fn special(
        &self,
        special: Special,
        args: &'p [Ir],
        env: &Env<'p>,
        current: Current,
        receive: Receiver<'_>,
    ) -> Flow {
        let input = &current.value;
        match (special, args) {
            (Special::Empty, _) => Ok(()),
            (Special::Select, [condition]) => {
                if self.single(condition, env) {
                    let condition = self.value(condition, env, input.clone())?;
                    return if condition.is_true() {
                        receive(current)
                    } else {
                        Ok(())
                    };
                }
                self.eval(condition, env, input.clone().into(), &mut |condition| {
                    if condition.value.is_true() {
                        receive(current.clone())
                    } else {
                        Ok(())
                    }
                })
            }
            (Special::Path, [filter]) => self.paths(filter, env, input, &mut |path| {
                receive(current.computed(path.into()))
            }),
            (Special::GetPath, [path]) => self.eval(path, env, input.clone().into(), &mut |path| {
                let Val::Arr(keys) = &path.value else {
                    return Err(error("Path must be specified as an array").into());
                };
                let value = access::get_path(input.clone(), keys)?;
                receive(current.descendant(&path.value, value))
            }),
            (Special::Recurse, []) => descend(current, receive),
            (Special::Recurse, [children]) => self.recurse(children, env, current, receive),
            (Special::Range, [from, to]) => {
                self.eval(from, env, input.clone().into(), &mut |from| {
                    self.eval(to, env, input.clone().into(), &mut |to| {
                        let (Some(from), Some(to)) = (from.value.number(), to.value.number())
                        else {
                            return Err(error("Range bounds must be numeric").into());
                        };
                        let mut at = from;
                        while at < to {
                            receive(current.computed(at.into()))?;
                            at += 1.0;
                        }
                        Ok(())
                    })
                })
            }
            (Special::First, [filter]) => self.until(1.0, filter, env, current, receive),
            (Special::Limit, [count, filter]) => {
                self.eval(count, env, input.clone().into(), &mut |count| {
                    let Some(count) = count.value.number() else {
                        return Err(arithmetic::failure(
                            &count.value,
                            "cannot be the number of results",
                        )
                        .into());
                    };
                    if count < 0.0 {
                        return self.eval(filter, env, current.clone(), receive);
                    }
                    if count == 0.0 {
                        Ok(())
                    } else {
                        self.until(count, filter, env, current.clone(), receive)
                    }
                })
            }
            (Special::Skip, [count, filter]) => {
                self.eval(count, env, input.clone().into(), &mut |count| {
                    let Some(mut count) = count.value.number() else {
                        return Err(arithmetic::failure(
                            &count.value,
                            "cannot be the number of results",
                        )
                        .into());
                    };
                    if count < 0.0 {
                        return Err(error("skip doesn't support negative count").into());
                    }
                    self.eval(filter, env, current.clone(), &mut |result| {
                        if count <= 0.0 {
                            return receive(result);
                        }
                        count -= 1.0;
                        Ok(())
                    })
                })
            }
            (Special::Inputs, _) => {
                while let Some(value) = self.surroundings.input() {
                    receive(current.computed(value.map_err(error)?))?;
                }
                Ok(())
            }
            (Special::HaltError, [code]) => {
                self.eval(code, env, input.clone().into(), &mut |code| {
                    let Some(code) = code.value.number() else {
                        return Err(
                            arithmetic::failure(input, "halt_error/1: number required").into()
                        );
                    };
                    Err(Stop::Halt(code as i32, Some(input.clone())))
                })
            }
            (Special::Substitute, [regex, text, flags]) => {
                self.eval(regex, env, input.clone().into(), &mut |regex| {
                    self.eval(flags, env, input.clone().into(), &mut |flags| {
                        self.substitute(&regex.value, &flags.value, text, env, &current, receive)
                    })
                })
            }
            _ => {
                let value = self.single_special(special, current.value.clone())?;
                receive(current.computed(value))
            }
        }
    }

    /// Ends after this many results.
    #[inline(never)]
    fn until(
        &self,
        count: f64,
        filter: &'p Ir,
        env: &Env<'p>,
        current: Current,
        receive: Receiver<'_>,
    ) -> Flow {
        let label = self.new_label();
        let mut left = count;
        let result = self.eval(filter, env, current, &mut |result| {
            left -= 1.0;
            receive(result)?;
            if left <= 0.0 {
                Err(Stop::Break(label))
            } else {
                Ok(())
            }
        });
        match result {
            Err(Stop::Break(ended)) if ended == label => Ok(()),
            result => result,
        }
    }

    #[inline(never)]
    fn recurse(
        &self,
        children: &'p Ir,
        env: &Env<'p>,
        current: Current,
        receive: Receiver<'_>,
    ) -> Flow {
        if let (None, true) = (&current.path, self.single(children, env)) {
            let mut value = current.value;
            loop {
                receive(value.clone().into())?;
                value = self.value(children, env, value)?;
            }
        }
        receive(current.clone())?;
        self.eval(children, env, current, &mut |child| {
            let result = self
                .enter()
                .and_then(|()| self.recurse(children, env, child, receive));
            self.depth.set(self.depth.get() - 1);
            result
        })
    }

    /// Replaces what matches; several replacements give several texts.
    #[inline(never)]
    fn substitute(
        &self,
        regex: &Val,
        flags: &Val,
        replacement: &'p Ir,
        env: &Env<'p>,
        current: &Current,
        receive: Receiver<'_>,
    ) -> Flow {
        let matches = matching::find(&current.value, regex, flags)?;
        let text = current.value.text().unwrap_or_default();
        let mut results: Vec<String> = Vec::new();
        let mut end = 0;
        for found in &matches {
            let gap = text.get(end..found.start).unwrap_or_default();
            let mut inserts: Vec<Val> = Vec::new();
            self.eval(replacement, env, found.named().into(), &mut |insert| {
                inserts.push(insert.value);
                Ok(())
            })?;
            for (at, insert) in inserts.iter().enumerate() {
                let insert = match insert {
                    Val::Str(insert) => insert,
                    Val::Null => "",
                    other => {
                        return Err(
                            arithmetic::failure2(&gap.into(), other, "cannot be added").into()
                        );
                    }
                };
                if results.len() <= at {
                    results.push(String::new());
                }
                if let Some(result) = results.get_mut(at) {
                    result.push_str(gap);
                    result.push_str(insert);
                }
            }
            end = found.end;
        }
        if results.is_empty() {
            return receive(current.clone());
        }
        let rest = text.get(end..).unwrap_or_default();
        for result in results {
            receive(current.computed(format!("{result}{rest}").into()))?;
        }
        Ok(())
    }
}

/// The value and all within it.
fn descend(current: Current, receive: Receiver<'_>) -> Flow {
    receive(current.clone())?;
    match &current.value {
        Val::Arr(_) | Val::Obj(_) => each(&current, &mut |child| descend(child, receive)),
        _ => Ok(()),
    }
}

fn each(current: &Current, receive: Receiver<'_>) -> Flow {
    current.expect_iteration()?;
    match &current.value {
        Val::Arr(items) => {
            for (at, item) in items.iter().enumerate() {
                receive(current.child(|| at.into(), item.clone()))?;
            }
            Ok(())
        }
        Val::Obj(object) => {
            for (key, value) in object.iter() {
                receive(current.child(|| Val::Str(std::rc::Rc::clone(key)), value.clone()))?;
            }
            Ok(())
        }
        other => Err(access::not_iterable(other).into()),
    }
}
