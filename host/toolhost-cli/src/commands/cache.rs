//! `toolhost cache`: lists, verifies or removes cached components.

use std::io;
use std::path::Path;
use std::time::SystemTime;

use anyhow::anyhow;
use serde_json::{Value, json};
use toolhost::events::Timestamp;
use toolhost::{
    Sandbox, SandboxConfig,
    sandbox::{CacheEntry, CacheError, CacheVerdict, SandboxStartError},
};

use crate::args::{CacheAction, CacheArgs};
use crate::base::unpacked::{self, UnpackedBundle};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::host_context;
use crate::settings::Settings;
use crate::terminal::progress::size;
use crate::terminal::{stdout, text};

/// Displayed characters of a component's digest.
const DIGEST: usize = 12;

pub(crate) fn cache(args: &CacheArgs, settings: &Settings) -> Result<Exit, Failure> {
    let config = host_context::cache(settings).ok_or_else(|| {
        let error = anyhow!("the directory for compiled components is not known");
        Failure::from(error).hint("Set HOME, or XDG_CACHE_HOME and TOOLHOST_STATE_ROOT.")
    })?;
    let (path, limit) = (config.dir.clone(), config.bytes);
    let dir = path.to_string_lossy().into_owned();
    let sandbox = Sandbox::new({
        let mut sandbox = SandboxConfig::default();
        sandbox.cache = Some(config);
        sandbox
    });
    let sandbox = sandbox.map_err(|error| {
        if let SandboxStartError::Cache(error) = error {
            unusable(error)
        } else {
            Failure::from(error)
        }
    })?;
    let cache = sandbox.cache();
    let cache = cache.ok_or_else(|| Failure::from(anyhow!("the sandbox has no cache")))?;
    if let CacheAction::Clear = args.action {
        let cleared = cache.clear().map_err(unusable)?;
        let bundles = unpacked::clear(&path).map_err(|error| unreadable(&path, error))?;
        let bytes = cleared.bytes + bytes_of(&bundles);
        if args.json {
            let (files, bundles) = (cleared.files, bundles.len());
            let json = json!({"dir": dir, "files": files, "bundles": bundles, "bytes": bytes});
            stdout::json(&json)?
        } else {
            let files = text::counted(cleared.files, "file");
            let bundles = match bundles.len() {
                0 => String::new(),
                bundles => format!(" and {}", text::counted(bundles, "unpacked bundle")),
            };
            let (size, dir) = (size(bytes), text::line(&dir));
            stdout::write(&format!("removed {files}{bundles}, {size}, from {dir}"))?;
        }
        return Ok(Exit::Done);
    }
    let entries = cache.entries().map_err(unusable)?;
    let bundles = unpacked::list(&path).map_err(|error| unreadable(&path, error))?;
    let is_valid = entries.iter().all(|entry| entry.verdict.verifies());
    let verifies = matches!(args.action, CacheAction::Verify);
    if args.json {
        let mut json = as_json(&entries, &bundles, &dir, limit);
        if verifies {
            stdout::set(&mut json, "ok", is_valid);
        }
        stdout::json(&json)?;
    } else if verifies {
        stdout::write(&verdicts(&entries))?;
    } else {
        stdout::write(&table(&entries, &bundles, &dir, limit))?;
    }
    if !verifies {
        return Ok(Exit::Done);
    }
    advise(&entries, settings);
    Ok(Exit::done_if(is_valid))
}

fn unreadable(cache: &Path, error: io::Error) -> Failure {
    let what = format!("the unpacked bundles in {} cannot be used", cache.display());
    Failure::from(anyhow::Error::new(error).context(what))
        .hint("See that you can read and write it.")
}

fn unusable(error: CacheError) -> Failure {
    let hint = match &error {
        CacheError::NotPrivate(fault) => {
            format!(
                "If {} is not yours, name another directory: XDG_CACHE_HOME, --state-root.",
                fault.path().display()
            )
        }
        CacheError::BadKey(path) => format!("Delete {}; all is compiled again.", path.display()),
        CacheError::Io { .. } => "See that you can read and write it.".to_owned(),
    };
    Failure::from(error).hint(hint)
}

fn handlers(entry: &CacheEntry) -> Vec<&str> {
    entry.handlers.iter().map(|name| name.as_str()).collect()
}

fn as_json(entries: &[CacheEntry], bundles: &[UnpackedBundle], dir: &str, limit: u64) -> Value {
    let entry = |entry: &CacheEntry| {
        json!({
            "file": entry.file_name,
            "sha256": entry.sha256,
            "bytes": entry.bytes,
            "lastUsed": Timestamp(entry.last_used).to_string(),
            "verdict": entry.verdict.as_str(),
            "handlers": handlers(entry),
        })
    };
    let bundle = |bundle: &UnpackedBundle| json!({"path": bundle.path.to_string_lossy(), "bytes": bundle.bytes});
    json!({
        "dir": dir,
        "bytes": sum(entries),
        "limitBytes": limit,
        "entries": entries.iter().map(entry).collect::<Vec<_>>(),
        "bundles": bundles.iter().map(bundle).collect::<Vec<_>>(),
    })
}

