//! The command line of jq.

mod input;
mod options;

use std::cell::RefCell;
use std::io;

use crate::eval::Surroundings;
use crate::fault::Stop;
use crate::json::{self, Indent, Style};
use crate::object::Object;
use crate::program::{Program, Rejected};
use crate::value::Val;
use input::Inputs;
use options::{Options, Request, Variable};

/// The version whose language and options this is.
pub const VERSION: &str = "1.7.1";

/// The exit code for what the command line or a file has wrong.
const SYSTEM: i32 = 2;
const COMPILE: i32 = 3;
/// The exit code for an error of the program.
const PROGRAM: i32 = 5;

/// What the command is called with.
pub trait Caller {
    /// The bytes of a file.
    ///
    /// # Errors
    /// It cannot be read.
    fn read(&self, path: &str) -> io::Result<Vec<u8>>;
    fn environment(&self) -> Vec<(String, String)>;
    /// Seconds since 1970.
    fn now(&self) -> f64;
    /// The most bytes of stdout; the run ends with an error beyond them.
    fn max_output(&self) -> usize;
}

/// The result of a run.
#[derive(Debug, Default)]
pub struct Ran {
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
    pub code: i32,
}

/// Runs jq with the arguments after its name.
#[must_use]
pub fn run(args: &[String], stdin: &[u8], caller: &dyn Caller) -> Ran {
    match options::parse(args) {
        Ok(Request::Run(options)) => execute(&options, stdin, caller),
        Ok(Request::Print(text)) => Ran {
            stdout: text.into_bytes(),
            ..Ran::default()
        },
        Err(reason) => Ran {
            stderr: format!("jq: {reason}\nUse jq --help for help with command-line options.\n")
                .into_bytes(),
            code: SYSTEM,
            ..Ran::default()
        },
    }
}

/// What a run of the program on one input came to; the order is that of jq's exit codes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Outcome {
    True,
    /// The last result is null or false.
    False,
    None,
    Code(i32),
}

fn execute(options: &Options, stdin: &[u8], caller: &dyn Caller) -> Ran {
    let fail = |code, text: String| Ran {
        stderr: text.into_bytes(),
        code,
        ..Ran::default()
    };
    let variables = match variables(options, caller) {
        Ok(variables) => variables,
        Err(reason) => return fail(SYSTEM, format!("jq: {reason}\n")),
    };
    let text = match &options.program_file {
        Some(path) => match caller.read(path) {
            Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
            Err(error) => return fail(SYSTEM, format!("jq: {}\n", could_not_open(path, &error))),
        },
        None => options.program.clone(),
    };
    let program = match Program::new(&text, variables) {
        Ok(program) => program,
        Err(rejected) => return fail(COMPILE, report(&text, &rejected)),
    };
    let style = Style {
        indent: options.indent,
        sort_keys: options.sort_keys,
        ascii: options.ascii,
        colors: options.color.then(|| colors(caller)),
    };
    let run = Run {
        options,
        style,
        caller,
        inputs: RefCell::new(Inputs::new(options, stdin)),
        stdout: RefCell::default(),
        stderr: RefCell::default(),
    };
    let code = run.all(&program);
    Ran {
        stdout: run.stdout.into_inner().into_bytes(),
        stderr: run.stderr.into_inner().into_bytes(),
        code,
    }
}

fn could_not_open(path: &str, error: &io::Error) -> String {
    let reason = match error.kind() {
        io::ErrorKind::NotFound => "No such file or directory".to_owned(),
        io::ErrorKind::PermissionDenied => "Permission denied".to_owned(),
        io::ErrorKind::IsADirectory => "It's a directory".to_owned(),
        _ => error.to_string(),
    };
    format!("Could not open {path}: {reason}")
}

fn report(text: &str, rejected: &Rejected) -> String {
    let Rejected {
        reason,
        line,
        column,
        ..
    } = rejected;
    let shown = text.lines().nth(line.saturating_sub(1)).unwrap_or_default();
    format!(
        "jq: error: {reason} at <top-level>, line {line}, column {column}:\n{shown}\njq: 1 compile error\n"
    )
}

