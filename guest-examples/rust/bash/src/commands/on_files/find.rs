//! `find`.
//!
//! The expression is compiled to a program over one entry, so that it can stop at a command of `-exec` and go
//! on with its exit code. The shell runs such commands: `find` returns a loop for it, which calls `find` again
//! with [`AGAIN`] before and after each command. What lies between is in [`WALKS`].

use std::sync::{Mutex, PoisonError};

use super::super::{Command, Run};
use crate::commands::call::{Call, Failure};
use crate::commands::options::{Line, Spec};

mod commands;
mod entry;
mod evaluate;
mod expression;
mod format;
mod parse;
mod patterns;
mod primaries;
mod times;
mod values;
mod walk;

use walk::{Step, Walk};

pub(super) const FIND: Command = Command {
    name: "find",
    spec: Spec::raw(),
    run: Run::Either(with_commands, find),
};

/// First argument of the calls in the loop; no name of a file begins with it.
const AGAIN: &str = "\u{1}again";

/// The walks whose commands the shell runs. A call of the tool is one instance, so that they end with it.
static WALKS: Mutex<Vec<Option<Walk>>> = Mutex::new(Vec::new());

/// Returns the loop for an expression with commands, and for a call within the loop the next command.
fn with_commands(call: &mut Call, _: &Line) -> Result<Option<String>, Failure> {
    let args = call.args;
    if let [again, "run", id] = &*args.iter().map(String::as_str).collect::<Vec<_>>()
        && *again == AGAIN
    {
        let command = with_walk(id, Walk::next_command).flatten();
        return Ok(
            command.map(|command| format!("{command}\ncommand find $'\\001again' ran {id} $?"))
        );
    }
    let is_command = |arg: &String| arg.starts_with("-exec") || arg.starts_with("-ok");
    if args.first().is_some_and(|arg| arg == AGAIN) || !args.iter().any(is_command) {
        return Ok(None);
    }
    // An error is reported by the function below.
    let Ok(walk) = Walk::new(call) else {
        return Ok(None);
    };
    let mut walks = WALKS.lock().unwrap_or_else(PoisonError::into_inner);
    let id = walks.len();
    walks.push(Some(walk));
    let again = "command find $'\\001again'";
    Ok(Some(format!(
        "{again} ran {id} 0\nwhile {again} run {id}; do :; done\n{again} end {id}"
    )))
}

fn find(call: &mut Call, _: &Line) -> Result<i32, Failure> {
    let args: Vec<_> = call.args.iter().map(String::as_str).collect();
    match &*args {
        [again, "ran", id, status] if *again == AGAIN => {
            let is_success = *status == "0";
            with_walk(id, |walk| walk.resume(call, is_success));
            Ok(0)
        }
        // No command follows.
        [again, "run", _] if *again == AGAIN => Ok(1),
        [again, "end", id] if *again == AGAIN => {
            let code = with_walk(id, |walk| walk.exit_code());
            let mut walks = WALKS.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(place) = id.parse().ok().and_then(|id: usize| walks.get_mut(id)) {
                *place = None;
            }
            Ok(code.unwrap_or(1))
        }
        _ => {
            let mut walk = Walk::new(call)?;
            match walk.advance(call) {
                Step::End => Ok(walk.exit_code()),
                Step::Command => Err(Failure::usage("a command can only be run by the shell")),
            }
        }
    }
}

fn with_walk<T>(id: &str, action: impl FnOnce(&mut Walk) -> T) -> Option<T> {
    let id: usize = id.parse().ok()?;
    // The walk is taken out: a command may be another `find`.
    let mut walk = {
        let mut walks = WALKS.lock().unwrap_or_else(PoisonError::into_inner);
        walks.get_mut(id)?.take()?
    };
    let result = action(&mut walk);
    let mut walks = WALKS.lock().unwrap_or_else(PoisonError::into_inner);
    *walks.get_mut(id)? = Some(walk);
    Some(result)
}
