//! `toolhost cache`: lists, verifies or removes cached components.

use std::time::SystemTime;

use anyhow::anyhow;
use serde_json::{Value, json};
use toolhost::events::Timestamp;
use toolhost::{CacheEntry, CacheError, CacheVerdict, Sandbox, SandboxConfig, SandboxStartError};

use crate::args::{CacheArgs, CacheDo};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::host_context;
use crate::settings::Settings;
use crate::terminal::progress::size;
use crate::terminal::{stdout, text};

/// Displayed characters of a component's digest.
const DIGEST: usize = 12;

/// Lists, verifies or clears the cache.
pub(crate) fn cache(args: &CacheArgs, settings: &Settings) -> Result<Exit, Failure> {
    let config = host_context::cache(settings).ok_or_else(|| {
        let error = anyhow!("there is no place for the cache of compiled components");
        Failure::from(error).hint("Set HOME, or XDG_CACHE_HOME and TOOLHOST_STATE_ROOT.")
    })?;
    let sandbox = Sandbox::new(SandboxConfig {
        cache: Some(config.clone()),
        ..SandboxConfig::default()
    });
    let sandbox = sandbox.map_err(unusable)?;
    let cache = sandbox
        .cache()
        .ok_or_else(|| Failure::from(anyhow!("the sandbox has no cache")))?;
    let listing = CacheListing {
        dir: config.dir.to_string_lossy().into_owned(),
        limit: config.bytes,
    };
    match args.what {
        CacheDo::Ls(style) => {
            let entries = cache.entries().map_err(broken)?;
            match style.json {
                true => stdout::json(&listing.as_json(&entries))?,
                false => stdout::write(&listing.table(&entries, SystemTime::now()))?,
            }
            Ok(Exit::Done)
        }
        CacheDo::Verify(style) => {
            let entries = cache.entries().map_err(broken)?;
            let valid = entries.iter().all(|entry| entry.verdict.verifies());
            match style.json {
                true => {
                    let mut answer = listing.as_json(&entries);
                    stdout::set(&mut answer, "ok", valid);
                    stdout::json(&answer)?;
                }
                false => stdout::write(&verdicts(&entries))?,
            }
            advise(&entries, settings);
            Ok(if valid { Exit::Done } else { Exit::Refused })
        }
        CacheDo::Clear(style) => {
            let cleared = cache.clear().map_err(broken)?;
            match style.json {
                true => stdout::json(&json!({
                    "dir": listing.dir,
                    "files": cleared.files,
                    "bytes": cleared.bytes,
                }))?,
                false => {
                    let files = text::counted(cleared.files, "file");
                    let dir = text::line(&listing.dir);
                    stdout::write(&format!(
                        "removed {files}, {}, from {dir}",
                        size(cleared.bytes)
                    ))?;
                }
            }
            Ok(Exit::Done)
        }
    }
}

fn unusable(error: SandboxStartError) -> Failure {
    if let SandboxStartError::Cache(error) = error {
        return broken(error);
    }
    Failure::of(error)
}

fn broken(error: CacheError) -> Failure {
    let hint = match &error {
        CacheError::NotPrivate(path) => {
            format!("See that only you can write {}.", path.display())
        }
        CacheError::BadKey(path) => format!("Delete {}; all is compiled again.", path.display()),
        CacheError::Io { .. } | _ => "See that you can read and write it.".to_owned(),
    };
    Failure::of(error).hint(hint)
}

/// The directory of the cache, and its size limit.
struct CacheListing {
    dir: String,
    limit: u64,
}

impl CacheListing {
    fn as_json(&self, entries: &[CacheEntry]) -> Value {
        let entry = |entry: &CacheEntry| {
            json!({
                "file": entry.file_name,
                "sha256": entry.sha256,
                "bytes": entry.bytes,
                "lastUsed": Timestamp(entry.last_used).to_string(),
                "verdict": entry.verdict.as_str(),
                "handlers": entry.handlers.iter().map(|name| name.as_str()).collect::<Vec<_>>(),
            })
        };
        json!({
            "dir": self.dir,
            "bytes": sum(entries),
            "limitBytes": self.limit,
            "entries": entries.iter().map(entry).collect::<Vec<_>>(),
        })
    }

    fn table(&self, entries: &[CacheEntry], now: SystemTime) -> String {
        let dir = text::line(&self.dir);
        let (used, limit) = (size(sum(entries)), size(self.limit));
        let count = text::counted(entries.len() as u64, "component");
        let total = format!("{count}, {used} of at most {limit}, in {dir}");
        if entries.is_empty() {
            return total;
        }
        let mut lines = vec![row(["USED", "SIZE", "STATE", "COMPONENT", "SERVES"])];
        lines.extend(entries.iter().map(|entry| {
            let handlers: Vec<_> = entry.handlers.iter().map(|name| name.as_str()).collect();
            let digest: String = entry.sha256.chars().take(DIGEST).collect();
            row([
                &ago(entry.last_used, now),
                &size(entry.bytes),
                entry.verdict.as_str(),
                &digest,
                &handlers.join(", "),
            ])
        }));
        if let Some(columns) = stdout::columns() {
            lines = lines.iter().map(|line| text::cut(line, columns)).collect();
        }
        lines.push(String::new());
        lines.push(total);
        lines.join("\n")
    }
}

fn row([used, size, state, component, serves]: [&str; 5]) -> String {
    let row = format!("{used:<12}  {size:>10}  {state:<12}  {component:<DIGEST$}  {serves}");
    row.trim_end().to_owned()
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
    let valid = entries
        .iter()
        .filter(|entry| entry.verdict.verifies())
        .count();
    let all = text::counted(entries.len() as u64, "component");
    lines.push(match entries.len() - valid {
        0 => format!("{all}: ok"),
        bad => format!("{all}: {bad} cannot be verified"),
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
