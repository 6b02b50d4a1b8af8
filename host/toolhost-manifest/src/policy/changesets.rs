//! Reads `changesets`: whether an agent may change its own bundle, and which of its files.

use crate::reader::{Cursor, Findings};
use crate::yaml::Value;
use toolhost_contract::text::short;

/// Maximum number of paths in a list.
const PATHS_MAX: usize = 1_000;

/// The files of its own bundle that an agent may change through changesets.
///
/// ```
/// use toolhost_manifest::Policy;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let policy = Policy::parse("agents: {coder: {changesets: [goondan.yaml, tools/]}}", "policy.yaml")?;
/// let grant = policy.changesets("coder").ok_or("it is granted")?;
/// assert!(grant.allows("tools/new.wasm"));
/// assert!(!grant.allows("README.md"));
/// assert!(policy.changesets("reader").is_none());
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangesetGrant {
    /// The paths from the bundle's folder; one that ends in `/` is a folder. None: all files.
    paths: Option<Vec<String>>,
}

impl ChangesetGrant {
    /// Returns whether a file may be changed. `path` is relative to the bundle's folder, without `.` and
    /// `..`.
    pub fn allows(&self, path: &str) -> bool {
        let matches = |allowed: &String| {
            if allowed.ends_with('/') {
                path.starts_with(allowed.as_str())
            } else {
                path == allowed
            }
        };
        self.paths
            .as_ref()
            .is_none_or(|paths| paths.iter().any(matches))
    }

    /// Returns the paths that may be changed; none if all may be.
    pub fn paths(&self) -> Option<&[String]> {
        self.paths.as_deref()
    }
}

/// Reads `true`, `false`, or a list of paths.
pub(super) fn read(at: &Cursor<'_>, findings: &mut Findings) -> Option<Option<ChangesetGrant>> {
    match at.node.value {
        Value::Bool(false) => return Some(None),
        Value::Bool(true) => return Some(Some(ChangesetGrant { paths: None })),
        Value::List(_) => {}
        Value::Null | Value::Integer(_) | Value::Float(_) | Value::Text(_) | Value::Map(_) => {
            return at.expected("true, false or a list of paths", findings);
        }
    }
    let items = at.items_up_to(PATHS_MAX, findings)?;
    let paths = items.iter().filter_map(|item| read_path(item, findings));
    let paths = Some(paths.collect());
    Some(Some(ChangesetGrant { paths }))
}

fn read_path(at: &Cursor<'_>, findings: &mut Findings) -> Option<String> {
    let path = at.text(findings)?;
    let path = path.strip_prefix("./").unwrap_or(path);
    let parts = path.strip_suffix('/').unwrap_or(path).split('/');
    let mut parts = parts.map(|part| matches!(part, "" | "." | ".."));
    if parts.any(|is_invalid| is_invalid) {
        let message = format!(
            "'{}' is not a path from the bundle's folder, such as 'goondan.yaml' or 'tools/'",
            short(path)
        );
        return at.refuse(message, findings);
    }
    Some(path.to_owned())
}
