//! `--print-config`: what the configuration of a client needs for the server.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::endpoint::Endpoint;
use crate::args::{McpClient, ServeArgs, ServedTools};
use crate::base::{BASE, is_base};
use crate::failure::Failure;
use crate::settings::Settings;
use crate::terminal::stdout;

/// Name of the server in the configuration of clients.
const SERVER: &str = "toolhost";

/// The package of the command line, at PyPI and npm.
const PACKAGE: &str = "toolhost-cli";

/// The folders in which `uvx` and `npx` install programs.
const UVX_CACHE: &str = "archive-v0";
const NPX_CACHE: &str = "_npx";

/// The environment variable from which clients read the token.
const TOKEN: &str = "TOOLHOST_TOKEN";

/// The name of the token among the inputs that VS Code asks for.
const TOKEN_INPUT: &str = "toolhost-token";

/// Prints the snippet of a client, and notes where it belongs.
pub(super) fn print(
    args: &ServeArgs,
    client: McpClient,
    settings: &Settings,
) -> Result<(), Failure> {
    let server = match Endpoint::of(args)? {
        Some(endpoint) => Server::Http(endpoint),
        None => Server::Stdio(command(args, settings)?),
    };
    for note in notes(args, client, &server) {
        settings.note(&note);
    }
    Ok(match client {
        McpClient::ClaudeCode => stdout::write(&claude_code(&server)),
        McpClient::Inspector => stdout::write(&inspector(&server)),
        McpClient::Cursor => stdout::json(&cursor(&server)),
        McpClient::Vscode => stdout::json(&vscode(&server)),
    }?)
}

/// How the client starts or reaches the server.
enum Server {
    /// The words of a command.
    Stdio(Vec<String>),
    Http(Endpoint),
}

fn claude_code(server: &Server) -> String {
    match server {
        Server::Stdio(command) => format!("claude mcp add {SERVER} -- {}", shell(command)),
        Server::Http(endpoint) => {
            let (url, header) = (word(&endpoint.url), header_option(endpoint));
            format!("claude mcp add --transport http {SERVER} {url}{header}")
        }
    }
}

fn inspector(server: &Server) -> String {
    let inspector = "npx @modelcontextprotocol/inspector";
    match server {
        Server::Stdio(command) => format!("{inspector} {}", shell(command)),
        Server::Http(endpoint) => {
            let (url, header) = (word(&endpoint.url), header_option(endpoint));
            format!("{inspector} --transport http --server-url {url}{header}")
        }
    }
}

/// The option with which a shell passes the token of the environment.
fn header_option(endpoint: &Endpoint) -> String {
    if endpoint.needs_token {
        format!(" --header \"Authorization: Bearer ${TOKEN}\"")
    } else {
        String::new()
    }
}

fn cursor(server: &Server) -> Value {
    let entry = match server {
        Server::Stdio(command) => of_command(command),
        Server::Http(endpoint) => of_url(endpoint, &format!("${{env:{TOKEN}}}")),
    };
    json!({ "mcpServers": { SERVER: entry } })
}

fn vscode(server: &Server) -> Value {
    let (mut entry, kind) = match server {
        Server::Stdio(command) => (of_command(command), "stdio"),
        Server::Http(endpoint) => {
            let token = format!("${{input:{TOKEN_INPUT}}}");
            (of_url(endpoint, &token), "http")
        }
    };
    stdout::set(&mut entry, "type", kind);
    let mut config = json!({ "servers": { SERVER: entry } });
    if let Server::Http(endpoint) = server
        && endpoint.needs_token
    {
        let input = json!({
            "type": "promptString", "id": TOKEN_INPUT, "description": "Token of toolhost", "password": true,
        });
        stdout::set(&mut config, "inputs", json!([input]));
    }
    config
}

fn of_command(command: &[String]) -> Value {
    match command {
        [program, args @ ..] => json!({ "command": program, "args": args }),
        [] => json!({}),
    }
}

fn of_url(endpoint: &Endpoint, token: &str) -> Value {
    let mut entry = json!({ "url": endpoint.url });
    if endpoint.needs_token {
        let value = format!("Bearer {token}");
        stdout::set(&mut entry, "headers", json!({ "Authorization": value }));
    }
    entry
}

