//! An agent in a child process, for tests: each event has the operation that it performs.
//!
//! `helper agent-child` uses the library; with `earlier`, it implements the earlier protocol itself;
//! with `deaf`, it answers and ignores a shutdown; with `host STATE_ROOT`, it is a host with
//! an agent that hangs and one in a child process: it prints the process id of that child when twenty
//! events are accepted, and waits until it is killed.

use std::io::{BufRead, Write};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use toolhost::ResourceName;
use toolhost::agents::{
    AgentEvent, AgentRuntime, AgentSetup, AgentsError, EventSource, HandlerError, Message, Mode,
    Orchestrator, OrchestratorConfig, ProcessSetup, Request, TurnPort, async_trait, child,
};

pub(crate) fn run(arguments: &[String]) -> Result<(), Box<dyn std::error::Error>> {
    match arguments.first().map(String::as_str) {
        Some("earlier") => earlier(),
        Some("deaf") => deaf(),
        Some("host") => tokio::runtime::Runtime::new()?.block_on(host(arguments.get(1))),
        Some(_) | None => {
            let runtime = tokio::runtime::Runtime::new()?;
            let serve = child::serve(Arc::new(Agent), tokio::io::stdin(), tokio::io::stdout());
            let served = runtime.block_on(serve);
            runtime.shutdown_background();
            Ok(served?)
        }
    }
}

struct Agent;

#[async_trait]
impl AgentRuntime for Agent {
    async fn on_event(&self, event: AgentEvent, turn: &TurnPort) -> Result<Value, HandlerError> {
        let input = event.input.clone().unwrap_or_default();
        let text = |key: &str| input.get(key).and_then(Value::as_str).unwrap_or_default();
        let agents = turn.agents();
        match text("do") {
            "ask" => {
                let answer = agents.request(request(&input)).await;
                Ok(answer.map_or_else(failure, |answer| json!(answer)))
            }
            "fan" => fan(&input, turn).await,
            "send" => {
                let message = Message::new(text("target"), part(&input, "input"));
                let sent = agents.send(message).await;
                Ok(sent.map_or_else(failure, |sent| json!(sent)))
            }
            "spawn" => {
                let spawned = agents.spawn(text("target"), Some("k/spawned")).await;
                Ok(spawned.map_or_else(failure, |spawned| json!(spawned)))
            }
            "list" => Ok(agents.list().await.map_or_else(failure, |all| json!(all))),
            "catalog" => Ok(agents
                .catalog()
                .await
                .map_or_else(failure, |all| json!(all))),
            "take" => {
                let taken = agents.take_responses().await;
                Ok(taken.map_or_else(failure, |taken| json!(taken)))
            }
            "event" => Ok(json!(event)),
            "attempt" => Ok(json!(turn.attempt())),
            "pid" => Ok(json!(std::process::id())),
            "env" => Ok(json!(std::env::vars().collect::<Vec<_>>())),
            "fail" => Err(HandlerError {
                message: text("why").to_owned(),
                code: Some(match text("code") {
                    "" => "ENO".to_owned(),
                    code => code.to_owned(),
                }),
                help_url: Some(text("page").to_owned()).filter(|page| !page.is_empty()),
                ..HandlerError::default()
            }),
            // Writes `lines` lines to its standard error.
            "grumble" => {
                let lines: String = (1..=number(&input, "lines"))
                    .map(|n| format!("no {n}\n"))
                    .collect();
                let _ = std::io::stderr().write_all(lines.as_bytes());
                Ok(json!("grumbled"))
            }
            "die" => die(),
            "hang" => std::future::pending().await,
            // Writes its event and its process id to a file and hangs, only the first time.
            "hang-once" => {
                let note = Path::new(text("note"));
                if !note.exists() {
                    let noted = json!({"pid": std::process::id(), "event": event});
                    write_atomically(note, &noted.to_string());
                    std::future::pending::<()>().await;
                }
                Ok(json!({"attempt": turn.attempt(), "id": event.id}))
            }
            // Writes raw lines to its standard output, beside those of the library.
            "say" => {
                let mut out = std::io::stdout();
                for line in input
                    .get("lines")
                    .and_then(Value::as_array)
                    .into_iter()
                    .flatten()
                {
                    let _ = writeln!(out, "{}", line.as_str().unwrap_or_default());
                }
                let _ = out.write_all("x".repeat(number(&input, "long")).as_bytes());
                let _ = writeln!(out);
                let _ = out.flush();
                tokio::time::sleep(Duration::from_millis(20)).await;
                Ok(json!("said"))
            }
            "fork" => {
                let child = std::process::Command::new("/bin/sleep").arg("1000").spawn();
                Ok(json!([
                    std::process::id(),
                    child.map(|child| child.id()).unwrap_or(0)
                ]))
            }
            _ => Ok(input),
        }
    }
}

