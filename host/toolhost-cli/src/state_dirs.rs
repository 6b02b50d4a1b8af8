//! The directories that the host keeps files in.

use std::ffi::OsString;
use std::path::PathBuf;

/// The directories of the user; `None` if no option or variable names one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct StateDirs {
    /// Holds instances' workspaces and the cache key.
    pub(crate) state_root: Option<PathBuf>,
    /// Holds compiled components.
    pub(crate) cache: Option<PathBuf>,
    /// Docker's configuration file, which may have credentials for registries.
    pub(crate) docker_config: Option<PathBuf>,
    /// The home directory, which is never a workdir.
    pub(crate) home: Option<PathBuf>,
}

/// Name of the host's folder in the XDG directories.
const OWN: &str = "toolhost";

/// The directory of state without options and variables, beneath the home directory.
const STATE: &str = ".local/state";

impl StateDirs {
    /// Finds the directories: by the option, `TOOLHOST_STATE_ROOT`, the XDG variables, or `HOME`, in this
    /// order. `variable` returns the value of an environment variable that is set and not empty.
    pub(crate) fn find(flag: Option<PathBuf>, variable: impl Fn(&str) -> Option<OsString>) -> Self {
        let path = |name: &str| variable(name).map(PathBuf::from);
        // The XDG specification says to ignore relative paths.
        let absolute = |name: &str| path(name).filter(|path| path.is_absolute());
        let home = absolute("HOME");
        let directory = |name: &str, default: &str| {
            let dir = absolute(name).or_else(|| Some(home.as_ref()?.join(default)));
            Some(dir?.join(OWN))
        };
        let state_root = flag.or_else(|| path("TOOLHOST_STATE_ROOT"));
        Self {
            state_root: state_root.or_else(|| directory("XDG_STATE_HOME", STATE)),
            cache: directory("XDG_CACHE_HOME", ".cache"),
            docker_config: path("DOCKER_CONFIG")
                .or_else(|| Some(home.as_ref()?.join(".docker")))
                .map(|folder| folder.join("config.json")),
            home,
        }
    }

    /// Returns the directory of state, unless another process of this user finds it without options and
    /// variables.
    pub(crate) fn own_state_root(&self) -> Option<&PathBuf> {
        let home = self.home.as_ref();
        let default = home.map(|home| home.join(STATE).join(OWN));
        let root = self.state_root.as_ref()?;
        (Some(root) != default.as_ref()).then_some(root)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_precede_variables_and_variables_precede_defaults() {
        let check = |variables: &[(&str, &str)],
                     flag: Option<&str>,
                     state: Option<&str>,
                     cache: Option<&str>| {
            let variable = |name: &str| {
                let variable = variables.iter().find(|(key, _)| *key == name);
                variable.map(|(_, value)| OsString::from(value))
            };
            let dirs = StateDirs::find(flag.map(PathBuf::from), variable);
            let expected = (state.map(PathBuf::from), cache.map(PathBuf::from));
            assert_eq!(
                (dirs.state_root, dirs.cache),
                expected,
                "{variables:?} {flag:?}"
            );
        };
        let (home, xdg) = (("HOME", "/h"), ("XDG_STATE_HOME", "/x"));
        let (own, cache) = (("TOOLHOST_STATE_ROOT", "/t"), ("XDG_CACHE_HOME", "/c"));
        let (state, cached) = ("/h/.local/state/toolhost", "/h/.cache/toolhost");
        check(&[], None, None, None);
        check(&[home], None, Some(state), Some(cached));
        let relative = [("XDG_STATE_HOME", "x"), ("XDG_CACHE_HOME", "c")];
        check(
            &[home, relative[0], relative[1]],
            None,
            Some(state),
            Some(cached),
        );
        check(&[("HOME", "h")], None, None, None);
        check(
            &[home, xdg, cache],
            None,
            Some("/x/toolhost"),
            Some("/c/toolhost"),
        );
        check(&[home, xdg, own], None, Some("/t"), Some(cached));
        check(&[home, xdg, own], Some("f"), Some("f"), Some(cached));
        check(&[cache], Some("/f"), Some("/f"), Some("/c/toolhost"));
    }
}
