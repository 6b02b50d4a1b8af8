//! `reduce` and `foreach`.

use super::machine::Machine;
use super::path::{Current, Receiver};
use crate::env::Env;
use crate::fault::{Flow, Stop};
use crate::ir::{Ir, Shape};
use crate::value::Val;

impl<'p> Machine<'p> {
    #[inline(never)]
    pub(super) fn reduce(
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

    #[expect(clippy::too_many_arguments, reason = "the parts of a loop")]
    pub(super) fn foreach(
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
}
