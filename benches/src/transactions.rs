//! Measures calls whose changes are kept whole or not at all, and direct calls, alternately; and undos.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::runtime::Runtime;
use toolhost::{AssistantMessage, Host, Policy, Step, ToolStatus, Workdir};
use toolhost_tests::own_sandbox;
use toolhost_tests::test_host::{open_step, write_bundle, yaml};

use crate::measure::{call, median};

/// Rounds. Both settings alternate, so that noise affects both.
const ROUNDS: usize = 15;

/// Text of 4 KB.
const TEXT: &str = "sixteen letters\n";

/// A call that is measured.
struct Case {
    title: &'static str,
    tool: &'static str,
    /// Arguments of the call with this number.
    args: fn(u32) -> Value,
    /// Calls in one round.
    batch: u32,
    /// Whether its undo is measured.
    changes: bool,
}

const CASES: [Case; 5] = [
    Case {
        title: "nothing is written: a file is read",
        tool: "files__read",
        args: |_| json!({"path": "text"}),
        batch: 200,
        changes: false,
    },
    Case {
        title: "a file of 4 KB is written again",
        tool: "files__write",
        args: |_| json!({"path": "text", "content": TEXT.repeat(256)}),
        batch: 50,
        changes: true,
    },
    Case {
        title: "a file of 1 MB is written again",
        tool: "fill__run",
        args: |_| json!({"path": "/big", "bytes": 1 << 20}),
        batch: 10,
        changes: true,
    },
    Case {
        title: "4 KB are added to a file of 1 MB",
        tool: "fill__run",
        args: |_| json!({"path": "/grown", "bytes": 4096, "mode": "append"}),
        batch: 10,
        changes: true,
    },
    Case {
        title: "1,000 files are made",
        tool: "make__run",
        args: |number| json!({"dir": format!("/made-{number}"), "count": 1000}),
        batch: 1,
        changes: true,
    },
];

/// A host whose calls all change files in one way.
struct Setting {
    host: Host,
    step: Step,
    workdir: Workdir,
    path: PathBuf,
    _top: TempDir,
    calls: u32,
}

impl Setting {
    /// `changes` is the value of `workdir` in the policy. State root and workdir lie beneath `dir`.
    fn new(runtime: &Runtime, dir: &Path, changes: &str) -> Self {
        let top = tempfile::tempdir_in(dir).unwrap();
        let [state, bundle, path] = ["state", "bundle", "work"].map(|name| top.path().join(name));
        for dir in [&state, &bundle, &path] {
            std::fs::create_dir(dir).unwrap();
        }
        let tools: [(_, _, &[_]); 3] = [
            ("files", "file-system", &["read", "write"]),
            ("fill", "write_bytes", &["run"]),
            ("make", "make_files", &["run"]),
        ];
        write_bundle(&bundle, &yaml(&tools), &tools.map(|(_, guest, _)| guest));
        let policy = Policy::parse(
            &format!("defaults: {{workdir: {changes}, limits: {{workdirBytes: 100000000000}}}}"),
            "policy.yaml",
        );
        let host = Host::builder()
            .sandbox(own_sandbox(|_| {}))
            .state_root(&state)
            .policy(policy.unwrap())
            .build()
            .unwrap();
        let loaded = runtime.block_on(host.load(&bundle)).unwrap();
        let workdir = host.workdir(&path).unwrap();
        let agent = loaded.only_agent().unwrap();
        Self {
            step: runtime.block_on(open_step(&agent, "bench", &workdir)),
            host,
            workdir,
            path,
            _top: top,
            calls: 0,
        }
    }

    /// Makes the workdir as it is before each round.
    fn reset(&self) {
        for entry in std::fs::read_dir(&self.path).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                std::fs::remove_dir_all(path).unwrap();
            }
        }
        std::fs::write(self.path.join("text"), TEXT.repeat(256)).unwrap();
        for name in ["big", "grown"] {
            std::fs::write(self.path.join(name), vec![b'x'; 1 << 20]).unwrap();
        }
    }

    async fn call(&mut self, case: &Case) -> Duration {
        self.calls += 1;
        let call = call(case.tool, (case.args)(self.calls));
        let message = AssistantMessage::for_call(&call);
        let started = Instant::now();
        let result = self.step.execute(call, &message).await;
        let took = started.elapsed();
        assert_eq!(result.status(), ToolStatus::Ok, "{result:?}");
        took
    }

    /// Returns microseconds per call.
    fn micros(&mut self, runtime: &Runtime, case: &Case) -> f64 {
        self.reset();
        let mut took = Duration::ZERO;
        for _ in 0..case.batch {
            took += runtime.block_on(self.call(case));
        }
        took.as_secs_f64() * 1e6 / f64::from(case.batch)
    }

    /// Returns microseconds of the undo of one call.
    fn undo_micros(&mut self, runtime: &Runtime, case: &Case) -> f64 {
        self.reset();
        runtime.block_on(async {
            self.call(case).await;
            let started = Instant::now();
            self.host.undo(&self.workdir, None).await.unwrap();
            started.elapsed().as_secs_f64() * 1e6
        })
    }
}

/// Prints how transactional calls compare to direct ones, on a disk and in memory.
pub(crate) fn print(runtime: &Runtime) {
    for (place, dir) in [
        ("on disk", std::env::temp_dir()),
        ("in memory", PathBuf::from("/dev/shm")),
    ] {
        println!(
            "transactional calls, beside direct ones; workdir and state root {place} ({})",
            dir.display()
        );
        let new = |changes| Setting::new(runtime, &dir, changes);
        let (mut direct, mut transactional) = (new("direct"), new("transactional"));
        for case in &CASES {
            compare(runtime, case, &mut direct, &mut transactional);
        }
    }
}

fn compare(runtime: &Runtime, case: &Case, direct: &mut Setting, transactional: &mut Setting) {
    let (mut plain, mut whole, mut undone) = (vec![], vec![], vec![]);
    for _ in 0..ROUNDS {
        plain.push(direct.micros(runtime, case));
        whole.push(transactional.micros(runtime, case));
        if case.changes {
            undone.push(transactional.undo_micros(runtime, case));
        }
    }
    let ratios = whole.iter().zip(&plain).map(|(one, other)| one / other);
    let ratio = median(ratios.collect());
    let (whole, plain) = (median(whole), median(plain));
    let undo = if case.changes {
        format!("   undo {:>8.1} µs", median(undone))
    } else {
        String::new()
    };
    println!(
        "  {:<36} {whole:>9.1} µs / {plain:>9.1} µs = {ratio:.3}{undo}",
        case.title
    );
}
