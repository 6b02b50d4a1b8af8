//! The arguments of `toolhost script`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use toolhost::ScriptLanguage;
use toolhost::tool::ToolPattern;

use super::bundle::BUNDLE;
use super::caller::CallerArgs;
use super::tool_arguments::ArgsFrom;

#[derive(Debug, Args)]
pub(crate) struct ScriptArgs {
    /// The program: a file that ends with .js, .mjs or .py; or - for stdin, with --lang
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Bundle file, directory that holds a goondan.yaml, or `base`: the tools that toolhost ships
    #[arg(value_name = "BUNDLE", default_value = BUNDLE)]
    pub(crate) bundle: PathBuf,
    /// The language of the program [default: by the file's name]
    #[arg(long, value_name = "LANGUAGE")]
    pub(crate) lang: Option<Language>,
    /// `args` of the program: JSON, @FILE, or - for stdin
    #[arg(
        long,
        value_name = "JSON|@FILE|-",
        default_value = "{}",
        allow_hyphen_values = true
    )]
    pub(crate) args: ArgsFrom,
    /// A tool that the program may call, such as file-system__read or 'file-system__*'; may be repeated [default: the
    /// policy's, or else every tool of the agent]
    #[arg(long, value_name = "TOOL", value_parser = ToolPattern::parse)]
    pub(crate) allow_tool: Vec<ToolPattern>,
    #[command(flatten)]
    pub(crate) caller: CallerArgs,
}

/// The language of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Language {
    Javascript,
    Python,
}

impl From<Language> for ScriptLanguage {
    fn from(language: Language) -> Self {
        match language {
            Language::Javascript => Self::JavaScript,
            Language::Python => Self::Python,
        }
    }
}
