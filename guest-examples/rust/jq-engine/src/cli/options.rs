//! Reads the arguments.

use super::VERSION;
use crate::json::{self, Indent};
use crate::value::Val;

pub(super) enum Request {
    Run(Box<Options>),
    Print(String),
}

#[derive(Debug)]
pub(super) struct Options {
    pub(super) program: String,
    /// The file of the program, instead of its text.
    pub(super) program_file: Option<String>,
    pub(super) files: Vec<String>,
    pub(super) variables: Vec<(String, Variable)>,
    pub(super) positional: Vec<Val>,
    pub(super) indent: Indent,
    pub(super) sort_keys: bool,
    pub(super) ascii: bool,
    pub(super) color: bool,
    pub(super) raw: bool,
    /// No line end after each result.
    pub(super) join: bool,
    /// A zero byte after each result.
    pub(super) nul: bool,
    pub(super) sequence: bool,
    pub(super) exit_status: bool,
    pub(super) null_input: bool,
    pub(super) raw_input: bool,
    pub(super) slurp: bool,
    pub(super) stream: bool,
}

#[derive(Debug)]
pub(super) enum Variable {
    Value(Val),
    RawFile(String),
    SlurpFile(String),
}

/// What the operands after the program are.
#[derive(Clone, Copy)]
enum Rest {
    Files,
    Texts,
    Json,
}

const HELP: &str = "\
Usage: jq [options] <filter> [file...]
       jq [options] --args <filter> [strings...]
       jq [options] --jsonargs <filter> [json...]

  -n, --null-input          the input is null; `input` and `inputs` read
  -R, --raw-input           each line is a string
  -s, --slurp               all inputs as one array (with -R: one string)
  -c, --compact-output      one line for each result
  -r, --raw-output          strings without quotes
      --raw-output0         -r, with a zero byte after each result
  -j, --join-output         -r, without line ends
  -a, --ascii-output        escapes for what is not ASCII
  -S, --sort-keys           keys of objects sorted
  -C, --color-output        colors
  -M, --monochrome-output   no colors
      --tab                 indent with tabs
      --indent n            indent with n spaces (at most 7)
      --unbuffered          accepted
      --stream              inputs as [path, leaf] events
      --seq                 JSON text sequences
  -f, --from-file           the first operand is the file of the filter
      --arg name value      $name is a string
      --argjson name json   $name is a JSON value
      --slurpfile name file $name is the array of the values of a file
      --rawfile name file   $name is the text of a file
      --args                the other operands are strings: $ARGS.positional
      --jsonargs            the other operands are JSON values
  -e, --exit-status         exit code 1 after null or false, 4 without a result
  -V, --version             the version
  -h, --help                this text
";

