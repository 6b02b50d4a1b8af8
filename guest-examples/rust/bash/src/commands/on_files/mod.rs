//! Commands on files and folders.

use super::Command;

mod copy;
mod destination;
mod du;
mod file;
mod find;
mod install;
mod links;
mod ls;
mod make;
mod mktemp;
pub(super) mod modes;
mod names;
mod parts;
mod remove;
mod rename;
mod resolve;
mod sizes;
pub(super) mod stat;
mod touch;
mod transfer;
mod tree;
mod truncate;

pub(super) use names::{quoted, quoted_if_needed};

pub(super) const COMMANDS: &[Command] = &[
    copy::CP,
    du::DU,
    file::FILE,
    find::FIND,
    install::INSTALL,
    links::LN,
    ls::LS,
    make::MKDIR,
    mktemp::MKTEMP,
    modes::CHMOD,
    parts::BASENAME,
    parts::DIRNAME,
    remove::RM,
    remove::RMDIR,
    rename::MV,
    resolve::READLINK,
    resolve::REALPATH,
    stat::STAT,
    touch::TOUCH,
    tree::TREE,
    truncate::TRUNCATE,
];
