//! `toolhost approvals`, `approve` and `deny`: calls that wait for a person's consent.

use std::path::Path;

use anyhow::anyhow;
use serde_json::{Value, json};
use toolhost::approvals::{Approval, ApprovalError, ApprovalState, Approvals, HeldEffect};
use toolhost::state::{Database, database_of};
use toolhost::text::shell_word;

use crate::args::{ApprovalsAction, ApprovalsArgs, DecideArgs};
use crate::environment;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::files;
use crate::policy_file::PolicyFile;
use crate::settings::Settings;
use crate::terminal::{stdout, text};

pub(crate) async fn approvals(args: &ApprovalsArgs, settings: &Settings) -> Result<Exit, Failure> {
    let policy = match &args.action {
        Some(ApprovalsAction::Show(args)) => &args.policy,
        None => &args.policy,
    };
    let approvals = open(policy.as_deref(), settings).await?;
    if let Some(ApprovalsAction::Show(args)) = &args.action {
        let approvals = approvals.ok_or_else(|| unknown(&args.id))?;
        let approval = approvals.get(&args.id).await.map_err(failure)?;
        if args.json {
            stdout::json(&json!(approval))?;
        } else {
            stdout::write(&shown(&approval))?;
        }
        return Ok(Exit::Done);
    }
    let (listed, waiting) = match approvals {
        None => (Ok(Vec::new()), Ok(0)),
        Some(approvals) => {
            let listed = if args.all {
                approvals.all().await
            } else {
                approvals.waiting().await
            };
            (listed, approvals.waiting_count().await)
        }
    };
    let (listed, waiting) = (listed.map_err(failure)?, waiting.map_err(failure)?);
    if args.json {
        stdout::json(&json!({ "approvals": listed, "waiting": waiting }))?;
    } else if listed.is_empty() {
        stdout::write("no call waits for approval")?;
    } else {
        let lines: Vec<String> = listed.iter().map(line).collect();
        stdout::write(&lines.join("\n"))?;
        if waiting > listed.len() as u64 {
            settings.note(&format!(
                "{waiting} calls wait. This lists at most 1,000, and the oldest 100 of each instance."
            ));
        }
    }
    Ok(Exit::Done)
}

/// Decides about a call that waits.
pub(crate) async fn decide(
    args: &DecideArgs,
    is_approved: bool,
    settings: &Settings,
) -> Result<Exit, Failure> {
    let approvals = open(args.policy.as_deref(), settings)
        .await?
        .ok_or_else(|| unknown(&args.id))?;
    let by = args.by.clone().unwrap_or_else(user);
    let (id, why) = (&args.id, args.why.as_deref());
    let decided = if is_approved {
        approvals.approve(id, &by, why).await
    } else {
        approvals.deny(id, &by, why).await
    };
    let approval = decided.map_err(failure)?;
    if args.json {
        stdout::json(&json!(approval))?;
        return Ok(Exit::Done);
    }
    let did = if is_approved { "approved" } else { "denied" };
    stdout::write(&format!("{did} {}", line(&approval)))?;
    if is_approved {
        let names = [&approval.handle, &approval.agent, &approval.instance];
        let [handle, agent, instance] = names.map(|name| shell_word(name));
        settings.note(&format!(
            "The process that serves the bundle does it within a second. Without one: toolhost poll BUNDLE {handle} \
             --agent {agent} --instance {instance}, with the --policy and the --workdir of the call"
        ));
    }
    Ok(Exit::Done)
}

/// Opens the approvals of the state root. None if nothing was kept in it yet: nothing is made.
async fn open(policy: Option<&Path>, settings: &Settings) -> Result<Option<Approvals>, Failure> {
    let policy = PolicyFile::read(policy).await?.policy;
    let Some(root) = settings.dirs.state_root.clone() else {
        let error = anyhow!("the state root is not known");
        return Err(Failure::from(error).hint("Pass --state-root DIR, or set HOME."));
    };
    let database = database_of(&policy, Some(&root)).map_err(ApprovalError::from)?;
    let open = move || {
        let database = database.filter(Database::may_exist);
        let approvals = database.map(|database| Approvals::open_on(database, &root));
        Ok(approvals.transpose()?)
    };
    Ok(files::spawn_blocking(open).await?)
}

fn unknown(id: &str) -> Failure {
    let id = text::line(id);
    failure(ApprovalError::Unknown { id })
}

fn failure(error: ApprovalError) -> Failure {
    let hint = if matches!(error, ApprovalError::Unknown { .. }) {
        Some("`toolhost approvals` lists what waits. Pass the same --state-root as for the call.")
    } else if matches!(error, ApprovalError::Ended) {
        Some("`toolhost approvals` lists what waits now.")
    } else {
        None
    };
    let is_refused = !matches!(
        error,
        ApprovalError::Store(_) | ApprovalError::Staging(_) | ApprovalError::Host(_)
    );
    let mut failure = Failure::from(error);
    failure.hint = hint.map(str::to_owned);
    if is_refused {
        failure.exit = Exit::Refused;
    }
    failure
}

/// Returns the name of the user of this process.
pub(super) fn user() -> String {
    let name = environment::value("USER").and_then(|name| name.into_string().ok());
    name.unwrap_or_else(|| format!("uid {}", rustix::process::getuid().as_raw()))
}

fn line(approval: &Approval) -> String {
    let Approval {
        id,
        agent,
        instance,
        tool,
        created_at,
        ..
    } = approval;
    let [agent, instance, tool] = [agent, instance, tool].map(|name| text::line(name));
    let what = text::line(&summary(approval));
    let state = approval.state.as_str();
    format!("{id}  {created_at}  {state}  {agent}/{instance}  {tool} {what}")
}

