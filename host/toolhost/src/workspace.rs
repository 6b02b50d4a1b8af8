//! Paths of instance workspaces: `{stateRoot}/workspaces/{bundle}/instances/{key}/workspace`.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use data_encoding::BASE32_NOPAD;
use sha2::{Digest, Sha256};
use toolhost_system::ffi::OsStrExt;

/// Longest readable part of a directory name, in characters.
const SLUG_MAX: usize = 40;

/// Bytes of the key's digest in a directory name.
const DIGEST_BYTES: usize = 16;

/// Returns the directory that contains those of a bundle's instances.
pub(crate) fn instances_directory(state_root: &Path, bundle: &Path) -> PathBuf {
    state_root
        .join("workspaces")
        .join(directory_name(&bundle_key(bundle)))
        .join("instances")
}

/// Returns the identity of a bundle: its path. A path that is not UTF-8 has each of its bytes in it, and
/// a beginning that no absolute path has, so that different paths are different bundles.
pub(crate) fn bundle_key(bundle: &Path) -> Cow<'_, str> {
    let bytes = || format!("bytes:{}", bundle.as_os_str().as_bytes().escape_ascii()).into();
    bundle.to_str().map_or_else(bytes, Cow::from)
}

/// Returns the directory of an instance, which contains its event log and its workspace.
pub(crate) fn instance_directory(state_root: &Path, bundle: &Path, instance_key: &str) -> PathBuf {
    instances_directory(state_root, bundle).join(directory_name(instance_key))
}

/// Returns the workspace of an instance.
///
/// Spec: tool-spec-v2 §2.5(1).
pub(crate) fn instance_workspace(state_root: &Path, bundle: &Path, instance_key: &str) -> PathBuf {
    instance_directory(state_root, bundle, instance_key).join("workspace")
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
        let of =
            |path: &[u8]| instances_directory(Path::new("/s"), Path::new(OsStr::from_bytes(path)));
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
        let directory = instances_directory(Path::new("/s"), Path::new("/srv/b/가/goondan.yaml"));
        let expected = "/s/workspaces/srv-b---goondan-yaml~txdl7lln63ifkm2yglvcrqjkxm/instances";
        assert_eq!(directory, Path::new(expected));
    }

    #[test]
    fn the_workspace_has_the_path_of_the_specification() {
        // tool-spec-v2 §2.5(1), tool-module-v1: {instanceStatePath}/workspace
        let path = instance_workspace(Path::new("/state"), Path::new("/b/goondan.yaml"), "user-1");
        let path = path.to_string_lossy().into_owned();
        assert!(
            path.starts_with("/state/workspaces/b-goondan-yaml~"),
            "{path}"
        );
        assert!(path.contains("/instances/user-1~"), "{path}");
        assert!(path.ends_with("/workspace"), "{path}");
    }
}
