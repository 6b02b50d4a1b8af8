//! Compiling in a child process.

use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::json;
use toolhost_sandbox::{
    CacheConfig, CodeOrigin, CompileLimits, Compiler, Outcome, PrepareError, Sandbox, SandboxConfig,
};
use toolhost_tests::{eventually, guest, invocation};

use crate::helper::HELPER;
use crate::sandbox::wat::component;

fn compiler(mode: &str) -> Compiler {
    Compiler::new(HELPER, ["compiler", mode])
}

fn sandbox(compiler: Option<Compiler>, time: Duration) -> Sandbox {
    Sandbox::new({
        let mut config = SandboxConfig::default();
        config.live_calls = 4;
        config.compile = CompileLimits {
            time,
            time_per_mib: Duration::ZERO,
            ..CompileLimits::default()
        };
        config.compiler = compiler;
        config
    })
    .unwrap()
}

const MINUTE: Duration = Duration::from_secs(60);

async fn refused(compiler: Compiler, time: Duration, component: Vec<u8>) -> PrepareError {
    sandbox(Some(compiler), time)
        .prepare(component)
        .await
        .unwrap_err()
}

/// Returns a guest with a custom section, so that it is another component for each number.
fn numbered(name: &str, number: usize) -> Vec<u8> {
    let mut component = guest(name);
    let digits = format!("{number:04}");
    // The id of custom sections, the length, and the name.
    component.extend([&[0, 5, 4], digits.as_bytes()].concat());
    component
}

/// Returns a small component within every static limit that takes long to compile.
fn slow_to_compile() -> Vec<u8> {
    let mut body = String::new();
    for n in 0..4_000 {
        let _ = write!(
            body,
            "(if (i32.eq (local.get {}) (i32.const {n})) (then (local.set {} (i32.mul (local.get {}) (local.get {})))))",
            n % 97,
            (n * 7) % 97,
            (n * 13) % 97,
            (n * 31) % 97,
        );
    }
    let function = format!("(func (param {}) {body})", "i32 ".repeat(97));
    let module = format!("(core module {})", function.repeat(40));
    component("answer", &module)
}

/// Returns a small component within every static limit that takes about 400 MB to compile.
fn large_to_compile() -> Vec<u8> {
    let locals = "i32 ".repeat(2_000);
    let sets: String = (0..2_000)
        .map(|local| format!("i32.const 0 local.set {local} "))
        .collect();
    let blocks = "block end ".repeat(49_000);
    let function = format!("(core module (func (local {locals}) {blocks} {sets}))");
    component("answer", &function)
}

/// Returns the running child processes of this process.
fn children() -> Vec<String> {
    let tasks = fs::read_dir("/proc/self/task").unwrap();
    let of = |task: fs::DirEntry| fs::read_to_string(task.path().join("children"));
    let lists = tasks.filter_map(|task| of(task.ok()?).ok());
    lists
        .flat_map(|list| {
            list.split_whitespace()
                .map(str::to_owned)
                .collect::<Vec<_>>()
        })
        .collect()
}

#[tokio::test]
async fn code_compiled_by_the_compiler_process_is_cached_and_used() {
    let top = tempfile::tempdir().unwrap();
    let cached = |compiler| {
        let (dir, key) = (top.path().join("cache"), top.path().join("state/cache.key"));
        Sandbox::new({
            let mut config = SandboxConfig::default();
            config.cache = Some(CacheConfig::new(dir, key));
            config.compiler = compiler;
            config
        })
        .unwrap()
    };
    for (compiler, expected) in [
        (Some(compiler("run")), CodeOrigin::Compiled),
        (Some(compiler("sleep")), CodeOrigin::Cached),
        (None, CodeOrigin::Cached),
    ] {
        let (tool, origin) = cached(compiler).prepare(guest("echo")).await.unwrap();
        assert_eq!(origin, expected);
        let report = tool.call(invocation("say", &json!({"a": 1}), None)).await;
        assert_eq!(report.outcome.unwrap(), Outcome::Output(json!({"a": 1})));
    }
    assert_eq!(children(), [""; 0]);
}

#[tokio::test]
async fn a_compile_beyond_the_time_limit_fails_and_its_process_is_killed() {
    let time = Duration::from_secs(1);
    for mode in ["spin", "sleep"] {
        let started = Instant::now();
        let error = refused(compiler(mode), time, guest("echo")).await;
        assert!(
            matches!(error, PrepareError::TooSlow { limit } if limit == time),
            "{error:?}"
        );
        assert!(started.elapsed() < Duration::from_secs(30), "{mode}");
    }
    let error = refused(compiler("run"), time, slow_to_compile()).await;
    assert!(matches!(error, PrepareError::TooSlow { .. }), "{error:?}");
    eventually("no compiler process is left", || children().is_empty()).await;
}

