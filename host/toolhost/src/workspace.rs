//! Paths of instance workspaces: `{stateRoot}/workspaces/{bundle}/instances/{key}/workspace`.

use std::borrow::Cow;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::{fs, io};

use data_encoding::BASE32_NOPAD;
use sha2::{Digest, Sha256};
use toolhost_contract::ResourceName;

/// Longest readable part of a directory name, in characters.
const SLUG_MAX: usize = 40;

/// Bytes of the key's digest in a directory name.
const DIGEST_BYTES: usize = 16;

/// The directory of workspaces beneath a state root, and that of the instances of a bundle.
pub(crate) const WORKSPACES: &str = "workspaces";
pub(crate) const INSTANCES: &str = "instances";

/// The identity of a bundle: what is kept for its instances is kept under it. It is the name that the policy gives, so
/// that a release in another folder has the instances of the one before; otherwise the path of the manifest. The bundle
/// itself gives none: it could name the workspaces of another one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BundleKey {
    name: Option<ResourceName>,
    /// The manifest when the bundle was first loaded.
    path: PathBuf,
}

impl BundleKey {
    /// `name` is that of the policy.
    pub(crate) fn new(name: Option<&ResourceName>, path: PathBuf) -> Self {
        let name = name.cloned();
        Self { name, path }
    }

    /// Returns the manifest when the bundle was first loaded.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the identity as text.
    pub(crate) fn text(&self) -> Cow<'_, str> {
        match &self.name {
            Some(name) => format!("workspace:{name}").into(),
            None => path_text(&self.path),
        }
    }

    /// Returns the name of the bundle's directory beneath a state root. No name of a resource is that of a path.
    pub(crate) fn directory(&self) -> String {
        match &self.name {
            Some(name) => name.to_string(),
            None => directory_name(&path_text(&self.path)),
        }
    }

    /// Returns the directory that contains those of the instances.
    pub(crate) fn instances(&self, state_root: &Path) -> PathBuf {
        let workspaces = state_root.join(WORKSPACES);
        workspaces.join(self.directory()).join(INSTANCES)
    }

    /// Returns the directory of an instance, which contains its event log and its workspace.
    pub(crate) fn instance(&self, state_root: &Path, instance_key: &str) -> PathBuf {
        self.instances(state_root)
            .join(directory_name(instance_key))
    }

    /// Returns the workspace of an instance.
    ///
    /// Spec: tool-spec-v2 §2.5(1).
    pub(crate) fn workspace(&self, state_root: &Path, instance_key: &str) -> PathBuf {
        self.instance(state_root, instance_key).join("workspace")
    }

    /// Moves what is kept under the path of the manifest to the name, if nothing is kept under the name yet. Returns
    /// whether it was moved. One of several processes that begin at once moves it; nothing is merged.
    pub(crate) fn take_over(&self, state_root: &Path) -> io::Result<bool> {
        if self.name.is_none() {
            return Ok(false);
        }
        let workspaces = state_root.join(WORKSPACES);
        let named = workspaces.join(self.directory());
        let of_path = workspaces.join(directory_name(&path_text(&self.path)));
        let is_taken = match fs::symlink_metadata(&named) {
            Ok(_) => true,
            Err(error) if error.kind() == io::ErrorKind::NotFound => false,
            Err(error) => return Err(error),
        };
        if is_taken {
            return Ok(false);
        }
        // A directory that another process has made meanwhile is replaced while it is empty, and otherwise stays.
        match fs::rename(&of_path, &named) {
            Ok(()) => Ok(true),
            Err(error) if is_expected(&error) => Ok(false),
            Err(error) => Err(error),
        }
    }
}

/// Whether there is nothing to move, or another process was first.
fn is_expected(error: &io::Error) -> bool {
    let kinds = [
        io::ErrorKind::NotFound,
        io::ErrorKind::DirectoryNotEmpty,
        io::ErrorKind::AlreadyExists,
    ];
    kinds.contains(&error.kind())
}

/// Returns the text of a path. One that is not UTF-8 has each of its bytes in it, and a beginning that no absolute path
/// has, so that different paths are different bundles.
fn path_text(path: &Path) -> Cow<'_, str> {
    let bytes = || format!("bytes:{}", path.as_os_str().as_bytes().escape_ascii()).into();
    path.to_str().map_or_else(bytes, Cow::from)
}

