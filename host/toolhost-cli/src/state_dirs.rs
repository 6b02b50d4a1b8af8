//! The directories that the host keeps files in.

use std::path::PathBuf;

use crate::environment::Environment;

/// The directories of the user; `None` if no option or variable names one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct StateDirs {
    /// Holds instances' workspaces and the cache key.
    pub(crate) state_root: Option<PathBuf>,
    /// Holds compiled components.
    pub(crate) cache: Option<PathBuf>,
    /// The home directory, which is never a workdir.
    pub(crate) home: Option<PathBuf>,
}

/// Name of the host's folder in the XDG directories.
const OWN: &str = "toolhost";

impl StateDirs {
    /// Finds the directories: by the option, `TOOLHOST_STATE_ROOT`, the XDG variables, or `HOME`, in this
    /// order.
    pub(crate) fn find(environment: &Environment, flag: Option<PathBuf>) -> Self {
        let at_home = |below: &str| environment.home.as_ref().map(|home| home.join(below));
        let state_home = || {
            environment
                .xdg_state
                .clone()
                .or_else(|| at_home(".local/state"))
        };
        let cache_home = environment.xdg_cache.clone().or_else(|| at_home(".cache"));
        let state_root = flag.or_else(|| environment.state_root.clone());
        Self {
            state_root: state_root.or_else(|| Some(state_home()?.join(OWN))),
            cache: cache_home.map(|dir| dir.join(OWN)),
            home: environment.home.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(variables: &[(&str, &str)]) -> Environment {
        let path = |name: &str| {
            let mut found = variables.iter().filter(|(known, _)| *known == name);
            found.next().map(|(_, value)| PathBuf::from(value))
        };
        Environment {
            home: path("HOME"),
            state_root: path("TOOLHOST_STATE_ROOT"),
            xdg_state: path("XDG_STATE_HOME"),
            xdg_cache: path("XDG_CACHE_HOME"),
            colourless: false,
            cargo_target_dir: false,
        }
    }

    #[test]
    fn options_go_before_variables_and_variables_before_defaults() {
        let check = |variables: &[(&str, &str)],
                     flag: Option<&str>,
                     state: Option<&str>,
                     cache: Option<&str>| {
            let dirs = StateDirs::find(&environment(variables), flag.map(PathBuf::from));
            assert_eq!(
                dirs.state_root,
                state.map(PathBuf::from),
                "{variables:?} {flag:?}"
            );
            assert_eq!(
                dirs.cache,
                cache.map(PathBuf::from),
                "{variables:?} {flag:?}"
            );
        };
        let (home, xdg) = (("HOME", "/h"), ("XDG_STATE_HOME", "/x"));
        let (own, cache) = (("TOOLHOST_STATE_ROOT", "/t"), ("XDG_CACHE_HOME", "/c"));
        check(&[], None, None, None);
        check(
            &[home],
            None,
            Some("/h/.local/state/toolhost"),
            Some("/h/.cache/toolhost"),
        );
        check(
            &[home, xdg, cache],
            None,
            Some("/x/toolhost"),
            Some("/c/toolhost"),
        );
        check(
            &[home, xdg, own],
            None,
            Some("/t"),
            Some("/h/.cache/toolhost"),
        );
        check(
            &[home, xdg, own],
            Some("f"),
            Some("f"),
            Some("/h/.cache/toolhost"),
        );
        check(&[cache], Some("/f"), Some("/f"), Some("/c/toolhost"));
    }
}
