//! The state root and the cache, and commands without them.

use std::fs;

use crate::terminal::{Ran, Terminal, examples};

#[test]
fn state_and_cache_are_in_the_directories_that_the_help_names() {
    let terminal = Terminal::new();
    let run = |words: &[&str], variables: &[(&str, &str)]| {
        let mut command = terminal.toolhost(["list"]);
        command
            .arg(examples())
            .args(words)
            .env_clear()
            .env("HOME", terminal.path("home"));
        for (name, value) in variables {
            command.env(name, terminal.path(value));
        }
        Ran::of(&mut command).exits(0)
    };
    let made = |path: &str| {
        let path = terminal.path(path);
        let there = path.exists();
        let _ = fs::remove_dir_all(&path).or_else(|_| fs::remove_file(&path));
        there
    };
    run(&[], &[]);
    assert!(made("home/.local/state/toolhost/cache.key") && made("home/.cache/toolhost"));
    run(&[], &[("XDG_STATE_HOME", "s"), ("XDG_CACHE_HOME", "c")]);
    assert!(made("s/toolhost/cache.key") && made("c/toolhost"));
    run(
        &[],
        &[("XDG_STATE_HOME", "s"), ("TOOLHOST_STATE_ROOT", "t")],
    );
    assert!(made("t/cache.key") && !made("s/toolhost/cache.key"));
    run(
        &["--state-root", "../flag"],
        &[("TOOLHOST_STATE_ROOT", "t")],
    );
    assert!(made("flag/cache.key") && !made("t/cache.key"));
}

#[test]
fn a_second_start_compiles_nothing() {
    let terminal = Terminal::new();
    let run = || {
        let mut command = terminal.toolhost(["list", "-v"]);
        command
            .arg(examples())
            .env_remove("XDG_CACHE_HOME")
            .env_remove("XDG_STATE_HOME");
        Ran::of(&mut command).exits(0).stderr
    };
    let (first, second) = (run(), run());
    assert_eq!(first.matches("origin=Compiled").count(), 3, "{first}");
    assert_eq!(second.matches("origin=Cached").count(), 3, "{second}");
}

#[test]
fn without_a_state_root_everything_but_workspaces_works() {
    let terminal = Terminal::new();
    terminal.write("file", "x");
    let text = examples().join(".toolhost/text.wasm");
    // Without a home, and with a file in place of the directories.
    for places in [
        &[][..],
        &["XDG_CACHE_HOME", "XDG_STATE_HOME"],
        &["XDG_STATE_HOME"],
    ] {
        let command = |words: &[&str]| {
            let mut command = terminal.toolhost(words);
            command
                .env_clear()
                .env("XDG_CACHE_HOME", terminal.path("cache"));
            if places.is_empty() {
                command.env_remove("XDG_CACHE_HOME");
            }
            for name in places {
                command.env(name, terminal.path("file"));
            }
            command
        };
        let bundle = terminal.bundle("bundle", &[("text", &["upper"])]);
        for (words, path) in [
            (["check"], &bundle),
            (["list"], &bundle),
            (["inspect"], &text),
        ] {
            let ran = Ran::of(command(&words).arg(path)).exits(0);
            assert_eq!(
                ran.stderr
                    .matches("note: compiled components are not kept: ")
                    .count(),
                1,
                "{ran:?}"
            );
        }
        let call = ["text__upper", "--quiet", "--args", r#"{"text":"hi"}"#];
        let mut with_workdir = command(&["call", "--workdir", "../D"]);
        let ran = Ran::of(with_workdir.arg(&bundle).args(call)).exits(0);
        assert_eq!(ran.json()["output"]["text"], "HI");
        let ran = Ran::of(command(&["call"]).arg(&bundle).args(call)).fails(2, "error: the");
        assert!(ran.stderr.contains("hint: Pass --workdir DIR"), "{ran:?}");
    }
    assert_eq!(terminal.names("here"), Vec::<String>::new());
}
