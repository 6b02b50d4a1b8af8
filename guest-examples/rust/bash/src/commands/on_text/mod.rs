//! Commands on text and numbers.

use super::Command;

mod tac;

pub(super) const COMMANDS: &[Command] = &[tac::TAC];
