//! Guests written in WAT, for behaviour that the Rust compiler does not produce.

mod imports;

use std::fmt::Write;
use std::time::{Duration, Instant};

use serde_json::Value;
use toolhost_sandbox::{
    CallReport, Outcome, PrepareError, PreparedTool, Sandbox, SandboxConfig, SandboxError,
};
use toolhost_tests::{invocation, nothing, root};

/// Largest delay of an answer on a busy machine.
const LATE: Duration = Duration::from_secs(5);

pub(super) fn text(name: &str) -> String {
    let path = root("tests/guests/wat").join(format!("{name}.wat"));
    std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// Returns the component of a guest, with further definitions.
pub(crate) fn component(guest: &str, beside: &str) -> Vec<u8> {
    component_of(&text(guest), beside)
}

/// Returns the component of a guest's text, with further definitions.
pub(crate) fn component_of(guest: &str, beside: &str) -> Vec<u8> {
    let mark = "  ;; GUEST\n";
    let around = text("tool");
    assert_eq!(around.matches(mark).count(), 1);
    let whole = around.replace(mark, &format!("{guest}\n{beside}\n"));
    wat::parse_str(whole).unwrap()
}

pub(super) fn small_sandbox() -> Sandbox {
    Sandbox::new({
        let mut config = SandboxConfig::default();
        config.live_calls = 4;
        config.describing = Duration::from_millis(200);
        config
    })
    .unwrap()
}

/// Asserts that calls hold no slot and no memory.
pub(super) fn assert_idle(sandbox: &Sandbox) {
    assert_eq!((sandbox.free_call_slots(), sandbox.waiting_calls()), (4, 0));
    assert_eq!(sandbox.memory_in_use(), 0);
}

pub(super) async fn prepare(sandbox: &Sandbox, guest: &str) -> PreparedTool {
    sandbox.prepare(component(guest, "")).await.unwrap().0
}

/// Calls a guest twice with a deadline; the second call would show state that the first left.
async fn call(guest: &str) -> [CallReport; 2] {
    let sandbox = small_sandbox();
    let tool = prepare(&sandbox, guest).await;
    let deadline = Duration::from_millis(200);
    let mut reports = Vec::new();
    for _ in 0..2 {
        let mut call = invocation("run", &nothing(), None);
        call.limits.deadline = deadline;
        let started = Instant::now();
        reports.push(tool.call(call).await);
        assert!(started.elapsed() < deadline + LATE, "{guest}");
        assert_idle(&sandbox);
    }
    let answer = prepare(&sandbox, "answer").await;
    let report = answer.call(invocation("run", &nothing(), None)).await;
    assert!(report.outcome.is_ok(), "after {guest}: {report:?}");
    reports.try_into().unwrap()
}

pub(super) async fn refused(bytes: Vec<u8>) -> PrepareError {
    let sandbox = small_sandbox();
    let started = Instant::now();
    let Err(error) = sandbox.prepare(bytes).await else {
        panic!("it loads");
    };
    assert!(started.elapsed() < LATE, "{error}: {:?}", started.elapsed());
    assert_idle(&sandbox);
    prepare(&sandbox, "answer").await;
    error
}

#[tokio::test]
async fn a_guest_written_in_wat_is_a_tool() {
    let sandbox = small_sandbox();
    let tool = prepare(&sandbox, "answer").await;
    assert_eq!(tool.handlers().len(), 1);
    assert_eq!(tool.handlers()[0].name.as_str(), "run");
    for report in call("answer").await {
        assert_eq!(report.outcome.unwrap(), Outcome::Output(Value::Null));
    }
}

#[tokio::test]
async fn the_deadline_stops_loops_in_start_realloc_and_post_return() {
    for guest in ["loop_in_realloc", "loop_in_post_return"] {
        for report in call(guest).await {
            assert!(
                matches!(report.outcome, Err(SandboxError::Timeout { .. })),
                "{guest}: {report:?}"
            );
        }
    }
    let error = refused(component("loop_in_start", "")).await;
    assert!(
        matches!(error, PrepareError::Describe(SandboxError::Timeout { .. })),
        "{error:?}"
    );
}

#[tokio::test]
async fn an_out_of_bounds_answer_or_allocation_is_a_trap() {
    for guest in [
        "trap_in_post_return",
        "realloc_out_of_bounds",
        "answer_out_of_bounds",
    ] {
        for report in call(guest).await {
            assert!(
                matches!(
                    report.outcome,
                    Err(SandboxError::Trap { .. } | SandboxError::HostcallTooLarge { .. })
                ),
                "{guest}: {report:?}"
            );
        }
    }
}

#[tokio::test]
async fn the_sum_of_memories_and_the_sum_of_tables_are_limited() {
    for report in call("grow_memories").await {
        assert!(
            matches!(report.outcome, Err(SandboxError::OutOfMemory { .. })),
            "{report:?}"
        );
        assert!(report.usage.memory_peak > 200 << 20);
        assert!(report.usage.memory_peak <= 256 << 20);
    }
    for guest in ["grow_table", "grow_tables"] {
        for report in call(guest).await {
            assert_eq!(
                report.outcome.unwrap(),
                Outcome::Output(Value::Null),
                "{guest}"
            );
        }
    }
}

#[tokio::test]
async fn growth_beyond_all_addresses_gives_a_guest_no_more_memory_than_its_limit() {
    for report in call("grow_after_refused").await {
        assert_eq!(report.outcome.unwrap(), Outcome::Output(Value::Null));
        // The peak counts all that it has.
        assert!(report.usage.memory_peak > 250 << 20);
        assert!(report.usage.memory_peak <= 256 << 20);
    }
}

#[tokio::test]
async fn a_limit_reached_during_instantiation_is_reported_as_a_limit() {
    let small = small_sandbox();
    let instances = "(core instance (instantiate $empty))\n".repeat(65);
    let instances = format!("(core module $empty)\n{instances}");
    let memories = "(core module $m (memory 0) (memory 0))\n\
                    (core instance (instantiate $m)) (core instance (instantiate $m))";
    let over = [
        (component("answer", &instances), "instance"),
        (component("answer", memories), "memory"),
        (component("many_memories", ""), "memory"),
    ];
    for (guest, what) in over {
        let refused = small.prepare(guest).await;
        let error = refused.unwrap_err();
        assert!(
            matches!(&error, PrepareError::Describe(SandboxError::Trap { reason }) if reason.contains(what)),
            "{error:?}"
        );
    }
    assert!(small.prepare(component("answer", "")).await.is_ok());
    assert_eq!(small.memory_in_use(), 0);

    let tables = "(core module $t (table 60000 funcref))\n\
                  (core instance (instantiate $t)) (core instance (instantiate $t))";
    let error = refused(component("answer", tables)).await;
    assert!(
        matches!(&error, PrepareError::Describe(SandboxError::Trap { reason }) if reason.contains("elements")),
        "{error:?}"
    );
    // The limits of a policy apply when the tool is called.
    let sandbox = small_sandbox();
    let tool = sandbox.prepare(component("answer", &tables.replace("60000", "50000")));
    let (tool, _) = tool.await.unwrap();
    for (limit, elements, instances) in [("elements", 99_999, 64), ("instance", 100_000, 1)] {
        let mut call = invocation("run", &nothing(), None);
        call.limits.table_elements = elements;
        call.limits.instances = instances;
        let report = tool.call(call).await;
        let error = report.outcome.unwrap_err().to_string();
        assert!(error.contains(limit), "{error}");
    }
    let report = tool.call(invocation("run", &nothing(), None)).await;
    assert!(report.outcome.is_ok(), "{report:?}");
}

#[tokio::test]
async fn initial_memory_counts_towards_the_limit() {
    let error = refused(component("sparse_data", "")).await;
    assert!(
        matches!(
            error,
            PrepareError::Describe(SandboxError::OutOfMemory { .. })
        ),
        "{error:?}"
    );
}

#[tokio::test]
async fn initial_tables_and_instances_count_towards_the_limits() {
    let table = "(core module (table 60000 funcref))";
    let twice = format!(
        "{} (core instance (instantiate $table)) (core instance (instantiate $table))",
        table.replace("module", "module $table")
    );
    let error = refused(component("answer", &twice)).await;
    assert!(
        matches!(error, PrepareError::Describe(SandboxError::Trap { .. })),
        "{error:?}"
    );

    let sandbox = small_sandbox();
    let once = twice.replacen("(core instance (instantiate $table))", "", 1);
    let (tool, _) = sandbox.prepare(component("answer", &once)).await.unwrap();
    for (table_elements, instances, runs) in
        [(60_000, 2, true), (59_999, 2, false), (60_000, 1, false)]
    {
        let mut call = invocation("run", &nothing(), None);
        call.limits.table_elements = table_elements;
        call.limits.instances = instances;
        let outcome = tool.call(call).await.outcome;
        let trapped = matches!(outcome, Err(SandboxError::Trap { .. }));
        assert_eq!((outcome.is_ok(), trapped), (runs, !runs), "{outcome:?}");
        assert_idle(&sandbox);
    }
}

#[tokio::test]
async fn a_large_data_segment_loads_and_traps_when_out_of_bounds() {
    let sandbox = small_sandbox();
    let bytes = "x".repeat(8 << 20);
    let large = format!(
        "(core module $large (memory 129) (data (i32.const 0) \"{bytes}\"))\n\
         (core instance (instantiate $large))"
    );
    let (tool, _) = sandbox.prepare(component("answer", &large)).await.unwrap();
    for _ in 0..3 {
        let report = tool.call(invocation("run", &nothing(), None)).await;
        assert_eq!(report.outcome.unwrap(), Outcome::Output(Value::Null));
        assert_idle(&sandbox);
    }
    // Outside of its memory, it traps during instantiation.
    let beyond = large.replace("(memory 129)", "(memory 1)");
    let error = refused(component("answer", &beyond)).await;
    assert!(
        matches!(error, PrepareError::Describe(SandboxError::Trap { .. })),
        "{error:?}"
    );
}

/// Returns components that each instantiate the previous one `times` times.
fn nested_components(levels: usize, times: usize) -> String {
    let mut text = "(component $c0)\n".to_owned();
    for level in 1..=levels {
        let below = level - 1;
        let _ = writeln!(text, "(component $c{level}");
        for _ in 0..times {
            let _ = writeln!(text, "(instance (instantiate $c{below}))");
        }
        text.push_str(")\n");
    }
    let _ = writeln!(text, "(instance (instantiate $c{levels}))");
    text
}

#[tokio::test]
async fn nested_instances_are_counted_before_they_are_created() {
    // A few kilobytes describe 10^100 instances.
    for (levels, times) in [(100, 10), (60, 2), (3, 300)] {
        let error = refused(component("answer", &nested_components(levels, times))).await;
        assert!(
            matches!(error, PrepareError::TooLarge { what, .. } if what.contains("instances")),
            "{levels}, {times}: {error:?}"
        );
    }
    let sandbox = small_sandbox();
    let few = component("answer", &nested_components(3, 5));
    sandbox.prepare(few).await.unwrap();

    // The size of a component that is passed to another cannot be counted.
    let given = "(component $small) (component $outer
        (import \"inner\" (component $inner)) (instance (instantiate $inner)))
        (instance (instantiate $outer (with \"inner\" (component $small))))";
    let error = refused(component("answer", given)).await;
    assert!(
        matches!(&error, PrepareError::Compile { reason } if reason.contains("does not define itself")),
        "{error:?}"
    );

    let nested = format!("{}{}", "(component ".repeat(40), ")".repeat(40));
    let error = refused(component("answer", &nested)).await;
    assert!(
        matches!(
            error,
            PrepareError::TooLarge {
                what: "nested components",
                ..
            }
        ),
        "{error:?}"
    );
}

#[tokio::test]
async fn too_many_functions_or_types_are_refused_before_compiling() {
    let functions = format!("(core module {})", "(func)".repeat(500_001));
    let error = refused(component("answer", &functions)).await;
    assert!(
        matches!(
            error,
            PrepareError::TooLarge {
                what: "functions",
                ..
            }
        ),
        "{error:?}"
    );
    let types = format!("(core module {})", "(type (func))".repeat(100_001));
    let error = refused(component("answer", &types)).await;
    assert!(
        matches!(error, PrepareError::TooLarge { what: "types", .. }),
        "{error:?}"
    );
    let blocks = 2_200_000;
    let nested = format!(
        "(core module (func {} {}))",
        "block ".repeat(blocks),
        "end ".repeat(blocks)
    );
    let error = refused(component("answer", &nested)).await;
    assert!(
        matches!(
            error,
            PrepareError::TooLarge {
                what: "bytes in one function",
                ..
            }
        ),
        "{error:?}"
    );
    // Each type contains the previous one twice: 2^60 strings.
    let mut doubling = "(type $t0 string)\n".to_owned();
    for n in 1..=60 {
        let _ = writeln!(doubling, "(type $t{n} (tuple $t{0} $t{0}))", n - 1);
    }
    let error = refused(component("answer", &doubling)).await;
    assert!(matches!(error, PrepareError::Compile { .. }), "{error:?}");
}

/// Returns the exceeded limit for which a component with these definitions is refused.
async fn exceeded_limit(beside: &str) -> &'static str {
    let error = refused(component("answer", beside)).await;
    let PrepareError::TooLarge { what, .. } = error else {
        panic!("{error:?}");
    };
    what
}

#[tokio::test]
async fn small_components_with_a_high_compile_cost_are_refused() {
    // The compiler stores each local for each block.
    let locals = "i32 ".repeat(40_000);
    let sets: String = (0..40_000)
        .map(|local| format!("i32.const 0 local.set {local} "))
        .collect();
    let blocks = "block end ".repeat(50_000);
    let function = format!("(core module (func (local {locals}) {blocks} {sets}))");
    assert_eq!(
        exceeded_limit(&function).await,
        "locals times blocks in one function"
    );

    // The compiler visits a loop once for each loop around it.
    let (loops, ends) = ("loop ".repeat(1_001), "end ".repeat(1_001));
    let loops = format!("(core module (func {loops} {ends}))");
    assert_eq!(
        exceeded_limit(&loops).await,
        "loops within each other in one function"
    );

    let elements = format!(
        "(core module (table 1 funcref) (func $f) (elem func {}))",
        "$f ".repeat(200_001)
    );
    assert_eq!(exceeded_limit(&elements).await, "elements");

    // Each instance keeps a copy of its elements, which the memory limit does not count.
    let kept = |instances: usize| {
        let segment = format!("(elem func {})", "$f ".repeat(60_000));
        let instances = "(core instance (instantiate $m))".repeat(instances);
        format!("(core module $m (func $f) {segment}) {instances}")
    };
    assert_eq!(
        exceeded_limit(&kept(30)).await,
        "bytes kept by all its instances"
    );
    small_sandbox()
        .prepare(component("answer", &kept(3)))
        .await
        .unwrap();

    let segments = format!("(core module (memory 1) {})", "(data \"\")".repeat(110_001));
    assert_eq!(exceeded_limit(&segments).await, "segments");

    let long = "i32.const 1 i32.add ".repeat(1_500_000);
    let global = format!("(core module (global i32 (i32.const 0 {long})))");
    assert_eq!(exceeded_limit(&global).await, "bytes of initialisers");

    let adapters = "(core func (canon lower (func $describe) (memory $guest \"memory\") \
                    (realloc (func $guest \"realloc\"))))"
        .repeat(2_001);
    let whole = text("tool").replace("  ;; GUEST\n", &text("answer"));
    let whole = whole.replace(
        "  (component $handlers\n",
        &format!("{adapters}\n  (component $handlers\n"),
    );
    let error = refused(wat::parse_str(whole).unwrap()).await;
    let expected = "lifted and lowered functions over all its instances";
    assert!(
        matches!(error, PrepareError::TooLarge { what, .. } if what == expected),
        "{error:?}"
    );
}
