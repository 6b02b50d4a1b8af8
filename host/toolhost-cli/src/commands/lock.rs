//! `toolhost lock`: writes the lock of a bundle, or compares it.

use std::fs;
use std::io;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, anyhow};
use serde_json::json;
use toolhost::lock::{Drift, LOCK, Lock, Review};
use toolhost::text::escape_lines;

use super::mcp_servers;
use crate::args::LockArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::files;
use crate::host_context::HostContext;
use crate::policy_file::PolicyFile;
use crate::settings::Settings;
use crate::terminal::{stdout, text};

pub(crate) async fn lock(args: &LockArgs, settings: &Settings) -> Result<Exit, Failure> {
    let folder = match args.bundle.is_dir() {
        true => args.bundle.as_path(),
        false => files::folder_of(&args.bundle),
    };
    let path = folder.join(LOCK);
    let before = read(&path)?;
    let policy = PolicyFile::read(args.policy.as_deref()).await?;
    let context = HostContext::open_ignoring_lock(settings, policy)?;
    let loaded = context.load(&args.bundle).await?;
    let servers = mcp_servers::start(&loaded, settings).await?;
    let warnings = servers.warnings();
    let mut now = loaded.lock().clone();
    now.mcp_servers = servers.locked();
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
    let now = &now;
    let drifts = before
        .as_ref()
        .map_or_else(|| Lock::new().compare(now), |lock| lock.compare(now));
    if args.check {
        return check(args, &path, before.as_ref(), &drifts);
    }
    let mut written = before.clone().unwrap_or_else(Lock::new);
    match &args.update {
        Some(name) => update(&mut written, now, name)?,
        None => written = with_reviews(now.clone(), before.as_ref()),
    }
    let is_written = |drift: &&Drift| args.update.as_ref().is_none_or(|name| *name == drift.name);
    let drifts: Vec<_> = drifts.iter().filter(is_written).cloned().collect();
    files::write_over_file(&path, written.to_text().as_bytes())
        .with_context(|| format!("{} cannot be written", shown(&path)))?;
    print(args, &drifts, &[])?;
    if !args.json {
        let mut counts = text::counted(written.tools.len(), "Tool");
        if !written.mcp_servers.is_empty() {
            let servers = text::counted(written.mcp_servers.len(), "MCP server");
            counts.push_str(&format!(", {servers}"));
        }
        stdout::write(&format!("{}: {counts}", shown(&path)))?;
    }
    Ok(Exit::Done)
}

fn read(path: &Path) -> Result<Option<Lock>, Failure> {
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        _ => {}
    }
    let bytes = files::read("the lock", path, toolhost::lock::LOCK_BYTES_MAX as u64)?;
    let lock = String::from_utf8(bytes).map_err(anyhow::Error::from);
    let lock = lock.and_then(|text| Lock::parse(&text).map_err(anyhow::Error::from));
    let lock = lock.with_context(|| format!("{} cannot be used", shown(path)));
    lock.map(Some).map_err(|error| {
        Failure::from(error)
            .hint("Restore the lock that was reviewed, or remove it and write a new one.")
    })
}

fn check(
    args: &LockArgs,
    path: &Path,
    before: Option<&Lock>,
    drifts: &[Drift],
) -> Result<Exit, Failure> {
    let Some(lock) = before else {
        let error = anyhow!("there is no {}", shown(path));
        return Err(Failure::from(error).hint("Write it with `toolhost lock`, and commit it."));
    };
    let expired = expired(lock, &today());
    print(args, drifts, &expired)?;
    match drifts.is_empty() && expired.is_empty() {
        true => Ok(Exit::Done),
        false => Ok(Exit::Refused),
    }
}

/// Puts the entry of one Tool or MCP server into the lock.
fn update(lock: &mut Lock, now: &Lock, name: &str) -> Result<(), Failure> {
    let was = lock.tools.remove(name).is_some() | lock.mcp_servers.remove(name).is_some();
    let (tool, server) = (now.tools.get(name), now.mcp_servers.get(name));
    let tool = tool.map(|tool| (name.to_owned(), tool.clone()));
    let server = server.map(|server| (name.to_owned(), server.clone()));
    if !was && tool.is_none() && server.is_none() {
        let known = now.tools.keys().chain(now.mcp_servers.keys());
        let known: Vec<&str> = known.map(String::as_str).collect();
        let error = anyhow!("neither the bundle nor the lock has a Tool or an MCP server '{name}'");
        return Err(Failure::from(error).hint(format!("The bundle has {}.", known.join(", "))));
    }
    lock.tools.extend(tool);
    lock.mcp_servers.extend(server);
    Ok(())
}

/// Keeps the reviews of Tools and MCP servers that have not changed.
fn with_reviews(mut now: Lock, before: Option<&Lock>) -> Lock {
    for (name, tool) in &mut now.tools {
        let was = before.and_then(|before| before.tools.get(name));
        if let Some(was) = was {
            tool.reviewed_by = was.reviewed_by.clone();
            if *was != *tool {
                tool.reviewed_by = None;
            }
        }
    }
    for (name, server) in &mut now.mcp_servers {
        let was = before.and_then(|before| before.mcp_servers.get(name));
        if let Some(was) = was.filter(|was| was.words == server.words) {
            server.reviewed_by = was.reviewed_by.clone();
        }
    }
    now
}

/// Returns the Tools and MCP servers whose review has expired.
fn expired(lock: &Lock, today: &str) -> Vec<String> {
    let is_over = |review: &Review| review.until.as_deref().is_some_and(|until| until < today);
    let tools = lock.tools.iter();
    let tools = tools.map(|(name, tool)| (name, &tool.reviewed_by));
    let servers = lock.mcp_servers.iter();
    let reviews = tools.chain(servers.map(|(name, server)| (name, &server.reviewed_by)));
    let expired = reviews.filter(|(_, review)| review.as_ref().is_some_and(is_over));
    expired.map(|(name, _)| name.clone()).collect()
}

/// Returns the date in UTC, as `YYYY-MM-DD`.
fn today() -> String {
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or(Duration::ZERO);
    date(now.as_secs() / 86_400)
}

/// Returns the date of a day after 1 January 1970.
fn date(days: u64) -> String {
    // Days of the calendar of 400 years that begins on 1 March.
    let days = days + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let (day, month) = (
        day - (153 * month + 2) / 5 + 1,
        if month < 10 { month + 3 } else { month - 9 },
    );
    let year = year + era * 400 + u64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}")
}

fn print(args: &LockArgs, drifts: &[Drift], expired: &[String]) -> Result<(), Failure> {
    if args.json {
        let same = drifts.is_empty() && expired.is_empty();
        stdout::json(&json!({"same": same, "drifts": drifts, "expired": expired}))?;
        return Ok(());
    }
    let mut lines: Vec<String> = drifts.iter().map(line).collect();
    lines.extend(
        expired
            .iter()
            .map(|name| format!("{name}: its review has expired")),
    );
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
    let (grade, what) = (drift.grade.as_str(), &drift.what);
    let name = &drift.name;
    format!(
        "{name}: {grade}: {what}{}{}",
        part("-", &drift.before),
        part("+", &drift.after)
    )
}

fn shown(path: &Path) -> String {
    text::line(&path.to_string_lossy())
}

#[cfg(test)]
mod tests {
    use super::date;

    #[test]
    fn days_are_dates() {
        for (days, expected) in [
            (0, "1970-01-01"),
            (59, "1970-03-01"),
            (11_016, "2000-02-29"),
            (20_781, "2026-11-24"),
            (47_541, "2100-03-01"),
        ] {
            assert_eq!(date(days), expected);
        }
    }
}
