//! Filters that are more than a function of values.

use super::machine::Machine;
use super::path::{Current, Receiver, each};
use crate::env::Env;
use crate::fault::{Flow, Stop, error};
use crate::ir::{Ir, Special};
use crate::natives::{arithmetic, matching};
use crate::value::Val;
use crate::{access, json};

impl<'p> Machine<'p> {
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
    pub(super) fn special(
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
