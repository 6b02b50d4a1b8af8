//! `toolhost lock`: writes the lock of a bundle, or compares it.

use std::fs;
use std::io;
use std::path::Path;
use std::time::SystemTime;

use anyhow::{Context, anyhow};
use serde_json::json;
use toolhost::events::Timestamp;
use toolhost::lock::{AGENT, Drift, LOCK, Lock, LockError, LockedTool, Review};
use toolhost::text::escape_lines;

use super::mcp_servers;
use crate::args::LockArgs;
use crate::base;
use crate::exit::Exit;
use crate::failure::{Failure, Hint};
use crate::files;
use crate::host_context::HostContext;
use crate::policy_file::PolicyFile;
use crate::settings::Settings;
use crate::terminal::{stdout, text};

pub(crate) async fn lock(args: &LockArgs, settings: &Settings) -> Result<Exit, Failure> {
    base::refuse(&args.bundle, "lock")?;
    let folder = if args.bundle.is_dir() {
        args.bundle.as_path()
    } else {
        files::folder_of(&args.bundle)
    };
    let path = folder.join(LOCK);
    let before = read(&path)?;
    let policy = PolicyFile::read(args.policy.as_deref()).await?;
    let rules = policy.policy.clone();
    let context = HostContext::open_ignoring_lock(settings, policy)?;
    let loaded = context.load_with_notes(&args.bundle, settings).await?;
    let servers = mcp_servers::start(&loaded, settings).await?;
    let warnings = servers.warnings();
    let mut now = loaded.lock().clone();
    let granted_servers = std::mem::replace(&mut now.mcp_servers, servers.locked());
    for (name, server) in granted_servers {
        if let Some(entry) = now.mcp_servers.get_mut(&name) {
            entry.grants = server.grants;
        }
    }
    servers.close().await;
    let granted = loaded.mcp_servers().iter();
    let granted: Vec<&str> = granted
        .map(|it| it.resource.metadata.name.as_str())
        .collect();
    if now.mcp_servers.len() < granted.len() {
        let error = anyhow!("{}", warnings.join("\n"));
        let hint =
            "Each MCP server that the policy grants must list its tools. Nothing was written.";
        return Err(Failure::from(error).hint(hint));
    }
    // Servers that this policy does not grant stay as they were.
    let others = before.iter().flat_map(|lock| &lock.mcp_servers);
    for (name, server) in others.filter(|(name, _)| !granted.contains(&name.as_str())) {
        now.mcp_servers.insert(name.clone(), server.clone());
    }
    let reviewed = before.clone().unwrap_or_else(Lock::new);
    if rules.packages().is_none() && reviewed.has_signers() {
        let error = anyhow!("the lock has signers of packages, and the policy does not verify any");
        let hint =
            "Pass the policy that has the key `packages`, with --policy. Nothing was written.";
        return Err(Failure::from(error).hint(hint));
    }
    let now = now.with_signers_of(&reviewed);
    let drifts = rules.differences(reviewed.clone(), now.clone());
    if args.check {
        return check(args, &path, before.as_ref(), &drifts);
    }
    let now = with_reviews(now, &reviewed);
    let mut new_lock = reviewed.clone();
    match &args.update {
        Some(name) => update(&mut new_lock, &now, name)?,
        None => new_lock = now,
    }
    for (name, review) in reviewed.reviews() {
        let is_kept = new_lock.reviews().any(|(kept, _)| kept == name);
        if !is_kept {
            let (name, by) = (text::line(name), text::line(&review.name));
            settings.note(&format!(
                "{name} has changed: the review by {by} was removed"
            ));
        }
    }
    let is_written = |drift: &&Drift| args.update.as_ref().is_none_or(|name| *name == drift.name);
    let drifts: Vec<_> = drifts.iter().filter(is_written).cloned().collect();
    let written_text = new_lock.to_text();
    Lock::parse(&written_text).hint("Nothing was written.")?;
    if read(&path)? != before {
        let error = anyhow!("{} was changed meanwhile", text::path(&path));
        return Err(Failure::from(error).hint("Nothing was written. Run the command again."));
    }
    files::write_over_file(&path, written_text.as_bytes())
        .with_context(|| format!("{} cannot be written", text::path(&path)))?;
    print(args, &drifts, &[])?;
    if !args.json {
        let mut counts = text::counted(new_lock.tools.len(), "Tool");
        if !new_lock.mcp_servers.is_empty() {
            let servers = text::counted(new_lock.mcp_servers.len(), "MCP server");
            counts.push_str(&format!(", {servers}"));
        }
        stdout::write(&format!("{}: {counts}", text::path(&path)))?;
    }
    Ok(Exit::Done)
}

fn read(path: &Path) -> Result<Option<Lock>, Failure> {
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        _ => {}
    }
    let bytes = files::read("the lock", path, toolhost::lock::LOCK_BYTES_MAX)?;
    let lock = String::from_utf8(bytes).map_err(anyhow::Error::from);
    let lock = lock.and_then(|text| Lock::parse(&text).map_err(anyhow::Error::from));
    let lock = lock.with_context(|| format!("{} cannot be used", text::path(path)));
    lock.map(Some).hint(LockError::HELP)
}

