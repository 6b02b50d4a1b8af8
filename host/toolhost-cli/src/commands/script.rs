//! `toolhost script`: runs a program over the tools of a bundle, and prints what it returns.

use std::path::Path;

use anyhow::{Context as _, anyhow};
use serde_json::{Value, json};
use tokio::io::AsyncReadExt as _;
use toolhost::{ResourceName, ScriptLanguage, ToolResult, ToolStatus};

use super::caller::{self, Runs};
use super::mcp_servers;
use crate::args::{INCLUDE_BASE, ScriptArgs};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::files;
use crate::host_context::StateRoot;
use crate::settings::Settings;
use crate::terminal::{stderr, stdout, text};

/// Id of the call.
const CALL_ID: &str = "call_1";

/// Largest program, in bytes: that of a tool's arguments.
const PROGRAM_MAX: u64 = 1 << 20;

pub(crate) async fn script(args: &ScriptArgs, settings: &Settings) -> Result<Exit, Failure> {
    let language = language_of(args)?;
    let code = program(&args.file).await?;
    let (_, input) = args.args.read_any().await?;
    let tool = language.tool();
    let runs = Runs::Program {
        tool: ResourceName::parse(tool)?,
        calls: &args.allow_tool,
    };
    let state = StateRoot::Optional;
    let caller = caller::open(&args.bundle, runs, &args.caller, state, settings).await?;
    let servers = mcp_servers::start(&caller.bundle, settings).await?;
    let turn = caller.instance.open_turn("turn").await?;
    let step = turn.open_step().await?;
    let name = format!("{tool}__script");
    if step.catalog().get(&name).is_none() {
        let error = anyhow!("the agent has no tool {name}, which runs the program");
        return Err(Failure::from(error).hint(INCLUDE_BASE));
    }
    let items = step.catalog().items().iter();
    let names: Vec<&str> = items.map(|item| item.name.as_str()).collect();
    for pattern in &args.allow_tool {
        if !names.iter().any(|name| pattern.matches(name)) {
            let error = anyhow!("--allow-tool {pattern}: the agent has no such tool");
            let hint = match pattern.closest(&names) {
                Some(similar) => format!("Did you mean '{similar}'?"),
                None => "`toolhost list` shows the tools.".to_owned(),
            };
            return Err(Failure::from(error).hint(hint));
        }
    }
    let result = step.execute_script(CALL_ID, language, code, input).await;
    print(&result, args)?;
    step.close(()).await?;
    turn.close(()).await?;
    servers.close().await;
    Ok(caller::exit(&result))
}

fn language_of(args: &ScriptArgs) -> Result<ScriptLanguage, Failure> {
    let ending = args.file.extension().and_then(|ending| ending.to_str());
    let by_name = match ending {
        Some("js" | "mjs") => Some(ScriptLanguage::JavaScript),
        Some("py") => Some(ScriptLanguage::Python),
        Some(_) | None => None,
    };
    args.lang.map(Into::into).or(by_name).ok_or_else(|| {
        let file = text::path(&args.file);
        Failure::from(anyhow!("the language of {file} is not known"))
            .hint("Pass --lang javascript or --lang python.")
    })
}

async fn program(file: &Path) -> Result<String, Failure> {
    let bytes = if file == Path::new("-") {
        let mut bytes = Vec::new();
        let mut stdin = tokio::io::stdin().take(PROGRAM_MAX + 1);
        let read = stdin.read_to_end(&mut bytes).await;
        read.context("the program cannot be read from stdin")?;
        if bytes.len() as u64 > PROGRAM_MAX {
            return Err(anyhow!("the program has more than {PROGRAM_MAX} bytes").into());
        }
        bytes
    } else {
        files::read_async("the program", file, PROGRAM_MAX).await?
    };
    let program = String::from_utf8(bytes).context("the program is not UTF-8")?;
    Ok(program)
}

/// Prints the result of a program, and what it printed.
fn print(result: &ToolResult, args: &ScriptArgs) -> anyhow::Result<()> {
    let output = result.output();
    let log = output.and_then(|output| output["log"].as_str());
    if let Some(log) = log.filter(|log| !log.is_empty()) {
        stderr::write(&text::source(log));
    }
    if args.caller.usage {
        return stdout::json(&result.to_receipt());
    }
    match (result.status(), output) {
        (ToolStatus::Ok, Some(output)) => {
            stdout::json(output.get("result").unwrap_or(&Value::Null))
        }
        _ => stdout::json(&json!(result)),
    }
}