/// The variables of the program.
fn variables(options: &Options, caller: &dyn Caller) -> Result<Vec<(String, Val)>, String> {
    let mut named = Object::new();
    for (name, variable) in &options.variables {
        if named.get(name).is_some() {
            continue;
        }
        let value = match variable {
            Variable::Value(value) => value.clone(),
            Variable::RawFile(path) => file(caller, "rawfile", name, path, |bytes| {
                Ok(String::from_utf8_lossy(bytes).into_owned().into())
            })?,
            Variable::SlurpFile(path) => file(caller, "slurpfile", name, path, |bytes| {
                let mut reader = json::Reader::new(bytes);
                let values =
                    std::iter::from_fn(|| reader.next_value()).collect::<Result<Vec<_>, _>>();
                values.map(Val::from)
            })?,
        };
        named.insert(name.as_str().into(), value);
    }
    let mut variables: Vec<(String, Val)> = named
        .iter()
        .map(|(name, value)| (name.to_string(), value.clone()))
        .collect();
    let mut args = Object::new();
    args.insert("positional".into(), options.positional.clone().into());
    args.insert("named".into(), named.into());
    variables.push(("ARGS".to_owned(), args.into()));
    Ok(variables)
}

fn file(
    caller: &dyn Caller,
    option: &str,
    name: &str,
    path: &str,
    read: impl FnOnce(&[u8]) -> Result<Val, String>,
) -> Result<Val, String> {
    let bytes = caller
        .read(path)
        .map_err(|error| could_not_open(path, &error));
    bytes
        .and_then(|bytes| read(&bytes))
        .map_err(|reason| format!("Bad JSON in --{option} {name} {path}: {reason}"))
}

/// The colors of null, false, true, numbers, texts, arrays, objects and keys; `JQ_COLORS` changes them.
fn colors(caller: &dyn Caller) -> Box<[String; 8]> {
    let mut colors = [
        "0;90", "0;39", "0;39", "0;39", "0;32", "1;39", "1;39", "1;34",
    ]
    .map(String::from);
    let environment = caller.environment();
    if let Some((_, chosen)) = environment.iter().find(|(name, _)| name == "JQ_COLORS") {
        let is_valid = chosen
            .bytes()
            .all(|byte| byte.is_ascii_digit() || byte == b';' || byte == b':');
        for (color, chosen) in colors
            .iter_mut()
            .zip(chosen.split(':'))
            .filter(|_| is_valid)
        {
            chosen.clone_into(color);
        }
    }
    Box::new(colors.map(|color| format!("\x1b[{color}m")))
}

struct Run<'r> {
    options: &'r Options,
    style: Style,
    caller: &'r dyn Caller,
    inputs: RefCell<Inputs<'r>>,
    stdout: RefCell<String>,
    stderr: RefCell<String>,
}

impl Surroundings for Run<'_> {
    fn input(&self) -> Option<Result<Val, String>> {
        self.inputs.borrow_mut().next(self.caller)
    }

    fn input_filename(&self) -> Option<String> {
        self.inputs.borrow().filename()
    }

    fn input_line(&self) -> usize {
        self.inputs.borrow_mut().line()
    }

    fn stderr(&self, text: &str) {
        self.stderr.borrow_mut().push_str(text);
    }

    fn environment(&self) -> Val {
        let variables = self.caller.environment();
        variables
            .into_iter()
            .map(|(name, value)| (name.into(), value.into()))
            .collect::<Object>()
            .into()
    }

    fn now(&self) -> f64 {
        self.caller.now()
    }
}

