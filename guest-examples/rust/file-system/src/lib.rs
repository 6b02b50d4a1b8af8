//! The `file-system` tool: reads, writes, lists and makes files and folders of the workdir.
//!
//! The host gives a tool one folder as `/`, so `std::fs` works and cannot leave it: the host refuses a path
//! or a link that leads out.

use toolhost_guest::handlers;

mod failure;
mod list;
mod mkdir;
mod parameters;
mod path;
mod read;
mod write;

handlers! {
    "read" => read::read {
        description: "Reads a text file of the workdir",
        parameters: parameters::read(),
    },
    "write" => write::write {
        description: "Writes a text file of the workdir; makes the folders it needs",
        parameters: parameters::write(),
    },
    "list" => list::list {
        description: "Lists what is in a folder of the workdir",
        parameters: parameters::list(),
    },
    "mkdir" => mkdir::mkdir {
        description: "Makes a folder in the workdir",
        parameters: parameters::mkdir(),
    },
}