pub(super) fn parse(args: &[String]) -> Result<Request, String> {
    let mut options = Options::default();
    let mut program = None;
    let mut from_file = false;
    let mut rest = Rest::Files;
    let mut done = false;
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        let is_option = arg.starts_with("--")
            || arg
                .strip_prefix('-')
                .is_some_and(|rest| rest.starts_with(|char: char| char.is_ascii_alphabetic()));
        if done || !is_option {
            match rest {
                _ if program.is_none() => program = Some(arg.clone()),
                Rest::Files => options.files.push(arg.clone()),
                Rest::Texts => options.positional.push(arg.as_str().into()),
                Rest::Json => {
                    let value =
                        json::parse(arg).map_err(|_| "invalid JSON text passed to --jsonargs")?;
                    options.positional.push(value);
                }
            }
            continue;
        }
        if let Some(name) = arg.strip_prefix("--") {
            let mut parameters = |count: usize, usage: &str| {
                let taken: Vec<String> = args.by_ref().take(count).cloned().collect();
                if taken.len() == count {
                    Ok(taken)
                } else {
                    Err(format!("--{name} takes {usage}"))
                }
            };
            match name {
                "" => done = true,
                "args" => rest = Rest::Texts,
                "jsonargs" => rest = Rest::Json,
                "indent" => {
                    let number = parameters(1, "one parameter")?.concat();
                    options.indent = match number.parse::<i32>() {
                        Ok(-1) => Indent::Tab,
                        Ok(0) => Indent::None,
                        Ok(number @ 1..=7) => Indent::Spaces(number as usize),
                        _ => return Err("--indent takes a number between -1 and 7".to_owned()),
                    };
                }
                "tab" => options.indent = Indent::Tab,
                "arg" | "argjson" | "slurpfile" | "rawfile" => {
                    let [name_of_variable, value]: [String; 2] =
                        parameters(2, "two parameters: the name and the value")?
                            .try_into()
                            .map_err(|_| format!("--{name} takes two parameters"))?;
                    let variable = match name {
                        "arg" => Variable::Value(value.into()),
                        "argjson" => {
                            let reason = "invalid JSON text passed to --argjson";
                            Variable::Value(json::parse(&value).map_err(|_| reason)?)
                        }
                        "slurpfile" => Variable::SlurpFile(value),
                        _ => Variable::RawFile(value),
                    };
                    options.variables.push((name_of_variable, variable));
                }
                "stream" => options.stream = true,
                "seq" => options.sequence = true,
                "unbuffered" | "binary" => {}
                "raw-output0" => (options.raw, options.join, options.nul) = (true, true, true),
                "build-configuration" => return Ok(Request::Print("sandboxed\n".to_owned())),
                "stream-errors" | "library-path" | "run-tests" | "debug-trace"
                | "debug-dump-disasm" => {
                    return Err(format!("--{name} is not supported"));
                }
                name => {
                    let short = match name {
                        "slurp" => 's',
                        "raw-output" => 'r',
                        "join-output" => 'j',
                        "compact-output" => 'c',
                        "color-output" => 'C',
                        "monochrome-output" => 'M',
                        "ascii-output" => 'a',
                        "sort-keys" => 'S',
                        "raw-input" => 'R',
                        "null-input" => 'n',
                        "from-file" => 'f',
                        "exit-status" => 'e',
                        "help" => 'h',
                        "version" => 'V',
                        _ => return Err(format!("Unknown option --{name}")),
                    };
                    if let Some(text) = set(&mut options, &mut from_file, short, arg)? {
                        return Ok(Request::Print(text));
                    }
                }
            }
            continue;
        }
        for letter in arg.chars().skip(1) {
            if let Some(text) = set(&mut options, &mut from_file, letter, arg)? {
                return Ok(Request::Print(text));
            }
        }
    }
    match program {
        Some(program) if from_file => options.program_file = Some(program),
        Some(program) => options.program = program,
        None if from_file => return Err("-f takes the file of the filter".to_owned()),
        None => {}
    }
    Ok(Request::Run(Box::new(options)))
}

/// Sets a short option. Some print a text instead of running.
fn set(
    options: &mut Options,
    from_file: &mut bool,
    letter: char,
    arg: &str,
) -> Result<Option<String>, String> {
    match letter {
        's' => options.slurp = true,
        'r' => options.raw = true,
        'j' => (options.raw, options.join) = (true, true),
        'c' => options.indent = Indent::None,
        'C' => options.color = true,
        'M' => options.color = false,
        'a' => options.ascii = true,
        'S' => options.sort_keys = true,
        'R' => options.raw_input = true,
        'n' => options.null_input = true,
        'f' => *from_file = true,
        'e' => options.exit_status = true,
        'b' => {}
        'h' => return Ok(Some(HELP.to_owned())),
        'V' => return Ok(Some(format!("jq-{VERSION}\n"))),
        'L' => return Err("-L is not supported: modules cannot be imported here".to_owned()),
        _ => return Err(format!("Unknown option {arg}")),
    }
    Ok(None)
}
