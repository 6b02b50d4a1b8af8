//! `toolhost completions` and `toolhost man`: help for shells and for `man`, from the definitions of the
//! arguments.

use std::fs;

use anyhow::Context;
use clap::CommandFactory;

use crate::args::{Cli, CompletionsArgs, ManArgs};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::terminal::{stdout, text};

/// Name of the program in scripts and pages.
const PROGRAM: &str = "toolhost";

pub(crate) fn completions(args: &CompletionsArgs) -> Result<Exit, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), PROGRAM, &mut script);
    let script = String::from_utf8(script).context("the script is not UTF-8")?;
    stdout::write(script.trim_end())?;
    Ok(Exit::Done)
}

pub(crate) fn man(args: &ManArgs) -> Result<Exit, Failure> {
    let dir = &args.dir;
    let cannot = || format!("man pages cannot be written to {}", dir.display());
    fs::create_dir_all(dir).with_context(cannot)?;
    // `toolhost help` has the same texts.
    let commands = Cli::command().disable_help_subcommand(true);
    clap_mangen::generate_to(commands, dir).with_context(cannot)?;
    let dir = text::line(&dir.to_string_lossy());
    stdout::write(&format!(
        "wrote the pages to {dir}: man -l {dir}/{PROGRAM}.1"
    ))?;
    Ok(Exit::Done)
}
