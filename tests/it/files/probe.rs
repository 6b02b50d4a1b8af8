//! Scripts of raw `wasi:filesystem` calls, run by the guest `fs_probe`.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::{Duration, UNIX_EPOCH};

use serde_json::{Value, json};
use toolhost_sandbox::{CallReport, CommitOptions, Invocation, Workdir};
pub(crate) use toolhost_tests::output;
use toolhost_tests::{Work, invocation, prepared, transactional_staging};

use super::snapshot::{Tree, tree};

/// The results of a script.
pub(crate) struct Ran {
    /// One result for each step.
    pub(crate) results: Vec<Value>,
    pub(crate) report: CallReport,
}

impl Ran {
    /// Reads the output of `fs_probe`.
    pub(crate) fn of(report: CallReport) -> Self {
        let results = output(&report)["results"].as_array().unwrap().clone();
        Self { results, report }
    }

    /// Returns the code of each step: `ok`, or the name of the error.
    pub(crate) fn codes(&self) -> Vec<&str> {
        self.results.iter().map(code).collect()
    }
}

/// Returns `ok`, or the name of the error.
pub(crate) fn code(result: &Value) -> &str {
    result["error"].as_str().unwrap_or("ok")
}

/// Runs one handler of a guest in a workdir; `change` modifies the invocation.
pub(crate) async fn call(
    guest: &str,
    handler: &str,
    input: Value,
    workdir: &Workdir,
    change: impl FnOnce(&mut Invocation),
) -> CallReport {
    let mut request = invocation(handler, &input, None);
    let transaction = Transaction::begin(workdir);
    let used = transaction.as_ref().map(|begun| begun.workdir.clone());
    request.workdir = Some(used.unwrap_or_else(|| workdir.clone()));
    change(&mut request);
    let report = prepared(guest).await.call(request).await;
    if let Some(transaction) = transaction {
        transaction.end(&report);
    }
    report
}

/// How many transactions were committed in each workdir: no call changes one otherwise.
static COMMITS: Mutex<BTreeMap<PathBuf, u64>> = Mutex::new(BTreeMap::new());

/// A transaction of one call, if the tests run with transactional workdirs.
struct Transaction {
    workdir: Workdir,
    path: PathBuf,
    before: Tree,
    commits: u64,
}

impl Transaction {
    fn begin(workdir: &Workdir) -> Option<Self> {
        let staging = transactional_staging()?;
        let path = workdir.real_path().unwrap();
        let commits = COMMITS.lock().unwrap();
        Some(Self {
            workdir: workdir.transactional(staging).unwrap(),
            before: tree(&path, None),
            commits: commits.get(&path).copied().unwrap_or_default(),
            path,
        })
    }

    /// Commits what a call has changed, if it succeeded. Until then the workdir is untouched.
    fn end(self, report: &CallReport) {
        let mut commits = COMMITS.lock().unwrap();
        let commits = commits.entry(self.path.clone()).or_default();
        if *commits == self.commits {
            assert_eq!(tree(&self.path, None), self.before, "before the commit");
        }
        if report.outcome.is_ok() {
            self.workdir.commit(&CommitOptions::default()).unwrap();
            *commits += 1;
        }
    }
}

/// Runs a script; `change` modifies the invocation.
pub(crate) async fn script(
    workdir: &Workdir,
    steps: &[Value],
    change: impl FnOnce(&mut Invocation),
) -> Ran {
    let input = json!({ "script": steps });
    Ran::of(call("fs_probe", "run", input, workdir, change).await)
}

/// Runs a script and compares each step with its expected result: an error's name, or an object whose
/// members must be in the result. Returns the results.
pub(crate) async fn check(work: &Work, cases: &[(Value, Value)]) -> Vec<Value> {
    let steps: Vec<Value> = cases.iter().map(|(step, _)| step.clone()).collect();
    let ran = script(&work.workdir, &steps, |_| ()).await;
    for ((step, expected), result) in cases.iter().zip(&ran.results) {
        if let Value::String(name) = expected {
            assert_eq!(code(result), name, "{step}");
            continue;
        }
        assert_eq!(code(result), "ok", "{step}");
        for (name, value) in expected.as_object().into_iter().flatten() {
            assert_eq!(&result[name], value, "{name} of {step}");
        }
    }
    ran.results
}

/// Asserts the code of each step; lists every step with a different code.
pub(crate) fn assert_codes(steps: &[Value], ran: &Ran, expected: &[&str]) {
    assert_eq!(steps.len(), expected.len());
    let differ = |((step, expected), found): ((&Value, &&str), &str)| {
        (*expected != found).then(|| format!("{found}, not {expected}: {step}"))
    };
    let pairs = steps.iter().zip(expected).zip(ran.codes());
    let wrong: Vec<String> = pairs.filter_map(differ).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Returns a workdir with a file, a folder and links.
pub(crate) fn furnished() -> Work {
    let work = Work::new();
    fs::write(work.path("file"), "hello").unwrap();
    fs::hard_link(work.path("file"), work.path("hard")).unwrap();
    fs::create_dir_all(work.path("dir/sub")).unwrap();
    fs::write(work.path("dir/inner"), "inner").unwrap();
    symlink("file", work.path("link")).unwrap();
    symlink("dir", work.path("dirlink")).unwrap();
    symlink("nothing", work.path("dangling")).unwrap();
    set_modified(&work, "file", 1_000_000_000, 123_456_789);
    work
}

/// Sets a modification time, seconds and nanoseconds after 1970.
pub(crate) fn set_modified(work: &Work, path: &str, seconds: u64, nanoseconds: u32) {
    let file = fs::File::open(work.path(path)).unwrap();
    file.set_modified(UNIX_EPOCH + Duration::new(seconds, nanoseconds))
        .unwrap();
}

/// Returns a step that opens `path` into slot 1.
pub(crate) fn open(path: &str, open: &[&str], flags: &[&str]) -> Value {
    json!({ "op": "open-at", "path": path, "open": open, "flags": flags, "as": 1 })
}