impl Run<'_> {
    /// Runs the program on all inputs, and returns the exit code.
    fn all(&self, program: &Program) -> i32 {
        let mut outcome = Outcome::None;
        let mut last = None;
        if self.options.null_input {
            (outcome, _) = self.process(program, Val::Null);
        } else {
            while self.inputs.borrow().failures() == 0 {
                let next = self.inputs.borrow_mut().next(self.caller);
                match next {
                    None => break,
                    Some(Err(reason)) => {
                        self.stderr(&format!("jq: parse error: {reason}\n"));
                        outcome = Outcome::Code(PROGRAM);
                        break;
                    }
                    Some(Ok(value)) => {
                        let halted;
                        (outcome, halted) = self.process(program, value);
                        match outcome {
                            Outcome::True | Outcome::Code(0) => last = Some(true),
                            Outcome::False => last = Some(false),
                            _ => {}
                        }
                        if halted {
                            break;
                        }
                    }
                }
            }
        }
        let mut inputs = self.inputs.borrow_mut();
        self.stderr.borrow_mut().push_str(&inputs.take_messages());
        if inputs.failures() > 0 {
            return SYSTEM;
        }
        match (outcome, self.options.exit_status) {
            (Outcome::Code(code), _) => code,
            (_, false) | (Outcome::True, true) => 0,
            (Outcome::False, true) => 1,
            (Outcome::None, true) => match last {
                Some(true) => 0,
                Some(false) => 1,
                None => 4,
            },
        }
    }

    /// Runs the program on one input; whether it ended all.
    fn process(&self, program: &Program, input: Val) -> (Outcome, bool) {
        let mut outcome = Outcome::None;
        let result = program.run(input, self, &mut |value| {
            outcome = if value.is_true() || matches!(value, Val::Str(_)) {
                Outcome::True
            } else {
                Outcome::False
            };
            self.print(&value)
        });
        let message = match result {
            Ok(()) => return (outcome, false),
            Err(Stop::Halt(code, message)) => {
                match message {
                    Some(Val::Str(text)) => self.stderr(&text),
                    Some(Val::Null) | None => {}
                    Some(other) => self.stderr(&format!("{}\n", json::print(&other))),
                }
                return (Outcome::Code(code), true);
            }
            Err(Stop::Enough) => {
                self.stderr(&format!(
                    "jq: error: more than {} bytes of output\n",
                    self.caller.max_output()
                ));
                return (Outcome::Code(PROGRAM), true);
            }
            Err(Stop::TooDeep) => {
                Val::from("the filters are nested too deep, or recurse without end")
            }
            Err(Stop::Error(message)) => message,
            Err(Stop::Break(_)) => Val::from("break"),
        };
        let place = self.inputs.borrow_mut().position();
        match message {
            Val::Str(text) => self.stderr(&format!("jq: error (at {place}): {text}\n")),
            other => self.stderr(&format!(
                "jq: error (at {place}) (not a string): {}\n",
                json::print(&other)
            )),
        }
        (Outcome::Code(PROGRAM), false)
    }

    fn print(&self, value: &Val) -> Result<(), Stop> {
        let mut out = self.stdout.borrow_mut();
        match value {
            Val::Str(text) if self.options.raw && !self.options.ascii => {
                if self.options.nul && text.contains('\0') {
                    let reason = "Cannot dump a string containing NUL with --raw-output0 option";
                    return Err(Stop::Error(Val::from(reason)));
                }
                out.push_str(text);
            }
            value => {
                if self.options.sequence {
                    out.push('\u{1e}');
                }
                json::write(value, &self.style, &mut out);
            }
        }
        if !self.options.join {
            out.push('\n');
        }
        if self.options.nul {
            out.push('\0');
        }
        if out.len() > self.caller.max_output() {
            Err(Stop::Enough)
        } else {
            Ok(())
        }
    }
}

impl Default for Options {
    fn default() -> Self {
        Self {
            program: ".".to_owned(),
            program_file: None,
            files: Vec::new(),
            variables: Vec::new(),
            positional: Vec::new(),
            indent: Indent::Spaces(2),
            sort_keys: false,
            ascii: false,
            color: false,
            raw: false,
            join: false,
            nul: false,
            sequence: false,
            exit_status: false,
            null_input: false,
            raw_input: false,
            slurp: false,
            stream: false,
        }
    }
}
