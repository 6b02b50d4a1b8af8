//! Compares the bash tool with Debian's programs: a script must have the same exit code, the same stdout,
//! something or nothing on stderr, and the same files afterwards. See tests/fixtures/corpus/README.

mod result;
mod script;

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use futures_util::stream::{self, StreamExt as _};
use serde_json::json;
use toolhost_tests::test_host::{TestHost, open_step, tool_call};

use self::result::{FOLDER, Folder};
use self::script::{Script, expected, families, known_differences, scripts, write_expected};
use super::{base, output};

/// Shows the differences of the scripts with this in `FAMILY/NAME`, known or not.
const FILTER: &str = "CORPUS";

/// The largest share of scripts that may be listed as different.
const LISTED_PERCENT_MAX: usize = 3;

/// Writes what Debian's programs do.
const UPDATE: &str = "UPDATE_CORPUS";

/// Programs of Debian 12 that not every installation has.
const PROGRAMS: [&str; 11] = [
    "bc", "column", "file", "gawk", "jq", "patch", "rg", "tree", "unzip", "xxd", "zip",
];

/// The user `nobody`.
const NOBODY: u32 = 65_534;

/// How many scripts run at a time.
const AT_A_TIME: usize = 4;

/// The variables of every script: UTF-8, sorted by bytes.
const VARIABLES: [(&str, &str); 2] = [("LC_ALL", "C.UTF-8"), ("TZ", "UTC")];

fn filter() -> String {
    std::env::var(FILTER).unwrap_or_default()
}

/// Runs a script with the programs of this machine, never as root: a script must not change the machine.
fn run_programs(script: &Script) -> String {
    let folder = Folder::new();
    let root = folder.dir.path();
    let mut bash = Command::new("/bin/bash");
    if fs::metadata(root).unwrap().uid() == 0 {
        folder.give_to(NOBODY);
        bash.uid(NOBODY).gid(NOBODY);
    }
    let ran = bash
        .arg0("bash")
        .args(["-c", &script.text])
        .current_dir(root.join(FOLDER))
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .env("HOME", root)
        .envs(VARIABLES)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    folder.result(
        ran.status.code().map_or(-1, i64::from),
        &String::from_utf8_lossy(&ran.stdout),
        &String::from_utf8_lossy(&ran.stderr),
    )
}

/// Runs a script with the tool. Returns its result and what it wrote to stderr.
async fn run_tool(test_host: Arc<TestHost>, script: Script) -> (Script, String, String) {
    let folder = Folder::new();
    let workdir = test_host.host.workdir(folder.dir.path()).unwrap();
    let step = open_step(&test_host.agent, "instance", &workdir).await;
    let variables =
        serde_json::Map::from_iter(VARIABLES.map(|(name, value)| (name.into(), value.into())));
    let args = json!({"command": script.text, "cwd": FOLDER, "env": variables});
    let result = step
        .execute_without_message(tool_call("bash__exec", args))
        .await;
    if let Some(error) = result.tool_error() {
        return (script, format!("error {}\n", error.message), String::new());
    }
    let output = output(&result);
    let text = |field: &str| output[field].as_str().unwrap();
    let exit_code = output["exitCode"].as_i64().unwrap();
    let result = folder.result(exit_code, text("stdout"), text("stderr"));
    (script, result, text("stderr").to_owned())
}

