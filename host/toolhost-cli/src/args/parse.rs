//! Parses the arguments of the process, and prints help and errors about them.

use clap::error::ErrorKind;
use clap::{CommandFactory, Error, FromArgMatches};

use super::Cli;
use crate::exit::Exit;
use crate::terminal::{ColorChoice, Style, stderr, stdin, text};

/// Parses the arguments. Otherwise prints help or why they are wrong, and returns the exit code.
pub(crate) fn parse() -> Result<Cli, Exit> {
    let color = ColorChoice::find(std::env::args_os());
    let command = command(color);
    let parsed = command.try_get_matches().and_then(|mut matches| {
        let cli = Cli::from_arg_matches_mut(&mut matches);
        cli.map_err(|error| error.format(&mut Cli::command()))
    });
    parsed.map_err(|error| {
        if error.use_stderr() {
            stderr::write(&message(&error, Style::of_stderr(color)));
            return Exit::Unusable;
        }
        // Help goes to stdout, which may be closed.
        let _ = error.print();
        Exit::Done
    })
}

/// The commands, whose help on stdout has colours or not.
fn command(color: ColorChoice) -> clap::Command {
    let command = Cli::command().color(if Style::of_stdout(color).is_coloured() {
        clap::ColorChoice::Always
    } else {
        clap::ColorChoice::Never
    });
    if !stdin::can_ask() {
        return command;
    }
    command.mut_subcommand("new", |new| {
        // `new` asks for them.
        let optional = |arg: clap::Arg| arg.required(false);
        new.arg_required_else_help(false)
            .mut_arg("name", optional)
            .mut_arg("lang", optional)
    })
}

/// Formats an error for stderr.
fn message(error: &Error, style: Style) -> String {
    let plain = error.to_string();
    if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        // It quotes no arguments.
        return if style.is_coloured() {
            error.render().ansi().to_string()
        } else {
            plain
        };
    }
    // It quotes the arguments, which may come from a model.
    let line = |line: &str| {
        let line = text::line(line);
        if let Some(rest) = line.strip_prefix("error:") {
            format!("{}{rest}", style.red("error:"))
        } else if let Some(rest) = line.strip_prefix("  tip:") {
            format!("  {}{rest}", style.cyan("tip:"))
        } else {
            line
        }
    };
    let lines: Vec<String> = plain.lines().map(line).collect();
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[test]
    fn an_argument_in_an_error_cannot_control_the_terminal() {
        let words = ["toolhost", "frob\u{1b}[2J\nerror: forged"];
        let error = Cli::try_parse_from(words).unwrap_err();
        for color in [ColorChoice::Never, ColorChoice::Always] {
            let text = message(&error, Style::of_stderr(color));
            assert!(!text.contains("\u{1b}[2J"), "{text:?}");
            assert_eq!(
                text.contains("\u{1b}[1;31merror:"),
                color == ColorChoice::Always
            );
        }
    }
}
