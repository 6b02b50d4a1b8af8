//! `query`: runs jq on each value of a document.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::mem;
use std::time::{SystemTime, UNIX_EPOCH};

use jq_engine::json::{self, Indent, Style};
use jq_engine::{Object, Program, Stop, Surroundings, Val};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use toolhost_guest::{Context, ToolError};

use crate::fault;
use crate::formats::{csv, toml, yaml};
use crate::source::{self, Format};

/// The deepest nesting of a result that is a value: the host takes 64 levels of an output.
const MAX_DEPTH: usize = 62;

/// The deepest nesting of a result in a text.
const MAX_DEPTH_OF_TEXT: usize = 1_000;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Input {
    query: String,
    path: Option<String>,
    json: Option<String>,
    input_format: Option<Format>,
    #[serde(default)]
    slurp: bool,
    #[serde(default)]
    null_input: bool,
    #[serde(default)]
    args: Map<String, Value>,
    output_format: Option<Format>,
    #[serde(default)]
    sort_keys: bool,
    #[serde(default)]
    compact: bool,
    #[serde(default = "thousand")]
    max_results: usize,
    #[serde(default = "hundred_thousand")]
    max_bytes: usize,
}

fn thousand() -> usize {
    1_000
}

fn hundred_thousand() -> usize {
    100_000
}

#[derive(Serialize)]
pub(crate) struct Output {
    #[serde(skip_serializing_if = "Option::is_none")]
    results: Option<Vec<Box<RawValue>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    count: usize,
    /// There are more results; the query should select less.
    truncated: bool,
    /// What `debug` and `stderr` wrote.
    #[serde(skip_serializing_if = "String::is_empty")]
    messages: String,
}

/// Returns `{results, count, truncated}`, or `text` in place of the results.
pub(crate) fn query(_: &Context, input: Input) -> Result<Output, ToolError> {
    let variables = variables(&input.args)?;
    let program =
        Program::new(&input.query, variables).map_err(|rejected| fault::syntax(&rejected))?;
    let values = documents(&input)?;
    let run = Run {
        inputs: RefCell::new(values),
        path: input.path.clone(),
        messages: RefCell::default(),
    };
    let mut results = Results {
        values: Vec::new(),
        texts: Vec::new(),
        max_results: input.max_results,
        bytes_left: input.max_bytes,
        style: Style {
            sort_keys: input.sort_keys,
            ..Style::default()
        },
        max_depth: if input.output_format.is_some() {
            MAX_DEPTH_OF_TEXT
        } else {
            MAX_DEPTH
        },
        too_deep: false,
    };
    let mut truncated = false;
    let mut first = input.null_input.then_some(Val::Null);
    while let Some(value) = first.take().or_else(|| run.next()) {
        match program.run(value, &run, &mut |value| results.add(value)) {
            Ok(()) => {}
            Err(Stop::Enough) if results.too_deep => {
                return Err(fault::too_deep("a result", results.max_depth));
            }
            Err(Stop::Enough) => {
                truncated = true;
                break;
            }
            Err(Stop::Halt(0, None)) => break,
            Err(stop) => return Err(fault::run(&message(stop), results.values.len())),
        }
        if input.null_input {
            break;
        }
    }
    let messages = run.messages.take();
    let count = results.values.len();
    let output = match input.output_format {
        None => Output {
            results: Some(results.raw()),
            text: None,
            count,
            truncated,
            messages,
        },
        Some(format) => {
            let text = print(&results, format, &input).map_err(|reason| fault::output(&reason))?;
            Output {
                results: None,
                text: Some(text),
                count,
                truncated,
                messages,
            }
        }
    };
    // The memory goes back to the host with the instance; freeing each value takes longer.
    mem::forget((run.inputs, results.values, program));
    Ok(output)
}

/// The inputs of the program.
fn documents(input: &Input) -> Result<VecDeque<Val>, ToolError> {
    let (bytes, name) = match (&input.path, &input.json) {
        (Some(path), None) => (source::read(path)?, path.as_str()),
        (None, Some(json)) => (json.clone().into_bytes(), "json"),
        (None, None) if input.null_input => return Ok(VecDeque::new()),
        _ => return Err(fault::source()),
    };
    let format = input.input_format.unwrap_or_default();
    let mut values = if format == Format::Text && input.slurp {
        vec![String::from_utf8_lossy(&bytes).into_owned().into()]
    } else {
        source::parse(&bytes, format, name)?
    };
    if input.slurp && format != Format::Text {
        values = vec![values.into()];
    }
    Ok(values.into())
}