/// What a person must do besides, in sentences for stderr.
fn notes(args: &ServeArgs, client: McpClient, server: &Server) -> Vec<String> {
    let mut notes = Vec::new();
    match client {
        McpClient::Cursor => notes.push(
            "this belongs into .cursor/mcp.json of the project, or ~/.cursor/mcp.json".to_owned(),
        ),
        McpClient::Vscode => {
            notes.push("this belongs into .vscode/mcp.json of the project".to_owned())
        }
        McpClient::ClaudeCode | McpClient::Inspector => {}
    }
    let Server::Http(endpoint) = server else {
        return notes;
    };
    if let Some(issuer) = &args.oauth_issuer {
        notes.push(format!("the client signs in at {issuer}"));
        return notes;
    }
    let is_everywhere = args
        .http
        .is_some_and(|address| address.ip().is_unspecified());
    if is_everywhere && args.allow_host.is_empty() {
        let note = format!(
            "{} is for clients on this machine; for others, name it with --allow-host",
            endpoint.url
        );
        notes.push(note);
    }
    if endpoint.needs_token {
        let of_file = args
            .tokens
            .as_ref()
            .map(|file| format!("a token of {}", file.display()));
        let token = of_file.unwrap_or_else(|| {
            "the token that the server prints, another one at each start: --tokens FILE keeps them".to_owned()
        });
        notes.push(match client {
            McpClient::Vscode => format!("VS Code asks for the token: {token}"),
            McpClient::ClaudeCode | McpClient::Cursor | McpClient::Inspector => {
                format!("set the environment variable {TOKEN} to {token}")
            }
        });
    }
    notes
}

/// Returns the command that starts this server from any directory.
fn command(args: &ServeArgs, settings: &Settings) -> Result<Vec<String>> {
    let program = std::env::current_exe().context("the path of this program is not known")?;
    let mut command = launcher(&program);
    let bundle = if is_base(&args.bundle) {
        BASE.to_owned()
    } else {
        absolute(&args.bundle)?
    };
    command.extend(["serve".to_owned(), bundle]);
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
    if let Some(subject) = &args.subject {
        option("--subject", subject.clone());
    }
    if let Some(policy) = &args.policy {
        option("--policy", absolute(policy)?);
    }
    for rule in &args.allow_http {
        option("--allow-http", rule.to_string());
    }
    if let Some(root) = settings.dirs.own_state_root() {
        option("--state-root", absolute(root)?);
    }
    if let Some(file) = &settings.ca_file {
        option("--ca-file", absolute(file)?);
    }
    if args.tools == ServedTools::Search {
        option("--tools", "search".to_owned());
    }
    if args.watch {
        command.push("--watch".to_owned());
    }
    if args.serve_workdir {
        command.push("--serve-workdir".to_owned());
    }
    Ok(command)
}

/// Returns the words that start this program. A cache of `uvx` or `npx` may be cleared: they fill it again.
fn launcher(program: &Path) -> Vec<String> {
    let is_in = |folder: &str| program.iter().any(|part| part == folder);
    let words: &[&str] = if is_in(UVX_CACHE) {
        &["uvx", "--from", PACKAGE, "toolhost"]
    } else if is_in(NPX_CACHE) {
        &["npx", "-y", PACKAGE]
    } else {
        return vec![text(program)];
    };
    words.iter().map(|&word| word.to_owned()).collect()
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
    let quoted = command.iter().map(|text| word(text));
    quoted.collect::<Vec<_>>().join(" ")
}

/// Returns one word as a shell reads it.
fn word(text: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./=:@,+".contains(&byte);
    if !text.is_empty() && text.bytes().all(is_plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_in_a_cache_of_a_launcher_is_started_by_the_launcher() {
        let check = |program: &str, expected: &str| {
            assert_eq!(shell(&launcher(Path::new(program))), expected);
        };
        check("/usr/bin/toolhost", "/usr/bin/toolhost");
        check("/home/me/.venv/bin/toolhost", "/home/me/.venv/bin/toolhost");
        let uvx = "uvx --from toolhost-cli toolhost";
        check("/home/me/.cache/uv/archive-v0/x1Y2/bin/toolhost", uvx);
        let npx = "/home/me/.npm/_npx/f3/node_modules/toolhost-cli-linux-x64-gnu/toolhost";
        check(npx, "npx -y toolhost-cli");
    }
}
