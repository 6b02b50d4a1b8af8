//! The open turns and steps of one connection.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;
use toolhost::{Instance, Step, Turn};

use crate::error::{RpcError, RpcErrorCode};
use crate::limits::RpcLimits;
use crate::message::quoted;

/// Open turns by id, each with its steps.
#[derive(Debug, Default)]
pub(crate) struct OpenTurns(Mutex<HashMap<String, OpenTurn>>);

#[derive(Debug)]
struct OpenTurn {
    turn: Arc<Turn>,
    instance: Instance,
    /// By the id that clients use.
    steps: HashMap<String, Arc<Step>>,
    used: Instant,
}

impl OpenTurn {
    /// Returns whether a request uses the turn or one of its steps.
    fn is_in_use(&self) -> bool {
        let mut steps = self.steps.values();
        Arc::strong_count(&self.turn) > 1 || steps.any(|step| Arc::strong_count(step) > 1)
    }
}

/// The id of a step for clients: that of the library is unique within its turn.
fn step_id(turn: &Turn, step: &Step) -> String {
    format!("{}/{}", turn.id(), step.id())
}

impl OpenTurns {
    /// Fails if no further turn can be opened.
    pub(crate) fn check_turns(&self, limits: &RpcLimits) -> Result<(), RpcError> {
        if self.open().len() < limits.turns {
            Ok(())
        } else {
            Err(too_many("turns", limits.turns))
        }
    }

    /// Fails if no further step can be opened.
    pub(crate) fn check_steps(&self, limits: &RpcLimits) -> Result<(), RpcError> {
        if count_steps(&self.open()) < limits.steps {
            Ok(())
        } else {
            Err(too_many("steps", limits.steps))
        }
    }

    /// Adds a turn that was just opened.
    pub(crate) fn add(
        &self,
        turn: Turn,
        instance: Instance,
        limits: &RpcLimits,
    ) -> Result<Arc<Turn>, RpcError> {
        let mut open = self.open();
        // Others may have been opened meanwhile.
        if open.len() >= limits.turns {
            return Err(too_many("turns", limits.turns));
        }
        let turn = Arc::new(turn);
        let open_turn = OpenTurn {
            turn: Arc::clone(&turn),
            instance,
            steps: HashMap::new(),
            used: Instant::now(),
        };
        open.insert(turn.id().to_owned(), open_turn);
        Ok(turn)
    }

    /// Adds a step of a turn. Returns its id.
    pub(crate) fn add_step(
        &self,
        turn: &Turn,
        step: Step,
        limits: &RpcLimits,
    ) -> Result<String, RpcError> {
        let mut open = self.open();
        if count_steps(&open) >= limits.steps {
            return Err(too_many("steps", limits.steps));
        }
        let entry = open.get_mut(turn.id());
        let entry = entry.ok_or_else(|| unknown("turn", turn.id()))?;
        let id = step_id(turn, &step);
        entry.steps.insert(id.clone(), Arc::new(step));
        Ok(id)
    }

    /// Returns an open turn and its instance.
    pub(crate) fn turn(&self, id: &str) -> Result<(Arc<Turn>, Instance), RpcError> {
        let mut open = self.open();
        let entry = open.get_mut(id).ok_or_else(|| unknown("turn", id))?;
        entry.used = Instant::now();
        Ok((Arc::clone(&entry.turn), entry.instance.clone()))
    }

    /// Returns the ids of a turn's open steps, sorted.
    pub(crate) fn steps_of(&self, turn: &str) -> Vec<String> {
        let open = self.open();
        let steps = open.get(turn).map(|entry| entry.steps.keys().cloned());
        let mut steps: Vec<_> = steps.into_iter().flatten().collect();
        steps.sort();
        steps
    }

    /// Returns an open step.
    pub(crate) fn step(&self, id: &str) -> Result<Arc<Step>, RpcError> {
        let mut open = self.open();
        let entry = turn_of(&mut open, id)?;
        entry.used = Instant::now();
        let step = entry.steps.get(id);
        step.cloned().ok_or_else(|| unknown("step", id))
    }

    /// Removes a step that no request uses.
    pub(crate) fn take_step(&self, id: &str) -> Result<Step, RpcError> {
        let mut open = self.open();
        let entry = turn_of(&mut open, id)?;
        entry.used = Instant::now();
        let step = entry.steps.remove(id);
        let step = step.ok_or_else(|| unknown("step", id))?;
        Arc::try_unwrap(step).map_err(|step| {
            entry.steps.insert(id.to_owned(), step);
            let message = format!("calls of the step `{}` still run", quoted(id));
            RpcError::new(RpcErrorCode::Busy, message)
        })
    }

    /// Removes a turn without open steps that no request uses.
    pub(crate) fn take_turn(&self, id: &str) -> Result<Turn, RpcError> {
        let mut open = self.open();
        let entry = open.remove(id).ok_or_else(|| unknown("turn", id))?;
        if !entry.steps.is_empty() {
            open.insert(id.to_owned(), entry);
            let message = format!("the turn `{}` has open steps", quoted(id));
            let busy = RpcError::new(RpcErrorCode::Busy, message);
            return Err(busy.suggesting("Close its steps with step/close first."));
        }
        let OpenTurn {
            turn,
            instance,
            steps,
            used,
        } = entry;
        Arc::try_unwrap(turn).map_err(|turn| {
            let entry = OpenTurn {
                turn,
                instance,
                steps,
                used,
            };
            open.insert(id.to_owned(), entry);
            let message = format!("a request still uses the turn `{}`", quoted(id));
            RpcError::new(RpcErrorCode::Busy, message)
        })
    }

    /// Drops the turns that were not used for this long. Returns how many.
    pub(crate) fn drop_idle(&self, idle: Duration) -> usize {
        let now = Instant::now();
        let mut open = self.open();
        let mut dropped = Vec::new();
        open.retain(|_, entry| {
            if entry.is_in_use() {
                entry.used = now;
            }
            let is_kept = now.duration_since(entry.used) < idle;
            if !is_kept {
                dropped.push((Arc::clone(&entry.turn), std::mem::take(&mut entry.steps)));
            }
            is_kept
        });
        // Dropping a turn runs code of the host: not under the lock.
        drop(open);
        dropped.len()
    }

    fn open(&self) -> MutexGuard<'_, HashMap<String, OpenTurn>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn turn_of<'o>(
    open: &'o mut HashMap<String, OpenTurn>,
    step: &str,
) -> Result<&'o mut OpenTurn, RpcError> {
    let turn = step.split_once('/').map_or(step, |(turn, _)| turn);
    open.get_mut(turn).ok_or_else(|| unknown("step", step))
}

fn count_steps(open: &HashMap<String, OpenTurn>) -> usize {
    open.values().map(|entry| entry.steps.len()).sum()
}

fn unknown(what: &str, id: &str) -> RpcError {
    let message = format!("this connection has no open {what} `{}`", quoted(id));
    RpcError::new(RpcErrorCode::NotFound, message)
}

fn too_many(what: &str, most: usize) -> RpcError {
    let message = format!("this connection has {most} open {what}");
    RpcError::new(RpcErrorCode::Limit, message)
        .suggesting("Close those that are not needed with turn/close and step/close.")
}
