//! The tests of files again, each call as a transaction: what a guest gets, and what lies in the workdir after the
//! commit, is as in a direct call.

use std::process::Command;

use toolhost_tests::TRANSACTIONAL;

/// The groups that run again.
const GROUPS: [&str; 8] = [
    "files::budgets::",
    "files::contents::",
    "files::escapes::",
    "files::host_comparison::",
    "files::irregular::",
    "files::names::",
    "files::protection::",
    "files::times::",
];

/// What differs in a transaction, and why.
const DIFFERENT: [&str; 0] = [];

#[test]
fn every_case_of_the_tests_of_files_holds_in_a_transactional_workdir() {
    let mut tests = Command::new(std::env::current_exe().unwrap());
    tests.args(GROUPS).arg("--test-threads=2");
    for test in DIFFERENT {
        tests.args(["--skip", test]);
    }
    let ran = tests.env(TRANSACTIONAL, "1").output().unwrap();
    let [output, errors] = [&ran.stdout, &ran.stderr].map(|text| String::from_utf8_lossy(text));
    assert!(ran.status.success(), "{output}\n{errors}");
    assert!(output.contains("a_guest_gets_the_same_results_as_the_host"));
}
