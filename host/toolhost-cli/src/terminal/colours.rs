//! Decides whether output has colours: once, for all that the command line prints.

use std::ffi::{OsStr, OsString};

use clap::ValueEnum;

/// The option `--color`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ColorChoice {
    /// On a terminal, unless `NO_COLOR` is set or `TERM` is `dumb`; with `CLICOLOR_FORCE` everywhere
    #[default]
    Auto,
    /// Also in files and pipes
    Always,
    /// Nowhere
    Never,
}

/// Whether a stream gets colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Colours {
    Plain,
    Ansi,
}

impl ColorChoice {
    /// Finds the option in the arguments of the process, which may be wrong otherwise: for the errors and
    /// the help that are printed before all arguments are parsed.
    pub(crate) fn find(words: impl IntoIterator<Item = OsString>) -> Self {
        let mut words = words.into_iter().take_while(|word| word != "--");
        let mut choice = None;
        while let Some(word) = words.next() {
            let value = match word.to_str() {
                Some("--color") => words.next(),
                Some(word) => word.strip_prefix("--color=").map(OsString::from),
                None => None,
            };
            let value = value.as_deref().and_then(OsStr::to_str);
            choice = value
                .and_then(|value| Self::from_str(value, false).ok())
                .or(choice);
        }
        choice.unwrap_or_default()
    }

    /// Decides for a stream. `variable` returns the value of an environment variable that is set and not
    /// empty.
    pub(crate) fn decide(
        self,
        is_terminal: bool,
        variable: impl Fn(&str) -> Option<OsString>,
    ) -> Colours {
        let is_on = match self {
            Self::Always => true,
            Self::Never => false,
            Self::Auto => {
                let is_forced = variable("CLICOLOR_FORCE").is_some_and(|value| value != "0");
                let is_dumb = variable("TERM").is_some_and(|term| term == "dumb");
                variable("NO_COLOR").is_none() && (is_forced || is_terminal && !is_dumb)
            }
        };
        if is_on { Colours::Ansi } else { Colours::Plain }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_option_precedes_the_variables_and_they_precede_the_terminal() {
        use ColorChoice::{Always, Auto, Never};
        let check = |choice: ColorChoice, terminal, variables: &[&str], is_on: bool| {
            let variable = |name: &str| {
                let mut pairs = variables.iter().filter_map(|pair| pair.split_once('='));
                let variable = pairs.find(|(key, _)| *key == name);
                variable.map(|(_, value)| OsString::from(value))
            };
            let decided = choice.decide(terminal, variable);
            assert_eq!(
                decided == Colours::Ansi,
                is_on,
                "{choice:?} {terminal} {variables:?}"
            );
        };
        check(Auto, true, &[], true);
        check(Auto, false, &[], false);
        check(Auto, true, &["TERM=dumb"], false);
        check(Auto, true, &["NO_COLOR=1"], false);
        check(Auto, false, &["CLICOLOR_FORCE=1"], true);
        check(Auto, false, &["CLICOLOR_FORCE=0"], false);
        check(Auto, false, &["CLICOLOR_FORCE=1", "TERM=dumb"], true);
        check(Auto, true, &["CLICOLOR_FORCE=1", "NO_COLOR=1"], false);
        check(Always, false, &["NO_COLOR=1", "TERM=dumb"], true);
        check(Never, true, &["CLICOLOR_FORCE=1"], false);
    }

    #[test]
    fn the_option_is_found_among_wrong_arguments() {
        let check = |words: &[&str], expected| {
            let words = words.iter().map(OsString::from);
            assert_eq!(ColorChoice::find(words), expected);
        };
        check(&["toolhost", "nope"], ColorChoice::Auto);
        check(
            &["toolhost", "--color", "always", "nope"],
            ColorChoice::Always,
        );
        check(&["toolhost", "nope", "--color=never"], ColorChoice::Never);
        check(
            &["toolhost", "--color=never", "--color"],
            ColorChoice::Never,
        );
        check(&["toolhost", "--color", "pink"], ColorChoice::Auto);
        check(&["toolhost", "--", "--color=never"], ColorChoice::Auto);
    }
}
