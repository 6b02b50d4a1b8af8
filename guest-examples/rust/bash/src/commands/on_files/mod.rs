//! Commands on files and folders.

use super::Command;

mod copy;
mod destination;
mod make;
mod modes;
mod moments;
mod names;
mod remove;
mod rename;
mod sizes;
mod touch;
mod transfer;

pub(super) const COMMANDS: &[Command] = &[
    copy::CP,
    make::MKDIR,
    modes::CHMOD,
    remove::RM,
    remove::RMDIR,
    rename::MV,
    touch::TOUCH,
];
