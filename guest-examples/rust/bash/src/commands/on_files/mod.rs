//! Commands on files and folders.

use super::Command;

mod copy;
mod destination;
mod ls;
mod make;
mod modes;
mod moments;
mod names;
mod remove;
mod rename;
mod sizes;
mod stat;
mod touch;
mod transfer;

pub(super) const COMMANDS: &[Command] = &[
    copy::CP,
    ls::LS,
    make::MKDIR,
    modes::CHMOD,
    remove::RM,
    remove::RMDIR,
    rename::MV,
    stat::STAT,
    touch::TOUCH,
];
