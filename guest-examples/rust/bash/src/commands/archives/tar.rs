//! `tar`: archives as GNU tar writes and reads them.

mod arguments;
mod change;
mod compare;
mod create;
mod extract;
mod header;
mod list;
mod member;
mod names;
mod options;
mod reader;
mod run;
mod select;
mod settings;
mod stream;
mod values;
mod writer;

use std::collections::HashSet;

use super::super::Command;
use crate::commands::call::{Call, Failure};
use crate::commands::options::Line;

use run::{Run, WIDTH};
use settings::Operation;

pub(super) const TAR: Command = Command::new("tar", options::SPEC.shown_only(), tar);

fn tar(call: &mut Call, line: &Line) -> Result<i32, Failure> {
    let args = options::modern(&line.operands)?;
    let (settings, names) = arguments::read(call, &args)?;
    let mut run = Run {
        call,
        settings: &settings,
        names,
        exit_code: 0,
        prefixes: HashSet::new(),
        width: WIDTH,
        to_stderr: false,
    };
    match settings.operation {
        Operation::Create => create::create(&mut run)?,
        Operation::Append | Operation::Update => change::append(&mut run)?,
        Operation::Concatenate => change::concatenate(&mut run)?,
        Operation::Delete => change::delete(&mut run)?,
        Operation::List => list::list(&mut run)?,
        Operation::Extract => extract::extract(&mut run)?,
        Operation::Compare => compare::compare(&mut run)?,
    }
    if run.exit_code == 2 {
        run.call
            .complain("Exiting with failure status due to previous errors");
    }
    Ok(run.exit_code)
}
