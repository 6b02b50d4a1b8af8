//! The instances that have files beneath a state root, for programs that list and remove them.

use std::cmp::Reverse;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde_json::Value;
use toolhost_manifest::policy::Policy;

use crate::budgets::{self, BudgetUse, BudgetsError};
use crate::load::manifest;
use crate::state_store::database_of;
use crate::workspace::{BundleKey, INSTANCES, WORKSPACES};

/// What the name of a directory begins with that is being removed.
const REMOVED: &str = ".removed~";

/// Most bytes of an event log that are read for the key of its instance.
const LOG_READ_MAX: u64 = 256 << 10;

/// An instance with files beneath a state root.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct StoredInstance {
    /// The policy's `workspace`, or a readable part and a digest of the path of the bundle's manifest.
    pub bundle: String,
    /// The key of the instance, from its event log. None without events.
    pub key: Option<String>,
    /// The name of its directory: a readable part and a digest of the key.
    pub directory: String,
    /// Its directory, which has its workspace, its events and its recordings.
    pub path: PathBuf,
    /// The bytes of its files.
    pub bytes: u64,
    /// When something in its directory or at the top of its workspace was changed.
    pub last_used: SystemTime,
}

/// Returns the name under which a state root has the instances of a bundle: see [`StoredInstance::bundle`].
pub fn name_of(policy: &Policy, bundle: &Path) -> String {
    BundleKey::new(policy.workspace(), manifest(bundle)).directory()
}

/// Reads the use of a policy's budgets by the calls of a bundle from the policy's database, or that of a state root: all limits, and of
/// budgets that each instance has, those of the instances that made calls. What running processes have taken for their
/// next calls counts as used. Blocks.
///
/// # Errors
/// [`BudgetsError`] if the database cannot be read.
pub fn budgets(
    state_root: &Path,
    policy: &Policy,
    bundle: &Path,
) -> Result<Vec<BudgetUse>, BudgetsError> {
    let database = database_of(policy, Some(state_root))?.unwrap_or_else(|| state_root.into());
    let (key, now) = (
        BundleKey::new(policy.workspace(), manifest(bundle)),
        SystemTime::now(),
    );
    budgets::stored_uses(policy.budgets(), &database, &key.text(), now)
}

/// Lists the instances beneath a state root, the most recently used first. Follows no links.
///
/// # Errors
/// Those of the system. Without any instance the list is empty.
pub fn list(state_root: &Path) -> io::Result<Vec<StoredInstance>> {
    let mut instances = Vec::new();
    for bundle in entries(&state_root.join(WORKSPACES))? {
        for path in entries(&bundle.join(INSTANCES))? {
            instances.push(StoredInstance {
                bundle: name(&bundle),
                key: key_of(&path),
                directory: name(&path),
                bytes: bytes_of(&path)?,
                last_used: last_used(&path)?,
                path,
            });
        }
    }
    instances.sort_by_key(|instance| Reverse(instance.last_used));
    Ok(instances)
}

/// Removes an instance with its workspace, its events and its recordings. It disappears at once; a removal that was
/// interrupted is completed by the next one.
///
/// # Errors
/// Those of the system.
pub fn remove(state_root: &Path, instance: &StoredInstance) -> io::Result<()> {
    let workspaces = state_root.join(WORKSPACES);
    let aside = format!("{REMOVED}{}~{}", std::process::id(), instance.directory);
    fs::rename(&instance.path, workspaces.join(aside))?;
    for entry in fs::read_dir(&workspaces)? {
        let entry = entry?;
        if entry.file_name().to_string_lossy().starts_with(REMOVED) {
            fs::remove_dir_all(entry.path())?;
        }
    }
    Ok(())
}

/// Returns the directories in a directory; none if there is no such directory.
fn entries(dir: &Path) -> io::Result<Vec<PathBuf>> {
    let read = match fs::read_dir(dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        read => read?,
    };
    let mut paths = Vec::new();
    for entry in read {
        let entry = entry?;
        let is_hidden = entry.file_name().as_encoded_bytes().starts_with(b".");
        if !is_hidden && entry.file_type()?.is_dir() {
            paths.push(entry.path());
        }
    }
    Ok(paths)
}

