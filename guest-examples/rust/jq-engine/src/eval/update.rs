//! Assignments.

use std::rc::Rc;

use super::machine::Machine;
use super::path::{Current, Tracked};
use crate::access;
use crate::env::Env;
use crate::fault::Stop;
use crate::ir::{Ir, Node};
use crate::value::Val;

impl<'p> Machine<'p> {
    /// Hands each path that a filter selects to a receiver.
    #[inline(never)]
    pub(crate) fn paths(
        &self,
        ir: &'p Ir,
        env: &Env<'p>,
        input: &Val,
        receive: &mut dyn FnMut(Vec<Val>) -> Result<(), Stop>,
    ) -> Result<(), Stop> {
        if let Some(path) = self.static_path(ir, env, input)? {
            // The errors of a path that does not fit the input.
            access::get_path(input.clone(), &path)?;
            return receive(path);
        }
        let start = Current {
            value: input.clone(),
            path: Some(Tracked::start(input)),
        };
        self.eval(ir, env, start, &mut |current| {
            current.expect_path()?;
            receive(current.path.map_or_else(Vec::new, |path| path.keys()))
        })
    }

    /// The keys of a filter such as `.a[0].b`.
    fn static_path(
        &self,
        ir: &'p Ir,
        env: &Env<'p>,
        input: &Val,
    ) -> Result<Option<Vec<Val>>, Stop> {
        match &ir.node {
            Node::Identity => Ok(Some(Vec::new())),
            Node::Index(term, key) if key.single => {
                let Some(mut path) = self.static_path(term, env, input)? else {
                    return Ok(None);
                };
                path.push(self.value(key, env, input.clone())?);
                Ok(Some(path))
            }
            _ => Ok(None),
        }
    }

    /// `paths = value`
    pub(crate) fn assign(
        &self,
        paths: &'p Ir,
        env: &Env<'p>,
        input: Val,
        value: &Val,
    ) -> Result<Val, Stop> {
        if let Some(path) = self.static_path(paths, env, &input)? {
            return Ok(access::set_path(input, &path, value.clone())?);
        }
        let mut state = input.clone();
        self.paths(paths, env, &input, &mut |path| {
            state = access::set_path(std::mem::take(&mut state), &path, value.clone())?;
            Ok(())
        })?;
        Ok(state)
    }

    /// `paths |= update`: the first result of the update counts; without one, the path is deleted.
    pub(crate) fn modify(
        &self,
        paths: &'p Ir,
        update: &'p Ir,
        env: &Env<'p>,
        input: Val,
    ) -> Result<Val, Stop> {
        if let Node::Each(term) = &paths.node {
            if matches!(term.node, Node::Identity) && update.single {
                return self.modify_each(update, env, input);
            }
        }
        let mut deleted = Vec::new();
        let state = match self.static_path(paths, env, &input)? {
            Some(path) => self.modify_at(update, env, input, path, &mut deleted)?,
            None => {
                let mut state = input.clone();
                self.paths(paths, env, &input, &mut |path| {
                    state = self.modify_at(
                        update,
                        env,
                        std::mem::take(&mut state),
                        path,
                        &mut deleted,
                    )?;
                    Ok(())
                })?;
                state
            }
        };
        if deleted.is_empty() {
            Ok(state)
        } else {
            Ok(access::delete_paths(state, deleted)?)
        }
    }

    #[inline(never)]
    fn modify_at(
        &self,
        update: &'p Ir,
        env: &Env<'p>,
        mut state: Val,
        path: Vec<Val>,
        deleted: &mut Vec<Val>,
    ) -> Result<Val, Stop> {
        let before = access::take_path(&mut state, &path)?;
        let after = if self.single(update, env) {
            Some(self.value(update, env, before)?)
        } else {
            self.first(update, env, before)?
        };
        match after {
            Some(after) => Ok(access::set_path(state, &path, after)?),
            None => {
                deleted.push(path.into());
                Ok(state)
            }
        }
    }

    /// The first result of a filter.
    #[inline(never)]
    pub(crate) fn first(&self, ir: &'p Ir, env: &Env<'p>, input: Val) -> Result<Option<Val>, Stop> {
        let mut first = None;
        let label = self.new_label();
        match self.eval(ir, env, input.into(), &mut |result| {
            first = Some(result.value);
            Err(Stop::Break(label))
        }) {
            Err(Stop::Break(ended)) if ended == label => {}
            result => result?,
        }
        Ok(first)
    }

    /// `.[] |= update`, in place where nothing else has the value.
    #[inline(never)]
    fn modify_each(&self, update: &'p Ir, env: &Env<'p>, mut input: Val) -> Result<Val, Stop> {
        match &mut input {
            Val::Arr(items) => {
                for item in Rc::make_mut(items) {
                    *item = self.value(update, env, std::mem::take(item))?;
                }
            }
            Val::Obj(object) => {
                for value in Rc::make_mut(object).values_mut() {
                    *value = self.value(update, env, std::mem::take(value))?;
                }
            }
            other => return Err(access::not_iterable(other).into()),
        }
        Ok(input)
    }
}
