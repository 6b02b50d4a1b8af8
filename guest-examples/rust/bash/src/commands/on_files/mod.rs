//! Commands on files and folders.

use super::Command;

mod copy;
mod destination;
mod du;
mod file;
mod install;
mod links;
mod ls;
mod make;
mod modes;
mod moments;
mod names;
mod parts;
mod remove;
mod rename;
mod resolve;
mod sizes;
mod stat;
mod touch;
mod transfer;
mod tree;

pub(super) const COMMANDS: &[Command] = &[
    copy::CP,
    du::DU,
    file::FILE,
    install::INSTALL,
    links::LN,
    ls::LS,
    make::MKDIR,
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
];
