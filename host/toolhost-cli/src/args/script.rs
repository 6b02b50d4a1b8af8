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
    /// `args` of the program: a JSON object, @FILE, or - for stdin
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

pub(crate) const HELP: &str = "\
Examples:
  toolhost script report.js my-bundle --workdir .
  toolhost script report.py my-bundle --args '{\"month\": 3}' --allow-tool 'file-system__*'
  echo 'return await tools.search(\"read a file\")' | toolhost script - --lang javascript

The program runs in a sandbox, as a call of the tool javascript__script or python__script, which the bundle must have:
`include: [base]` adds both. It calls the agent's other tools, each in a sandbox of its own, with its own grants and
limits: `await tools[\"file-system__read\"]({path: \"a.txt\"})`, in Python `await tools[\"file-system__read\"](path=\"a.txt\")`.
docs/scripts.md describes programs.

What the program returns is printed on stdout, as JSON; what it prints, on stderr. With --usage, the ToolResult is printed
in place of it, with the receipt of the whole and a list of the calls.

Exit codes: 0 ok · 1 the program failed · 2 wrong usage, or the bundle does not load ·
130 stopped by Ctrl-C, 143 by SIGTERM, 129 by SIGHUP";
