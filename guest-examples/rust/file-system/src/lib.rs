//! The `file-system` tool: reads, writes, edits, searches and arranges the files of the workdir.
//!
//! The host gives a tool one folder as `/`, so `std::fs` works and cannot leave it: the host refuses a path
//! or a link that leads out. Descriptions and parameters are in goondan.yaml.

use toolhost_guest::handlers;

mod failure;
mod path;
mod room;

mod base64;
mod encoding;
mod read;
mod window;
mod write;

mod changes;
mod diff;
mod edit;
mod line_ends;
mod nearest;
mod patch;
mod replace;
mod text_file;

mod glob;
mod grep;
mod ignored;
mod list;
mod walk;

mod mkdir;
mod remove;
mod stat;
mod transfer;

handlers! {
    "read" => read::read,
    "write" => write::write,
    "edit" => edit::edit,
    "multi-edit" => edit::multi_edit,
    "apply-patch" => patch::apply_patch,
    "glob" => glob::glob,
    "grep" => grep::grep,
    "list" => list::list,
    "stat" => stat::stat,
    "mkdir" => mkdir::mkdir,
    "move" => transfer::move_entry,
    "copy" => transfer::copy,
    "remove" => remove::remove,
}