fn request(input: &Value) -> Request {
    let target = input.get("target").and_then(Value::as_str);
    let mut request = Request::new(target.unwrap_or_default(), part(input, "input"));
    if input.get("async") == Some(&json!(true)) {
        request.mode = Mode::Async;
    }
    if let Some(timeout) = input.get("timeoutMs").and_then(Value::as_u64) {
        request.timeout = Duration::from_millis(timeout);
    }
    request
}

#[expect(clippy::disallowed_methods, reason = "a process that ends in its turn")]
fn die() -> ! {
    std::process::exit(3)
}

/// Sends many concurrent requests; returns the number of correct answers.
async fn fan(input: &Value, turn: &TurnPort) -> Result<Value, HandlerError> {
    let mut requests = tokio::task::JoinSet::new();
    for n in 0..number(input, "times") {
        let agents = turn.agents().clone();
        let mut request = request(input);
        request.input = json!(n);
        requests.spawn(async move {
            let answer = agents.request(request).await;
            answer.is_ok_and(|answer| answer.response == json!(n))
        });
    }
    let answered = requests.join_all().await;
    Ok(json!(answered.into_iter().filter(|right| *right).count()))
}

fn failure(error: AgentsError) -> Value {
    json!({"code": error.code().as_str(), "message": error.to_string()})
}

fn part(input: &Value, key: &str) -> Value {
    input.get(key).cloned().unwrap_or_default()
}

fn number(input: &Value, key: &str) -> usize {
    let number = input.get(key).and_then(Value::as_u64).unwrap_or_default();
    usize::try_from(number).unwrap_or_default()
}

/// Writes a file atomically.
fn write_atomically(path: &Path, text: &str) {
    let half = path.with_extension("half");
    if std::fs::write(&half, text).is_ok() {
        let _ = std::fs::rename(&half, path);
    }
}

/// Delegates its input to the agent `input.target` with a `delegate`, and answers with the
/// `delegate_result`.
fn earlier() -> Result<(), Box<dyn std::error::Error>> {
    let mut request: Option<Value> = None;
    for line in std::io::stdin().lock().lines() {
        let message: Value = serde_json::from_str(&line?)?;
        let reply = match message.get("type").and_then(Value::as_str) {
            Some("event") => {
                let target = message.pointer("/payload/input/target").cloned();
                let payload = message.pointer("/payload/input/input").cloned();
                request = message.get("payload").cloned();
                json!({
                    "type": "delegate", "from": "anyone", "to": target, "payload": payload,
                    "correlationId": "d-1",
                })
            }
            Some("delegate_result") => {
                let request = request.take().unwrap_or_default();
                json!({
                    "type": "delegate_result", "from": "anyone", "to": "anyone",
                    "payload": {"status": "ok", "output": message},
                    "correlationId": request.pointer("/replyTo/correlationId"),
                })
            }
            _ => return Ok(()),
        };
        let mut out = std::io::stdout();
        writeln!(out, "{reply}")?;
        out.flush()?;
    }
    Ok(())
}

/// Answers with its process id and never ends.
fn deaf() -> Result<(), Box<dyn std::error::Error>> {
    for line in std::io::stdin().lock().lines() {
        let message: Value = serde_json::from_str(&line?)?;
        let Some(correlation_id) = message.pointer("/payload/replyTo/correlationId") else {
            continue;
        };
        let response = json!({
            "id": "r", "type": "agent.response", "createdAt": "2026-11-21T05:00:00.000Z",
            "source": {"kind": "agent", "name": "deaf"}, "input": std::process::id(),
            "metadata": {"inReplyTo": correlation_id},
        });
        let reply = json!({"type": "event", "from": "deaf", "to": "user", "payload": response});
        let mut out = std::io::stdout();
        writeln!(out, "{reply}")?;
        out.flush()?;
    }
    loop {
        std::thread::sleep(Duration::from_secs(1000));
    }
}

async fn host(root: Option<&String>) -> Result<(), Box<dyn std::error::Error>> {
    let root = root.cloned().unwrap_or_default();
    let config = OrchestratorConfig::default();
    let orchestrator = Orchestrator::open(Path::new(&root), config).await?;
    let hangs = AgentSetup::in_process(|_| Arc::new(Agent));
    let (hang, process) = (
        ResourceName::parse("hang")?,
        ResourceName::parse("process")?,
    );
    orchestrator.register(&hang, hangs).await?;
    let setup = ProcessSetup::new(std::env::current_exe()?).arg("agent-child");
    orchestrator
        .register(&process, AgentSetup::process(setup))
        .await?;
    let pid = Request::new("process", json!({"do": "pid"}));
    let pid = orchestrator.client("user", "k", None).request(pid).await?;
    for n in 0..20 {
        let source = EventSource::user("u");
        let at = "2026-11-21T05:00:00.000Z";
        let mut event = AgentEvent::new(format!("e-{n}"), "user.said", at, source);
        event.instance_key = Some((n % 4).to_string());
        event.input = Some(json!({"do": "hang", "n": n}));
        orchestrator.deliver("hang", event).await?;
    }
    let mut out = std::io::stdout();
    writeln!(out, "{}", pid.response)?;
    out.flush()?;
    std::future::pending().await
}