/// Returns the lines that only one of two texts has, by the longest common beginning and end.
fn difference(expected: &str, result: &str) -> String {
    let (expected, result): (Vec<_>, Vec<_>) =
        (expected.lines().collect(), result.lines().collect());
    let same = |pair: &(&&str, &&str)| pair.0 == pair.1;
    let first = expected.iter().zip(&result).take_while(same).count();
    let (expected, result) = (&expected[first..], &result[first..]);
    let last = expected
        .iter()
        .rev()
        .zip(result.iter().rev())
        .take_while(same)
        .count();
    let expected = expected[..expected.len() - last]
        .iter()
        .map(|line| format!("  Debian: {line}\n"));
    let result = result[..result.len() - last]
        .iter()
        .map(|line| format!("  tool:   {line}\n"));
    expected.chain(result).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn scripts_have_the_same_results_as_with_the_programs_of_debian() {
    let test_host = Arc::new(base("").await);
    let filter = filter();
    let families = families();
    let scripts: Vec<_> = families.iter().flat_map(|family| scripts(family)).collect();
    let expected: Vec<_> = families.iter().map(|family| expected(family)).collect();
    let expected = |name: &str| expected.iter().find_map(|results| results.get(name));
    let chosen: Vec<_> = scripts
        .iter()
        .filter(|script| script.name.contains(&filter))
        .cloned()
        .collect();
    let calls = chosen
        .into_iter()
        .map(|script| tokio::spawn(run_tool(Arc::clone(&test_host), script)));
    let results: Vec<_> = stream::iter(calls).buffered(AT_A_TIME).collect().await;

    let known = known_differences();
    let mut wrong = Vec::new();
    for result in results {
        let (script, result, stderr) = result.unwrap();
        let Some(expected) = expected(&script.name) else {
            wrong.push(format!("{}: no expected result", script.name));
            continue;
        };
        let known = known.get(&script.name).filter(|_| filter.is_empty());
        let agrees = expected.trim_end() == result.trim_end();
        match known {
            None if !agrees => wrong.push(format!(
                "{}\n  {}\n{}  stderr: {stderr:?}\n",
                script.name,
                script.text.replace('\n', "\n  "),
                difference(expected, &result)
            )),
            Some(_) if agrees => {
                wrong.push(format!(
                    "{}: agrees: take it off differences.txt",
                    script.name
                ));
            }
            None | Some(_) => {}
        }
    }
    for name in known.keys() {
        if !scripts.iter().any(|script| script.name == *name) {
            wrong.push(format!("{name}: there is no such script"));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} differ:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    assert!(
        known.len() * 100 <= scripts.len() * LISTED_PERCENT_MAX,
        "{} of {} scripts are listed as different",
        known.len(),
        scripts.len()
    );
}

/// Runs scripts with the programs of this machine, some at a time.
fn run_all_programs(scripts: &[Script]) -> Vec<String> {
    std::thread::scope(|scope| {
        let threads: Vec<_> = scripts
            .chunks(scripts.len().div_ceil(AT_A_TIME).max(1))
            .map(|scripts| scope.spawn(|| scripts.iter().map(run_programs).collect::<Vec<_>>()))
            .collect();
        let results = threads.into_iter().map(|thread| thread.join().unwrap());
        results.flatten().collect()
    })
}

/// Of how many scripts one is run by the programs of Debian, unless a filter is given.
const SAMPLED: usize = 5;

#[test]
fn the_programs_of_debian_still_give_the_expected_results() {
    let version = fs::read_to_string("/etc/debian_version").unwrap_or_default();
    let missing = PROGRAMS
        .iter()
        .find(|name| !Path::new("/usr/bin").join(name).exists());
    if !version.starts_with("12.") || missing.is_some() {
        println!("not tested: the results are those of Debian 12 with {PROGRAMS:?}");
        return;
    }
    let filter = filter();
    let mut wrong = String::new();
    for family in families() {
        let mut scripts = scripts(&family);
        if std::env::var_os(UPDATE).is_some() {
            write_expected(&family, &scripts, &run_all_programs(&scripts));
            continue;
        }
        scripts.retain(|script| script.name.contains(&filter));
        // The programs do not change: a part of them shows that the files are theirs.
        if filter.is_empty() {
            let parts = scripts.into_iter().step_by(SAMPLED);
            scripts = parts.collect();
        }
        let expected = expected(&family);
        for (script, result) in scripts.iter().zip(run_all_programs(&scripts)) {
            let expected = expected.get(&script.name).map_or("", String::as_str);
            if expected.trim_end() != result.trim_end() {
                wrong += &format!("{}\n{}", script.name, difference(expected, &result));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}