fn table(entries: &[CacheEntry], bundles: &[UnpackedBundle], dir: &str, limit: u64) -> String {
    let (used, limit, dir) = (size(sum(entries)), size(limit), text::line(dir));
    let count = text::counted(entries.len(), "component");
    let mut total = format!("{count}, {used} of at most {limit}, in {dir}");
    for bundle in bundles {
        let (path, size) = (bundle.path.to_string_lossy(), size(bundle.bytes));
        total += &format!("\nunpacked bundle, {size}, in {}", text::line(&path));
    }
    if entries.is_empty() {
        return total;
    }
    let now = SystemTime::now();
    let mut lines = vec![row(["USED", "SIZE", "STATE", "COMPONENT", "SERVES"])];
    lines.extend(entries.iter().map(|entry| {
        let sha256 = entry.sha256.as_deref().unwrap_or("-");
        let digest: String = sha256.chars().take(DIGEST).collect();
        row([
            &ago(entry.last_used, now),
            &size(entry.bytes),
            entry.verdict.as_str(),
            &digest,
            &handlers(entry).join(", "),
        ])
    }));
    if let Some(columns) = stdout::columns() {
        lines = lines.iter().map(|line| text::cut(line, columns)).collect();
    }
    lines.extend([String::new(), total]);
    lines.join("\n")
}

fn row([used, size, state, component, serves]: [&str; 5]) -> String {
    let row = format!("{used:<12}  {size:>10}  {state:<12}  {component:<DIGEST$}  {serves}");
    row.trim_end().to_owned()
}

fn bytes_of(bundles: &[UnpackedBundle]) -> u64 {
    bundles.iter().map(|bundle| bundle.bytes).sum()
}

fn sum(entries: &[CacheEntry]) -> u64 {
    entries.iter().map(|entry| entry.bytes).sum()
}

/// Formats how long ago a time was, in the largest unit that fits.
fn ago(then: SystemTime, now: SystemTime) -> String {
    let seconds = now.duration_since(then).unwrap_or_default().as_secs();
    match seconds {
        0..60 => "just now".to_owned(),
        60..3_600 => format!("{} min ago", seconds / 60),
        3_600..86_400 => format!("{} h ago", seconds / 3_600),
        _ => format!("{} ago", text::counted(seconds / 86_400, "day")),
    }
}

/// Lists the verdict on each entry, and a summary.
fn verdicts(entries: &[CacheEntry]) -> String {
    let line = |entry: &CacheEntry| format!("{:<12}  {}", entry.verdict.as_str(), entry.file_name);
    let mut lines: Vec<_> = entries.iter().map(line).collect();
    let count = text::counted(entries.len(), "component");
    let bad = entries.iter().filter(|entry| !entry.verdict.verifies());
    lines.push(match bad.count() {
        0 => format!("{count}: ok"),
        bad => format!("{count}: {bad} cannot be verified"),
    });
    lines.join("\n")
}

/// Notes what to do about entries that cannot be used.
fn advise(entries: &[CacheEntry], settings: &Settings) {
    let has = |verdict: CacheVerdict| entries.iter().any(|entry| entry.verdict == verdict);
    if has(CacheVerdict::OtherEngine) {
        settings.note("other-engine: compiled for another version of toolhost, which can use it");
    }
    if has(CacheVerdict::OtherKey) {
        settings.note("other-key: signed under another --state-root, or with a lost key; `toolhost cache clear` removes it");
    }
    if has(CacheVerdict::Truncated) || has(CacheVerdict::Unreadable) {
        settings.note("truncated, unreadable: the disk was full or is failing; the component is compiled again when needed");
    }
    if has(CacheVerdict::Tampered) || has(CacheVerdict::NotPrivate) {
        settings.note("tampered, not-private: another user wrote the file, or the disk is failing; it is never mapped. Check who can write the directory, then run `toolhost cache clear`");
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_past_time_is_given_in_the_largest_unit() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(10_000_000);
        let check = |seconds, says| assert_eq!(ago(now - Duration::from_secs(seconds), now), says);
        check(0, "just now");
        check(59, "just now");
        check(60, "1 min ago");
        check(7_199, "1 h ago");
        check(86_400, "1 day ago");
        check(864_000, "10 days ago");
        assert_eq!(ago(now + Duration::from_secs(5), now), "just now");
    }
}
