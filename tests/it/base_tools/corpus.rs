//! Compares the bash tool with bash of this machine: the same script and files must have the same result.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;
use toolhost_tests::test_host::{TestHost, open_step, tool_call};

use super::{base, command, output};

const SCRIPTS: &str = include_str!("../../fixtures/base/scripts.sh");

/// The initial files of a script.
const FILES: &[(&str, &str)] = &[
    ("a.txt", "apple\nbanana\ncherry\n"),
    ("b.txt", "banana\ndate\nfig\n"),
    (
        "data.csv",
        "name,qty,price\nnut,3,1.50\nbolt,10,0.25\nwasher,7,0.10\n",
    ),
    (
        "log.txt",
        "info start now\nerror disk full\ninfo the the end\nwarn low\n",
    ),
    ("empty", ""),
    ("src/main.rs", "fn main() {}\n"),
    ("src/lib/util.rs", "fn util() {}\nfn more() {}\n"),
];

struct Script {
    name: &'static str,
    /// The reason for a known difference.
    differs: Option<&'static str>,
    text: &'static str,
}

fn scripts() -> Vec<Script> {
    let parse = |section: &'static str| {
        let (title, text) = section.split_once('\n').unwrap();
        let (name, differs) = match title.split_once(": ") {
            Some((name, reason)) => (name, Some(reason)),
            None => (title, None),
        };
        Script {
            name,
            differs,
            text: text.trim_end(),
        }
    };
    SCRIPTS.split("\n### ").skip(1).map(parse).collect()
}

/// The result of a script.
#[derive(Debug, PartialEq)]
struct ScriptResult {
    stdout: String,
    exit_code: i64,
    files: BTreeMap<PathBuf, String>,
}

fn seed(dir: &Path) {
    for (path, content) in FILES {
        let path = dir.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
}

/// Returns every name beneath a directory, with its type and contents.
fn files(dir: &Path) -> BTreeMap<PathBuf, String> {
    let mut found = BTreeMap::new();
    let mut folders = vec![dir.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let kind = fs::symlink_metadata(&path).unwrap().file_type();
            let what = if kind.is_symlink() {
                format!("link to {}", fs::read_link(&path).unwrap().display())
            } else if kind.is_dir() {
                folders.push(path.clone());
                "folder".to_owned()
            } else {
                format!(
                    "file {:?}",
                    String::from_utf8_lossy(&fs::read(&path).unwrap())
                )
            };
            found.insert(path.strip_prefix(dir).unwrap().to_owned(), what);
        }
    }
    found
}

/// Runs a script with the machine's bash.
fn run_bash(script: &str) -> ScriptResult {
    let dir = tempfile::tempdir().unwrap();
    seed(dir.path());
    let ran = Command::new("/bin/bash")
        .args(["-c", script])
        .current_dir(dir.path())
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        // UTF-8, sorted by bytes, as in the sandbox.
        .env("LC_ALL", "C.UTF-8")
        .env("HOME", dir.path())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    ScriptResult {
        stdout: String::from_utf8_lossy(&ran.stdout).into_owned(),
        exit_code: ran.status.code().map_or(-1, i64::from),
        files: files(dir.path()),
    }
}

/// Runs a script with the tool.
async fn run_tool(test_host: &TestHost, script: &str) -> (ScriptResult, Value) {
    let dir = tempfile::tempdir().unwrap();
    seed(dir.path());
    let workdir = test_host.host.workdir(dir.path()).unwrap();
    let step = open_step(&test_host.agent, "instance", &workdir).await;
    let result = step
        .execute_without_message(tool_call("bash__exec", command(script)))
        .await;
    let output = output(&result).clone();
    let came = ScriptResult {
        stdout: output["stdout"].as_str().unwrap().to_owned(),
        exit_code: output["exitCode"].as_i64().unwrap(),
        files: files(dir.path()),
    };
    (came, output)
}

#[tokio::test]
async fn scripts_have_the_same_results_as_in_bash() {
    let test_host = base("").await;
    let (mut compared, mut wrong) = (0, Vec::new());
    for script in scripts() {
        let expected = run_bash(script.text);
        let (came, output) = run_tool(&test_host, script.text).await;
        match script.differs {
            None if came != expected => wrong.push(format!(
                "{}: expected {expected:#?}, but got {came:#?}: {}",
                script.name, output["stderr"]
            )),
            Some(reason) if came == expected => {
                wrong.push(format!("{}: no longer differs: {reason}", script.name));
            }
            None => compared += 1,
            Some(_) => {}
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    assert!(compared >= 60, "{compared}");
}