/// Returns the directory name of a key: a readable part and 128 bits of the key's SHA-256. Different
/// keys have different names, also on a case-insensitive file system.
fn directory_name(key: &str) -> String {
    let readable = |c: char| {
        if c.is_ascii_alphanumeric() {
            c.to_ascii_lowercase()
        } else {
            '-'
        }
    };
    // The end of a path identifies a bundle better than its beginning.
    let skip = key.chars().count().saturating_sub(SLUG_MAX);
    let slug: String = key.chars().skip(skip).map(readable).collect();
    let digest = Sha256::digest(key.as_bytes());
    let digest = BASE32_NOPAD.encode(digest.get(..DIGEST_BYTES).unwrap_or_default());
    format!("{}~{}", slug.trim_matches('-'), digest.to_lowercase())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::ffi::OsStr;

    use super::*;

    #[test]
    fn no_two_keys_share_a_directory() {
        let long = "k".repeat(10_000);
        let shorter = "k".repeat(9_999);
        let keys = [
            "a/b", "a-b", "a.b", "A-B", "a b", "", ".", "..", "../..", "/", "-", "~", "é", "가",
            &long, &shorter,
        ];
        let names: BTreeSet<String> = keys
            .iter()
            .map(|k| directory_name(k).to_lowercase())
            .collect();
        assert_eq!(names.len(), keys.len());
        for name in names {
            assert!(name.len() <= SLUG_MAX + 1 + 26, "{name}");
            assert!(
                name.chars()
                    .all(|c| c.is_ascii_alphanumeric() || "-~".contains(c)),
                "{name}"
            );
            assert!(name.contains('~'));
        }
    }

    #[test]
    fn bundles_whose_paths_are_not_utf8_share_no_workspace() {
        let of = |path: &[u8]| {
            let path = PathBuf::from(OsStr::from_bytes(path));
            BundleKey::new(None, path).instances(Path::new("/s"))
        };
        let paths: [&[u8]; 5] = [
            b"/b/\xff",
            b"/b/\xfe",
            b"/b/\xff\xff",
            "/b/\u{fffd}".as_bytes(),
            b"/b/\\xff",
        ];
        let directories: BTreeSet<PathBuf> = paths.iter().map(|path| of(path)).collect();
        assert_eq!(directories.len(), paths.len(), "{directories:?}");
    }

    #[test]
    fn a_bundle_whose_path_is_utf8_keeps_its_workspace() {
        let key = BundleKey::new(None, "/srv/b/가/goondan.yaml".into());
        let directory = key.instances(Path::new("/s"));
        let expected = "/s/workspaces/srv-b---goondan-yaml~txdl7lln63ifkm2yglvcrqjkxm/instances";
        assert_eq!(directory, Path::new(expected));
    }

    #[test]
    fn the_workspace_has_the_path_of_the_specification() {
        // tool-spec-v2 §2.5(1), tool-module-v1: {instanceStatePath}/workspace
        let key = BundleKey::new(None, "/b/goondan.yaml".into());
        let path = key.workspace(Path::new("/state"), "user-1");
        let path = path.to_string_lossy().into_owned();
        assert!(
            path.starts_with("/state/workspaces/b-goondan-yaml~"),
            "{path}"
        );
        assert!(path.contains("/instances/user-1~"), "{path}");
        assert!(path.ends_with("/workspace"), "{path}");
    }

    fn named(path: &str) -> BundleKey {
        let name = ResourceName::parse("shop").unwrap();
        BundleKey::new(Some(&name), path.into())
    }

    #[test]
    fn a_name_stays_the_same_for_every_path() {
        let (one, other) = (
            named("/srv/r41/goondan.yaml"),
            named("/srv/r42/goondan.yaml"),
        );
        let root = Path::new("/state");
        assert_eq!(one.workspace(root, "u"), other.workspace(root, "u"));
        assert_eq!(
            (one.text(), one.directory()),
            ("workspace:shop".into(), "shop".to_owned())
        );
        // The path of no manifest has this directory or this text.
        let path = BundleKey::new(None, "shop".into());
        assert_ne!(path.directory(), one.directory());
        assert_ne!(path.text(), one.text());
    }

    #[test]
    fn workspaces_of_a_path_are_moved_to_the_name_once_and_never_merged() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path();
        let path = "/srv/r41/goondan.yaml";
        let of_path = BundleKey::new(None, path.into());
        assert!(!of_path.take_over(root).unwrap());
        assert!(
            !named(path).take_over(root).unwrap(),
            "there is nothing to move"
        );
        let write = |key: &BundleKey, name: &str| {
            let workspace = key.workspace(root, "user-1");
            fs::create_dir_all(&workspace).unwrap();
            fs::write(workspace.join(name), "x").unwrap();
        };
        write(&of_path, "old");
        let starts = std::thread::scope(|scope| {
            let start = |_| scope.spawn(|| named(path).take_over(root).unwrap());
            let threads: Vec<_> = (0..8).map(start).collect();
            let moved = threads.into_iter().map(|it| it.join().unwrap());
            moved.filter(|moved| *moved).count()
        });
        assert_eq!(starts, 1);
        let moved = named("/srv/r42/goondan.yaml").workspace(root, "user-1");
        assert!(moved.join("old").exists());
        assert!(!of_path.instances(root).exists());
        // What a host without the name makes later stays where it is.
        write(&of_path, "later");
        assert!(!named(path).take_over(root).unwrap());
        assert!(!moved.join("later").exists());
        assert!(of_path.workspace(root, "user-1").join("later").exists());
        // Nor is it moved over a link, which the operator has made to another disk.
        let named_dir = root.join(WORKSPACES).join("shop");
        let disk = root.join("disk");
        fs::rename(&named_dir, &disk).unwrap();
        std::os::unix::fs::symlink(&disk, &named_dir).unwrap();
        assert!(!named(path).take_over(root).unwrap());
        assert!(moved.join("old").exists());
    }
}
