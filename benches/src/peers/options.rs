//! Arguments of the benchmark of peers.

use std::time::Duration;

use super::rounds::Rounds;

/// What is measured, and where it goes.
pub(super) struct Options {
    pub(super) rounds: Rounds,
    /// The key of the only work.
    pub(super) only: Option<String>,
    /// Write the plots and docs/performance.md.
    pub(super) write: bool,
}

const USAGE: &str =
    "usage: cargo xtask bench peers [--rounds N] [--milliseconds N] [--only WORK | --write]";

impl Options {
    pub(super) fn parse(arguments: &[String]) -> Result<Self, String> {
        let mut options = Self {
            rounds: Rounds {
                rounds: 11,
                time: Duration::from_millis(120),
            },
            only: None,
            write: false,
        };
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--write" => options.write = true,
                "--only" => options.only = Some(value(argument, arguments.next())?),
                "--rounds" => options.rounds.rounds = number(argument, arguments.next())?,
                "--milliseconds" => {
                    let milliseconds = number(argument, arguments.next())?;
                    options.rounds.time = Duration::from_millis(milliseconds as u64);
                }
                unknown => return Err(format!("no option `{unknown}`; {USAGE}")),
            }
        }
        if options.write && options.only.is_some() {
            return Err(format!(
                "--write writes all works, --only measures one; {USAGE}"
            ));
        }
        Ok(options)
    }
}

fn value(option: &str, value: Option<&String>) -> Result<String, String> {
    value
        .cloned()
        .ok_or_else(|| format!("`{option}` needs a value; {USAGE}"))
}

fn number(option: &str, given: Option<&String>) -> Result<usize, String> {
    let text = value(option, given)?;
    let number = text.parse().ok().filter(|number| *number > 0);
    number.ok_or_else(|| format!("`{option}` takes a positive number, but got `{text}`; {USAGE}"))
}
