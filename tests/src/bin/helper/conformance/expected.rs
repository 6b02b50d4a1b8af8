//! The results that are expected of scenarios that the suite does not score: it compares the others itself.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde_json::Value;

use super::Result;

/// Bytes of the time that ends the name of a scenario's folder: `-2026-11-23T03-35-26-790Z`.
const TIME_BYTES: usize = 25;

/// Returns the failures of scenarios that are not scored and not in `notScored` of the list, and those in
/// the list that have not failed. Each is `SCENARIO:CHECK`.
///
/// `requirements` is the suite's file for the revision.
pub(crate) fn surprises(list: &str, requirements: &str, results: &Path) -> Result<Vec<String>> {
    let names: BTreeSet<&str> = not_scored(requirements).collect();
    if names.is_empty() {
        return Err("the suite's requirements name no scenario that is not scored".into());
    }
    let mut failed = BTreeSet::new();
    for folder in fs::read_dir(results)? {
        let folder = folder?;
        let name = folder.file_name().into_string().unwrap_or_default();
        let Some(scenario) = scenario(&name).filter(|scenario| names.contains(scenario)) else {
            continue;
        };
        let checks = fs::read(folder.path().join("checks.json"))?;
        let checks: Vec<Value> = serde_json::from_slice(&checks)?;
        let failures = checks.iter().filter(|check| has_failed(check));
        failed.extend(failures.map(|check| {
            let id = check["id"].as_str().unwrap_or_default();
            format!("{scenario}:{id}")
        }));
    }
    let expected: BTreeSet<String> = listed(list).map(str::to_owned).collect();
    let unexpected = failed
        .difference(&expected)
        .map(|entry| format!("{entry} fails"));
    let stale = expected
        .difference(&failed)
        .map(|entry| format!("{entry} no longer fails"));
    Ok(unexpected.chain(stale).collect())
}

/// Returns the scenarios of the list `not_scored`: entries that begin with `- scenario: NAME`.
fn not_scored(requirements: &str) -> impl Iterator<Item = &str> {
    let list = requirements.split_once("\nnot_scored:");
    let lines = list.map_or("", |(_, list)| list).lines();
    lines.filter_map(|line| line.trim().strip_prefix("- scenario: "))
}

fn scenario(folder: &str) -> Option<&str> {
    let name = folder.strip_prefix("server-")?;
    name.get(..name.len().checked_sub(TIME_BYTES)?)
}

fn has_failed(check: &Value) -> bool {
    ["FAILURE", "WARNING"]
        .iter()
        .any(|status| check["status"] == **status)
}

/// Returns the entries of the list `notScored`, without comments.
fn listed(list: &str) -> impl Iterator<Item = &str> {
    let lines = list
        .lines()
        .skip_while(|line| *line != "notScored:")
        .skip(1);
    let entries = lines.take_while(|line| line.starts_with(' ') || line.is_empty());
    entries.filter_map(|line| {
        let entry = line.trim().strip_prefix("- ")?;
        Some(
            entry
                .split_once(" #")
                .map_or(entry, |(entry, _)| entry)
                .trim(),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_and_results_are_read() {
        let list = "server:\n  - a # one\nnotScored:\n  # two\n  - b:c # why\n  - d:e\n";
        assert_eq!(listed(list).collect::<Vec<_>>(), ["b:c", "d:e"]);
        let requirements =
            "server:\n  - tools-list\nnot_scored:\n  - scenario: a\n    leg: server\n";
        assert_eq!(not_scored(requirements).collect::<Vec<_>>(), ["a"]);
        let folder = "server-tasks-lifecycle-2026-11-23T03-35-32-362Z";
        assert_eq!(scenario(folder), Some("tasks-lifecycle"));
    }
}
