//! Commands on files and folders.

use super::Command;

pub(super) const COMMANDS: &[Command] = &[];