fn check(
    args: &LockArgs,
    path: &Path,
    before: Option<&Lock>,
    drifts: &[Drift],
) -> Result<Exit, Failure> {
    let Some(lock) = before else {
        let error = anyhow!("there is no {}", text::path(path));
        return Err(Failure::from(error).hint("Write it with `toolhost lock`, and commit it."));
    };
    let expired = expired(lock, &today());
    print(args, drifts, &expired)?;
    if drifts.is_empty() && expired.is_empty() {
        Ok(Exit::Done)
    } else {
        Ok(Exit::Refused)
    }
}

/// Puts the entry of one Tool, MCP server or agent into the lock.
fn update(lock: &mut Lock, now: &Lock, name: &str) -> Result<(), Failure> {
    if let Some(agent) = name.strip_prefix(AGENT) {
        let was = lock.agents.remove(agent).is_some();
        let now = now.agents.get_key_value(agent);
        lock.agents
            .extend(now.map(|(agent, grants)| (agent.clone(), grants.clone())));
        if was || now.is_some() {
            return Ok(());
        }
    }
    let was = lock.tools.remove(name).is_some() | lock.mcp_servers.remove(name).is_some();
    let (tool, server) = (now.tools.get(name), now.mcp_servers.get(name));
    let tool = tool.map(|tool| (name.to_owned(), tool.clone()));
    let server = server.map(|server| (name.to_owned(), server.clone()));
    if !was && tool.is_none() && server.is_none() {
        let names = now.tools.keys().chain(now.mcp_servers.keys());
        let agents = now.agents.keys().map(|agent| format!("{AGENT}{agent}"));
        let names: Vec<String> = names.cloned().chain(agents).collect();
        let error = anyhow!("neither the bundle nor the lock has a Tool or an MCP server '{name}'");
        return Err(Failure::from(error).hint(format!("The bundle has {}.", names.join(", "))));
    }
    lock.tools.extend(tool);
    lock.mcp_servers.extend(server);
    Ok(())
}

/// Keeps the reviews of Tools and MCP servers that have not changed.
fn with_reviews(mut now: Lock, before: &Lock) -> Lock {
    for (name, tool) in &mut now.tools {
        let without_review = |was: &LockedTool| LockedTool {
            reviewed_by: None,
            ..was.clone()
        };
        let was = before.tools.get(name);
        if let Some(was) = was.filter(|was| without_review(was) == *tool) {
            tool.reviewed_by.clone_from(&was.reviewed_by);
        }
    }
    for (name, server) in &mut now.mcp_servers {
        let was = before.mcp_servers.get(name);
        if let Some(was) =
            was.filter(|was| was.words == server.words && was.grants == server.grants)
        {
            server.reviewed_by = was.reviewed_by.clone();
        }
    }
    now
}

/// Returns the Tools and MCP servers whose review has expired.
fn expired<'a>(lock: &'a Lock, today: &str) -> Vec<(&'a String, &'a Review)> {
    let is_over = |review: &Review| review.until.as_deref().is_some_and(|until| until < today);
    let reviews = lock.reviews();
    reviews.filter(|(_, review)| is_over(review)).collect()
}

/// Returns the date in UTC, as `YYYY-MM-DD`.
fn today() -> String {
    let now = Timestamp(SystemTime::now()).to_string();
    now.chars().take_while(|&c| c != 'T').collect()
}

fn print(args: &LockArgs, drifts: &[Drift], expired: &[(&String, &Review)]) -> Result<(), Failure> {
    if args.json {
        let same = drifts.is_empty() && expired.is_empty();
        let expired: Vec<&String> = expired.iter().map(|(name, _)| *name).collect();
        stdout::json(&json!({"same": same, "drifts": drifts, "expired": expired}))?;
        return Ok(());
    }
    let mut lines: Vec<String> = drifts.iter().map(line).collect();
    lines.extend(expired.iter().map(|(name, review)| {
        let until = review.until.as_deref().unwrap_or_default();
        let (name, by) = (text::line(name), text::line(&review.name));
        format!("{name}: the review by {by} held until {until}: write another `reviewedBy`")
    }));
    if lines.is_empty() && args.check {
        lines.push("nothing differs from the lock".to_owned());
    }
    if !lines.is_empty() {
        stdout::write(&lines.join("\n"))?;
    }
    Ok(())
}

fn line(drift: &Drift) -> String {
    let part = |sign: &str, text: &Option<String>| match text {
        Some(text) => escape_lines(text)
            .lines()
            .map(|line| format!("\n  {sign} {line}"))
            .collect(),
        None => String::new(),
    };
    let (grade, what) = (drift.grade.as_str(), text::line(&drift.what));
    let name = text::line(&drift.name);
    format!(
        "{name}: {grade}: {what}{}{}",
        part("-", &drift.before),
        part("+", &drift.after)
    )
}
