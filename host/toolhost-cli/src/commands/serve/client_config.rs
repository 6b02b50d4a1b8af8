//! `--print-config`: what the configuration of a client needs for the server.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde_json::{Value, json};

use crate::args::{Client, ServeArgs};
use crate::settings::Settings;
use crate::terminal::stdout;

/// Name of the server in the configuration of clients.
const SERVER: &str = "toolhost";

/// Prints the snippet of a client, and notes where it belongs.
pub(super) fn print(args: &ServeArgs, client: Client, settings: &Settings) -> Result<()> {
    let command = command(args, settings)?;
    let url = args.http.map(|address| format!("http://{address}/mcp"));
    match client {
        Client::ClaudeCode => stdout::write(&match &url {
            Some(url) => format!("claude mcp add --transport http {SERVER} {url}"),
            None => format!("claude mcp add {SERVER} -- {}", shell(&command)),
        }),
        Client::Inspector => stdout::write(&match &url {
            Some(url) => {
                format!("npx @modelcontextprotocol/inspector --transport http --server-url {url}")
            }
            None => format!("npx @modelcontextprotocol/inspector {}", shell(&command)),
        }),
        Client::Cursor => {
            settings
                .note("this belongs into .cursor/mcp.json of the project, or ~/.cursor/mcp.json");
            stdout::json(
                &json!({ "mcpServers": { SERVER: server(&command, url.as_deref(), None) } }),
            )
        }
        Client::Vscode => {
            settings.note("this belongs into .vscode/mcp.json of the project");
            let kind = if url.is_some() { "http" } else { "stdio" };
            stdout::json(
                &json!({ "servers": { SERVER: server(&command, url.as_deref(), Some(kind)) } }),
            )
        }
    }
}

fn server(command: &[String], url: Option<&str>, kind: Option<&str>) -> Value {
    let mut server = match (url, command) {
        (Some(url), _) => json!({ "url": url }),
        (None, [program, args @ ..]) => json!({ "command": program, "args": args }),
        (None, []) => json!({}),
    };
    if let Some(kind) = kind {
        stdout::set(&mut server, "type", json!(kind));
    }
    server
}

/// Returns the command that starts this server from any directory.
fn command(args: &ServeArgs, settings: &Settings) -> Result<Vec<String>> {
    let program = std::env::current_exe().context("the path of this program is not known")?;
    let mut command = vec![text(&program), "serve".to_owned(), absolute(&args.bundle)?];
    let mut option = |name: &str, value: String| command.extend([name.to_owned(), value]);
    if let Some(agent) = &args.agent {
        option("--agent", agent.clone());
    }
    if let Some(dir) = &args.workdir {
        option("--workdir", absolute(dir)?);
    }
    if args.instance != "default" {
        option("--instance", args.instance.clone());
    }
    if let Some(policy) = &args.policy {
        option("--policy", absolute(policy)?);
    }
    if let Some(root) = &settings.dirs.state_root {
        option("--state-root", absolute(root)?);
    }
    if args.watch {
        command.push("--watch".to_owned());
    }
    if args.serve_workdir {
        command.push("--serve-workdir".to_owned());
    }
    Ok(command)
}

fn absolute(path: &Path) -> Result<String> {
    let absolute: PathBuf = std::path::absolute(path)
        .with_context(|| format!("the path {} is not known", path.display()))?;
    Ok(text(&absolute))
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// Returns a command as a shell reads it.
fn shell(command: &[String]) -> String {
    let quoted = command.iter().map(|word| {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./=:@,+".contains(&byte);
        if !word.is_empty() && word.bytes().all(is_plain) {
            word.clone()
        } else {
            format!("'{}'", word.replace('\'', r"'\''"))
        }
    });
    quoted.collect::<Vec<_>>().join(" ")
}