fn name(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

/// Reads the key of an instance from its event log.
fn key_of(instance: &Path) -> Option<String> {
    let path = instance.join("events.jsonl");
    if !fs::symlink_metadata(&path).ok()?.is_file() {
        return None;
    }
    let log = BufReader::new(File::open(path).ok()?.take(LOG_READ_MAX));
    log.lines().map_while(Result::ok).find_map(|line| {
        let event: Value = serde_json::from_str(&line).ok()?;
        Some(event.get("instanceKey")?.as_str()?.to_owned())
    })
}

/// Returns the bytes of the files beneath a directory. Files that are removed meanwhile do not count.
fn bytes_of(dir: &Path) -> io::Result<u64> {
    let mut bytes = 0;
    let mut folders = vec![dir.to_owned()];
    while let Some(folder) = folders.pop() {
        let read = match fs::read_dir(&folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            read => read?,
        };
        for entry in read {
            let entry = entry?;
            match entry.metadata() {
                Ok(metadata) if metadata.is_dir() => folders.push(entry.path()),
                Ok(metadata) => bytes += metadata.len(),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
    }
    Ok(bytes)
}

fn last_used(dir: &Path) -> io::Result<SystemTime> {
    let mut last = fs::symlink_metadata(dir)?.modified()?;
    for entry in fs::read_dir(dir)? {
        let metadata = entry?.metadata();
        last = last.max(
            metadata
                .and_then(|metadata| metadata.modified())
                .unwrap_or(last),
        );
    }
    Ok(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instances_are_listed_with_their_keys_and_sizes_and_one_is_removed() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path();
        assert_eq!(list(root).unwrap(), []);
        let policy = Policy::parse("workspace: shop", "p.yaml").unwrap();
        let bundle = root.join("bundle.yaml");
        // Links in the state root are not followed.
        let outside = tempfile::tempdir().unwrap();
        fs::write(outside.path().join("kept"), [0; 5000]).unwrap();
        let link = |path: PathBuf| std::os::unix::fs::symlink(outside.path(), path).unwrap();
        for (policy, key) in [
            (&policy, "ann"),
            (&policy, "bob"),
            (&Policy::default(), "ann"),
        ] {
            let bundle = BundleKey::new(policy.workspace(), manifest(&bundle));
            let workspace = bundle.workspace(root, key);
            fs::create_dir_all(&workspace).unwrap();
            fs::write(workspace.join("f"), [0; 1000]).unwrap();
            link(workspace.join("out"));
            let event = format!("{{\"type\":\"log.lost\"}}\n{{\"instanceKey\":\"{key}\"}}\n");
            fs::write(bundle.instance(root, key).join("events.jsonl"), event).unwrap();
        }
        link(
            root.join(WORKSPACES)
                .join("shop")
                .join(INSTANCES)
                .join("link"),
        );
        let instances = list(root).unwrap();
        let mut shown: Vec<_> = instances
            .iter()
            .map(|it| (it.bundle.clone(), it.key.clone().unwrap()))
            .collect();
        shown.sort();
        let of_path = name_of(&Policy::default(), &bundle);
        let pair = |bundle: &str, key: &str| (bundle.to_owned(), key.to_owned());
        let mut expected = [
            pair("shop", "ann"),
            pair("shop", "bob"),
            pair(&of_path, "ann"),
        ];
        expected.sort();
        assert_eq!(shown, expected);
        assert_eq!(name_of(&policy, &bundle), "shop");
        assert!(
            instances.iter().all(|it| (1000..1200).contains(&it.bytes)),
            "{instances:?}"
        );
        let is_ann = |it: &&StoredInstance| it.bundle == "shop" && it.key.as_deref() == Some("ann");
        let ann = instances.iter().find(is_ann).unwrap();
        remove(root, ann).unwrap();
        let left = list(root).unwrap();
        assert_eq!(left.len(), 2);
        assert!(!left.iter().any(|it| is_ann(&it)));
        assert!(!ann.path.exists() && outside.path().join("kept").exists());
        let hidden = fs::read_dir(root.join(WORKSPACES)).unwrap();
        assert_eq!(hidden.count(), 2, "nothing is left of it");
    }
}