#[tokio::test]
async fn dropping_prepare_kills_the_compiler_process() {
    let own = sandbox(Some(compiler("sleep")), MINUTE);
    let mut waiting = Box::pin(own.prepare(guest("echo")));
    let a_while = tokio::time::sleep(Duration::from_millis(300));
    tokio::select! {
        _ = &mut waiting => panic!("it sleeps"),
        () = a_while => {}
    }
    assert_eq!(children().len(), 1);
    drop(waiting);
    eventually("the compiler process has ended", || children().is_empty()).await;
    // One component compiles at a time, so the next can start.
    let mut next = Box::pin(own.prepare(guest("echo")));
    tokio::select! {
        _ = &mut next => panic!("it sleeps"),
        () = async { while children().is_empty() { tokio::task::yield_now().await } } => {}
    }
}

#[tokio::test]
async fn cached_components_do_not_queue_and_queueing_does_not_count_as_compile_time() {
    let top = tempfile::tempdir().unwrap();
    let cached = |mode, time| {
        let (dir, key) = (top.path().join("cache"), top.path().join("state/cache.key"));
        Sandbox::new({
            let mut config = SandboxConfig::default();
            config.cache = Some(CacheConfig::new(dir, key));
            config.compile = CompileLimits {
                time,
                time_per_mib: Duration::ZERO,
                ..CompileLimits::default()
            };
            config.compiler = Some(compiler(mode));
            config
        })
        .unwrap()
    };
    let kept = cached("run", MINUTE).prepare(guest("echo")).await;
    assert_eq!(kept.unwrap().1, CodeOrigin::Compiled);

    let turns = std::thread::available_parallelism().map_or(1, |cores| (cores.get() / 2).max(1));
    let time = Duration::from_millis(250);
    let own = cached("sleep", time);
    let prepare = |component: Vec<u8>| {
        let own = own.clone();
        tokio::spawn(async move { own.prepare(component).await })
    };
    let started = Instant::now();
    let mut compiling: Vec<_> = (0..turns).map(|n| prepare(numbered("trap", n))).collect();
    eventually("every compile slot is busy", || children().len() == turns).await;
    let (_, origin) = own.prepare(guest("echo")).await.unwrap();
    assert_eq!(origin, CodeOrigin::Cached);
    assert_eq!(children().len(), turns, "every compile slot is still busy");
    compiling.push(prepare(guest("recurse")));
    for compiled in compiling {
        let error = compiled.await.unwrap().unwrap_err();
        assert!(matches!(error, PrepareError::TooSlow { .. }), "{error:?}");
    }
    // The time of the last one began when its compile started; its limit is four times as long.
    assert!(started.elapsed() >= 8 * time);
}

#[tokio::test]
async fn a_compile_beyond_the_memory_limit_is_refused() {
    let mut small = compiler("run");
    small.address_space = 400 << 20;
    let error = refused(small.clone(), MINUTE, large_to_compile()).await;
    assert!(
        matches!(error, PrepareError::OutOfMemory { limit } if limit == small.address_space),
        "{error:?}"
    );
    // Another component compiles within the same memory.
    let prepared = sandbox(Some(small), MINUTE).prepare(guest("echo")).await;
    assert!(prepared.is_ok(), "{prepared:?}");
}

#[tokio::test]
async fn a_compiler_process_gets_no_environment_and_no_open_files() {
    let error = refused(compiler("surroundings"), MINUTE, guest("echo")).await;
    let PrepareError::Compile { reason } = &error else {
        panic!("{error:?}");
    };
    assert_eq!(reason, "0 variables, at /");
}

#[tokio::test]
async fn an_invalid_compiler_program_gives_an_error_that_names_it() {
    let missing = Compiler::new(Path::new("/nonexistent/compiler"), [""; 0]);
    let error = refused(missing, MINUTE, guest("echo")).await;
    assert!(
        error.to_string().contains("the compiler cannot be started"),
        "{error}"
    );
    let error = refused(compiler("garbage"), MINUTE, guest("echo")).await;
    assert!(error.to_string().contains("artifact is refused"), "{error}");
}

#[tokio::test]
async fn a_compile_error_has_the_message_of_the_engine() {
    // The static reader does not check types: this function returns no value.
    let wrong = component("answer", "(core module (func (result i32)))");
    let own = refused(compiler("run"), MINUTE, wrong.clone()).await;
    let here = sandbox(None, MINUTE).prepare(wrong).await.unwrap_err();
    assert!(matches!(own, PrepareError::Compile { .. }), "{own:?}");
    assert_eq!(own.to_string(), here.to_string());
}