/// Returns in a few words what a call waits to do.
fn summary(approval: &Approval) -> String {
    let what = &approval.what;
    if what.is_null() && approval.state != ApprovalState::Ended {
        return "does more than a list shows".to_owned();
    }
    let at = |key: &str| what.get(key).and_then(Value::as_str).unwrap_or_default();
    match approval.effect {
        HeldEffect::Call => {
            let args = what.get("args").map(ToString::to_string);
            text::cut(&format!("runs with {}", args.unwrap_or_default()), 80)
        }
        HeldEffect::Workdir => {
            let files = what.get("files").and_then(Value::as_array);
            let files = files.map(Vec::as_slice).unwrap_or_default();
            let first = files.first().and_then(|file| file.get("path")?.as_str());
            let first = first.unwrap_or_default();
            match files.len() {
                1 => format!("changes {first}"),
                many => format!("changes {first} and {} more", many.saturating_sub(1)),
            }
        }
        HeldEffect::Http => format!("sends {} {}", at("method"), at("url")),
        HeldEffect::Agents => format!("asks to {} {}", at("operation"), at("target")),
    }
}

/// Returns all that somebody has to see before a decision. What strangers wrote is escaped, line by line.
fn shown(approval: &Approval) -> String {
    let mut lines = vec![
        line(approval),
        format!(
            "call {}, expires {}",
            text::line(&approval.call_id),
            approval.expires_at
        ),
        format!("digest {}", approval.digest),
    ];
    if let Some(decision) = &approval.decision {
        let (state, by) = (approval.state.as_str(), text::line(&decision.by));
        let why = decision.why.as_deref().map(text::line);
        let why = why.map(|why| format!(": {why}")).unwrap_or_default();
        lines.push(format!("{state} by {by} at {}{why}", decision.at));
    }
    lines.push(String::new());
    match approval.effect {
        HeldEffect::Workdir => add_files(&mut lines, &approval.what),
        HeldEffect::Http => add_request(&mut lines, &approval.what),
        HeldEffect::Call | HeldEffect::Agents => {
            let pretty = serde_json::to_string_pretty(&approval.what).unwrap_or_default();
            lines.extend(pretty.lines().map(text::line));
        }
    }
    lines.join("\n")
}

fn add_files(lines: &mut Vec<String>, what: &Value) {
    let files = what.get("files").and_then(Value::as_array);
    for file in files.into_iter().flatten() {
        let at = |key: &str| file.get(key).and_then(Value::as_str);
        let (kind, path) = (
            at("kind").unwrap_or_default(),
            at("path").unwrap_or_default(),
        );
        let from = at("from").map(|from| format!(" from {}", text::line(from)));
        let was = file.get("was").map(|was| format!(", was {}", facts(was)));
        lines.push(format!(
            "{kind} {}{}: {}{}",
            text::line(path),
            from.unwrap_or_default(),
            facts(file),
            was.unwrap_or_default()
        ));
        match at("diff") {
            Some(diff) => lines.extend(diff.lines().map(|line| format!("  {}", text::line(line)))),
            None => lines.extend(at("digest").map(|digest| format!("  {digest}"))),
        }
    }
}

/// Returns what a file is: `file 0644`, `link to ../a`.
fn facts(of: &Value) -> String {
    let at = |key: &str| of.get(key).and_then(Value::as_str);
    let target = at("target").map(|target| format!(" to {}", text::line(target)));
    let mode = at("mode").map(|mode| format!(" {mode}"));
    let parts = [Some(at("type").unwrap_or("file").to_owned()), target, mode];
    parts.into_iter().flatten().collect()
}

fn add_request(lines: &mut Vec<String>, what: &Value) {
    let at = |key: &str| what.get(key).and_then(Value::as_str).unwrap_or_default();
    lines.push(format!(
        "{} {}",
        text::line(at("method")),
        text::line(at("url"))
    ));
    let headers = what.get("headers").and_then(Value::as_array);
    for header in headers.into_iter().flatten() {
        let [name, value] = [0, 1].map(|index| {
            let part = header.get(index).map(plain);
            text::line(&part.unwrap_or_default())
        });
        lines.push(format!("{name}: {value}"));
    }
    let secrets = what.get("secretHeaders").and_then(Value::as_array);
    for name in secrets.into_iter().flatten().filter_map(Value::as_str) {
        lines.push(format!(
            "{}: … (a secret of the policy, which the host sets)",
            text::line(name)
        ));
    }
    lines.push(String::new());
    let body = what.get("body").map(plain).unwrap_or_default();
    lines.extend(body.lines().map(text::line));
}

/// Returns a text as it is, and other values as JSON.
fn plain(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_links_and_folders_are_told_apart() {
        let what = json!({"files": [
            {"path": "a.sh", "kind": "changed", "type": "file", "mode": "0755",
             "was": {"type": "file", "mode": "0644"}, "diff": ""},
            {"path": "b", "kind": "created", "type": "link", "target": "../\u{1b}x"},
            {"path": "c", "kind": "created", "type": "dir", "mode": "0775"},
            {"path": "e", "kind": "renamed", "from": "d", "type": "dir", "mode": "0775"},
        ]});
        let mut lines = Vec::new();
        add_files(&mut lines, &what);
        assert_eq!(
            lines,
            [
                "changed a.sh: file 0755, was file 0644",
                "created b: link to ../\\u{1b}x",
                "created c: dir 0775",
                "renamed e from d: dir 0775",
            ]
        );
    }
}
