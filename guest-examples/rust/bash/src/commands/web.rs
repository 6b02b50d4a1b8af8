//! `curl` and `wget`, over the HTTP that the policy grants.

use super::Command;

mod curl;
mod data;
mod head;
mod jar;
mod report;
mod settings;
mod sink;
mod transfer;
mod trouble;
mod urls;
mod wget;

pub(in crate::commands) const COMMANDS: &[Command] = &[curl::CURL, wget::WGET];
