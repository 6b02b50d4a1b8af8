//! Calls other tools. `run {steps}` does one step after the other and returns what each came to, `{ok}` or `{error}`.

use serde::Deserialize;
use toolhost_guest::tools::{self, Call, CallError, Tool};
use toolhost_guest::{Context, ToolError, Value, handlers, json};

/// One step.
#[derive(Deserialize)]
#[serde(tag = "do", rename_all = "camelCase", rename_all_fields = "camelCase")]
enum Step {
    /// Calls a tool and waits for it.
    Call {
        tool: String,
        args: Value,
    },
    /// Calls a tool this many times, with this many calls at once.
    Many {
        tool: String,
        args: Value,
        times: usize,
        at_once: usize,
    },
    /// Starts a call, and cancels it once another one has ended.
    Cancel {
        tool: String,
        args: Value,
    },
    /// Starts a call that nobody waits for.
    Leave {
        tool: String,
        args: Value,
    },
    Names,
    Describe {
        tool: String,
    },
    Search {
        query: String,
    },
    /// Writes a file of the workdir itself.
    Write {
        path: String,
        text: String,
    },
    Read {
        path: String,
    },
    Fail,
    Trap,
    Spin,
}

#[derive(Deserialize)]
struct Args {
    steps: Vec<Step>,
}

fn run(_: &Context, args: Args) -> Result<Value, ToolError> {
    let mut left = Vec::new();
    let mut answers = Vec::new();
    for step in args.steps {
        let answer = match step {
            Step::Call { tool, args } => tools::call(&tool, &args),
            Step::Many {
                tool,
                args,
                times,
                at_once,
            } => Ok(many(&tool, &args, times, at_once)),
            Step::Cancel { tool, args } => tools::start(&tool, &args).and_then(|call| {
                call.cancel();
                call.wait()
            }),
            Step::Leave { tool, args } => tools::start(&tool, &args).map(|call| {
                let id = call.id();
                left.push(call);
                json!(id)
            }),
            Step::Names => tools::names()
                .map(|names| json!(names))
                .map_err(CallError::from),
            Step::Describe { tool } => tools::describe(&tool).map(shown),
            Step::Search { query } => tools::search(&query, 5)
                .map(|tools| tools.into_iter().map(shown).collect())
                .map_err(CallError::from),
            Step::Write { path, text } => std::fs::write(path, text)
                .map(|()| Value::Null)
                .map_err(|error| ToolError::from(error).into()),
            Step::Read { path } => std::fs::read_to_string(path)
                .map(Value::from)
                .map_err(|error| ToolError::from(error).into()),
            Step::Fail => return Err(ToolError::new("asked to fail")),
            Step::Trap => panic!("asked to trap"),
            Step::Spin => loop {
                std::hint::spin_loop();
            },
        };
        answers.push(match answer {
            Ok(output) => json!({"ok": output}),
            Err(failure) => json!({"error": {
                "code": failure.code(),
                "message": failure.error.message,
                "suggestion": failure.error.suggestion,
                "parameters": failure.parameters,
            }}),
        });
    }
    Ok(Value::from(answers))
}

fn shown(tool: Tool) -> Value {
    json!({
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.parameters,
        "outputSchema": tool.output_schema,
    })
}

/// Returns how many calls succeeded, and the codes of the others.
fn many(tool: &str, args: &Value, times: usize, at_once: usize) -> Value {
    let (mut succeeded, mut codes) = (0, Vec::new());
    let mut running: Vec<Call> = Vec::new();
    let mut started = 0;
    while started < times || !running.is_empty() {
        while started < times && running.len() < at_once {
            started += 1;
            match tools::start(tool, args) {
                Ok(call) => running.push(call),
                Err(failure) => codes.push(failure.code().to_owned()),
            }
        }
        let mut ended = tools::wait_any(&running);
        ended.sort_unstable();
        for index in ended.into_iter().rev() {
            match running.swap_remove(index).wait() {
                Ok(_) => succeeded += 1,
                Err(failure) => codes.push(failure.code().to_owned()),
            }
        }
    }
    codes.sort();
    json!({"succeeded": succeeded, "codes": codes})
}

handlers! { "run" => run }