/// `$name` for each argument, and `$ARGS.named`.
fn variables(args: &Map<String, Value>) -> Result<Vec<(String, Val)>, ToolError> {
    let mut variables = Vec::with_capacity(args.len() + 1);
    for (name, value) in args {
        let value =
            json::parse(&value.to_string()).map_err(|reason| fault::document("args", &reason))?;
        variables.push((name.clone(), value));
    }
    let named: Object = variables
        .iter()
        .map(|(name, value)| (name.as_str().into(), value.clone()))
        .collect();
    let mut object = Object::new();
    object.insert("positional".into(), Vec::new().into());
    object.insert("named".into(), named.into());
    variables.push(("ARGS".to_owned(), object.into()));
    Ok(variables)
}

fn message(stop: Stop) -> String {
    match stop {
        Stop::Error(Val::Str(text)) => text.to_string(),
        Stop::Error(value) => json::print(&value),
        Stop::Halt(code, Some(value)) => format!("halted with {code}: {}", json::print(&value)),
        Stop::Halt(code, None) => format!("halted with {code}"),
        Stop::TooDeep => "the filters are nested too deep, or recurse without end".to_owned(),
        Stop::Break(_) | Stop::Enough => "break".to_owned(),
    }
}

fn print(results: &Results, format: Format, input: &Input) -> Result<String, String> {
    let lines = |style: &Style, raw: bool| {
        let mut out = String::new();
        for value in &results.values {
            match value {
                Val::Str(text) if raw => out.push_str(text),
                value => json::write(value, style, &mut out),
            }
            out.push('\n');
        }
        out
    };
    let indent = if input.compact {
        Indent::None
    } else {
        Indent::Spaces(2)
    };
    match format {
        Format::Json => Ok(lines(
            &Style {
                indent,
                ..results.style.clone()
            },
            false,
        )),
        Format::Text => Ok(lines(
            &Style {
                indent,
                ..results.style.clone()
            },
            true,
        )),
        Format::Yaml => Ok(yaml::print(&results.values)),
        Format::Toml => match results.values.as_slice() {
            [value] => toml::print(value),
            values => Err(format!(
                "TOML is one object, and there are {} results",
                values.len()
            )),
        },
        Format::Csv => csv::print(&results.values, csv::Dialect::Commas),
        Format::Tsv => csv::print(&results.values, csv::Dialect::Tabs),
    }
}

/// What the program asks for.
struct Run {
    inputs: RefCell<VecDeque<Val>>,
    path: Option<String>,
    messages: RefCell<String>,
}

/// The most bytes of messages that are returned.
const MAX_MESSAGES: usize = 10_000;

impl Run {
    fn next(&self) -> Option<Val> {
        self.inputs.borrow_mut().pop_front()
    }
}

impl Surroundings for Run {
    fn input(&self) -> Option<Result<Val, String>> {
        self.next().map(Ok)
    }

    fn input_filename(&self) -> Option<String> {
        self.path.clone()
    }

    fn input_line(&self) -> usize {
        0
    }

    fn stderr(&self, text: &str) {
        let mut messages = self.messages.borrow_mut();
        if messages.len() < MAX_MESSAGES {
            messages.push_str(text);
        }
    }

    fn environment(&self) -> Val {
        let variables = std::env::vars_os();
        let texts = variables.filter_map(|(name, value)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        });
        texts
            .map(|(name, value)| (name.into(), value.into()))
            .collect::<Object>()
            .into()
    }

    fn now(&self) -> f64 {
        SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(0.0, |since| since.as_secs_f64())
    }
}

/// Results within their bounds.
struct Results {
    values: Vec<Val>,
    texts: Vec<String>,
    max_results: usize,
    bytes_left: usize,
    style: Style,
    max_depth: usize,
    too_deep: bool,
}

impl Results {
    /// Adds a result, if there is room.
    fn add(&mut self, value: Val) -> Result<(), Stop> {
        if self.values.len() == self.max_results {
            return Err(Stop::Enough);
        }
        if is_deeper(&value, self.max_depth) {
            self.too_deep = true;
            return Err(Stop::Enough);
        }
        let mut text = String::new();
        json::write(&value, &self.style, &mut text);
        // With the comma.
        let bytes = text.len() + 1;
        if bytes > self.bytes_left {
            return Err(Stop::Enough);
        }
        self.bytes_left -= bytes;
        self.values.push(value);
        self.texts.push(text);
        Ok(())
    }

    fn raw(&mut self) -> Vec<Box<RawValue>> {
        let texts = mem::take(&mut self.texts);
        texts
            .into_iter()
            .map(|text| RawValue::from_string(text).unwrap_or_default())
            .collect()
    }
}

/// Whether a value has more levels than these.
fn is_deeper(value: &Val, levels: usize) -> bool {
    match (value, levels.checked_sub(1)) {
        (Val::Arr(_) | Val::Obj(_), None) => true,
        (Val::Arr(items), Some(levels)) => items.iter().any(|item| is_deeper(item, levels)),
        (Val::Obj(object), Some(levels)) => {
            object.iter().any(|(_, value)| is_deeper(value, levels))
        }
        _ => false,
    }
}
