//! `toolhost completions` and `toolhost man`: help for shells and for `man`, from the definitions of the
//! arguments.

use std::fs;
use std::io;
use std::path::Path;

use anyhow::Context;
use clap::{Command, CommandFactory};
use clap_mangen::Man;

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
    let mut program = Cli::command().disable_help_subcommand(true);
    // Gives each command its whole name.
    program.build();
    write_pages(&program, dir).with_context(cannot)?;
    let dir = text::path(dir);
    stdout::write(&format!(
        "wrote the pages to {dir}: man -l {dir}/{PROGRAM}.1"
    ))?;
    Ok(Exit::Done)
}

/// Writes the page of a command, and those of its commands.
fn write_pages(command: &Command, dir: &Path) -> io::Result<()> {
    for command in command.get_subcommands().filter(|it| !it.is_hide_set()) {
        write_pages(command, dir)?;
    }
    let man = Man::new(command.clone())
        .source(concat!("toolhost ", env!("CARGO_PKG_VERSION")))
        .manual("toolhost");
    let mut page = Vec::new();
    man.render(&mut page)?;
    let page = String::from_utf8(page).map_err(io::Error::other)?;
    fs::write(dir.join(man.get_filename()), with_plain_lines(&page))
}

/// Keeps the line breaks of the long help, which has examples and columns.
fn with_plain_lines(page: &str) -> String {
    let Some((before, help)) = page.split_once("\n.SH EXTRA\n") else {
        return page.to_owned();
    };
    let (help, after) = match help.split_once("\n.SH ") {
        Some((help, after)) => (help, format!("\n.SH {after}")),
        None => (help, String::new()),
    };
    format!("{before}\n.SH DETAILS\n.nf\n{help}\n.fi{after}")
}
