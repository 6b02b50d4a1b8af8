//! Guests in text: what no compiler of Rust makes.

mod imports;

use std::fmt::Write;
use std::time::{Duration, Instant};

use serde_json::Value;
use toolhost_sandbox::{
    Allocation, CallReport, Outcome, PrepareError, PreparedTool, Sandbox, SandboxConfig,
    SandboxError,
};
use toolhost_tests::{invocation, nothing, root};

/// How late an answer may be on a busy machine.
const LATE: Duration = Duration::from_secs(5);

pub(super) fn text(name: &str) -> String {
    let path = root("tests/guests/wat").join(format!("{name}.wat"));
    std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// A component of this guest, with more beside it.
pub(crate) fn component(guest: &str, beside: &str) -> Vec<u8> {
    component_of(&text(guest), beside)
}

/// A component of a guest's text, with more beside it.
pub(crate) fn component_of(guest: &str, beside: &str) -> Vec<u8> {
    let mark = "  ;; GUEST\n";
    let around = text("tool");
    assert_eq!(around.matches(mark).count(), 1);
    let whole = around.replace(mark, &format!("{guest}\n{beside}\n"));
    wat::parse_str(whole).unwrap()
}

pub(super) fn own() -> Sandbox {
    Sandbox::new(SandboxConfig {
        live_calls: 4,
        describing: Duration::from_millis(200),
        ..SandboxConfig::default()
    })
    .unwrap()
}

/// Everything that was given to calls is back.
pub(super) fn assert_idle(own: &Sandbox) {
    assert_eq!((own.free_places(), own.waiting_calls()), (4, 0));
    assert_eq!(own.memory_in_use(), 0);
}

pub(super) async fn prepare(own: &Sandbox, guest: &str) -> PreparedTool {
    own.prepare(component(guest, "")).await.unwrap().0
}

/// Calls it twice, within a deadline: what it leaves behind shows in the second.
async fn call(guest: &str) -> [CallReport; 2] {
    let own = own();
    let tool = prepare(&own, guest).await;
    let deadline = Duration::from_millis(200);
    let mut reports = Vec::new();
    for _ in 0..2 {
        let mut asked = invocation("run", &nothing(), None);
        asked.limits.deadline = deadline;
        let started = Instant::now();
        reports.push(tool.call(asked).await);
        assert!(started.elapsed() < deadline + LATE, "{guest}");
        assert_idle(&own);
    }
    let answer = prepare(&own, "answer").await;
    let report = answer.call(invocation("run", &nothing(), None)).await;
    assert!(report.outcome.is_ok(), "after {guest}: {report:?}");
    reports.try_into().unwrap()
}

pub(super) async fn refused(bytes: Vec<u8>) -> PrepareError {
    let own = own();
    let started = Instant::now();
    let Err(error) = own.prepare(bytes).await else {
        panic!("it loads");
    };
    assert!(started.elapsed() < LATE, "{error}: {:?}", started.elapsed());
    assert_idle(&own);
    prepare(&own, "answer").await;
    error
}

#[tokio::test]
async fn a_guest_in_text_is_a_tool() {
    let own = own();
    let tool = prepare(&own, "answer").await;
    assert_eq!(tool.handlers().len(), 1);
    assert_eq!(tool.handlers()[0].name.as_str(), "run");
    for report in call("answer").await {
        assert_eq!(report.outcome.unwrap(), Outcome::Output(Value::Null));
    }
}

#[tokio::test]
async fn a_loop_that_the_host_runs_into_is_stopped_at_the_deadline() {
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
async fn a_guest_that_lies_to_the_host_traps() {
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
async fn memories_and_tables_are_limited_in_their_sum() {
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
async fn more_memories_or_instances_than_a_component_may_have_are_refused() {
    let error = refused(component("many_memories", "")).await;
    assert!(matches!(error, PrepareError::Compile { .. }), "{error:?}");

    let mut many = "(core module $empty)\n".to_owned();
    for _ in 0..900 {
        many.push_str("(core instance (instantiate $empty))\n");
    }
    let error = refused(component("answer", &many)).await;
    assert!(matches!(error, PrepareError::Compile { .. }), "{error:?}");
}

#[tokio::test]
async fn a_limit_that_is_met_while_an_instance_is_made_is_told_as_one() {
    // However instances get their memory, a component has no more of them than a slot has.
    let on_demand = Sandbox::new(SandboxConfig {
        allocation: Allocation::OnDemand,
        ..SandboxConfig::default()
    })
    .unwrap();
    let instances = "(core instance (instantiate $empty))\n".repeat(65);
    let instances = format!("(core module $empty)\n{instances}");
    let memories = "(core module $m (memory 0) (memory 0))\n\
                    (core instance (instantiate $m)) (core instance (instantiate $m))";
    for (beside, what) in [(instances.as_str(), "instance"), (memories, "memory")] {
        let refused = on_demand.prepare(component("answer", beside)).await;
        let error = refused.unwrap_err();
        assert!(
            matches!(&error, PrepareError::Describe(SandboxError::Trap { reason }) if reason.contains(what)),
            "{error:?}"
        );
    }
    assert!(on_demand.prepare(component("answer", "")).await.is_ok());
    assert_eq!(on_demand.memory_in_use(), 0);

    let tables = "(core module $t (table 60000 funcref))\n\
                  (core instance (instantiate $t)) (core instance (instantiate $t))";
    let error = refused(component("answer", tables)).await;
    assert!(
        matches!(&error, PrepareError::Describe(SandboxError::Trap { reason }) if reason.contains("elements")),
        "{error:?}"
    );
    // What a policy allows of them meets a tool when it is called.
    let own = own();
    let tool = own.prepare(component("answer", &tables.replace("60000", "50000")));
    let (tool, _) = tool.await.unwrap();
    for (limit, elements, instances) in [("elements", 99_999, 64), ("instance", 100_000, 1)] {
        let mut asked = invocation("run", &nothing(), None);
        asked.limits.table_elements = elements;
        asked.limits.instances = instances;
        let report = tool.call(asked).await;
        let error = report.outcome.unwrap_err().to_string();
        assert!(error.contains(limit), "{error}");
    }
    let report = tool.call(invocation("run", &nothing(), None)).await;
    assert!(report.outcome.is_ok(), "{report:?}");
}

#[tokio::test]
async fn memory_that_is_needed_from_the_start_counts() {
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
async fn tables_and_instances_that_are_there_from_the_start_count() {
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

    let own = own();
    let once = twice.replacen("(core instance (instantiate $table))", "", 1);
    let (tool, _) = own.prepare(component("answer", &once)).await.unwrap();
    for (table_elements, instances, runs) in
        [(60_000, 2, true), (59_999, 2, false), (60_000, 1, false)]
    {
        let mut asked = invocation("run", &nothing(), None);
        asked.limits.table_elements = table_elements;
        asked.limits.instances = instances;
        let outcome = tool.call(asked).await.outcome;
        let trapped = matches!(outcome, Err(SandboxError::Trap { .. }));
        assert_eq!((outcome.is_ok(), trapped), (runs, !runs), "{outcome:?}");
        assert_idle(&own);
    }
}

#[tokio::test]
async fn a_large_data_segment_is_a_large_tool_and_no_more() {
    let own = own();
    let bytes = "x".repeat(8 << 20);
    let large = format!(
        "(core module $large (memory 129) (data (i32.const 0) \"{bytes}\"))\n\
         (core instance (instantiate $large))"
    );
    let (tool, _) = own.prepare(component("answer", &large)).await.unwrap();
    for _ in 0..3 {
        let report = tool.call(invocation("run", &nothing(), None)).await;
        assert_eq!(report.outcome.unwrap(), Outcome::Output(Value::Null));
        assert_idle(&own);
    }
    // Beyond the memory it is for, it is a trap before anything is asked.
    let beyond = large.replace("(memory 129)", "(memory 1)");
    let error = refused(component("answer", &beyond)).await;
    assert!(
        matches!(error, PrepareError::Describe(SandboxError::Trap { .. })),
        "{error:?}"
    );
}

/// Components that each instantiate the one before so many times.
fn tower(levels: usize, times: usize) -> String {
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
async fn instances_that_multiply_are_counted_and_not_made() {
    // A few kilobytes that come to 10^100 instances.
    for (levels, times) in [(100, 10), (60, 2), (3, 300)] {
        let error = refused(component("answer", &tower(levels, times))).await;
        assert!(
            matches!(error, PrepareError::TooLarge { what, .. } if what.contains("instances")),
            "{levels}, {times}: {error:?}"
        );
    }
    let own = own();
    let few = component("answer", &tower(3, 5));
    own.prepare(few).await.unwrap();

    // A component that is given to another hides how large it is.
    let given = "(component $small) (component $outer
        (import \"inner\" (component $inner)) (instance (instantiate $inner)))
        (instance (instantiate $outer (with \"inner\" (component $small))))";
    let error = refused(component("answer", given)).await;
    assert!(
        matches!(&error, PrepareError::Compile { reason } if reason.contains("does not hold itself")),
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
async fn bombs_of_functions_and_types_are_refused_before_they_are_compiled() {
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
    // Each type holds the one before twice: 2^60 strings.
    let mut doubling = "(type $t0 string)\n".to_owned();
    for n in 1..=60 {
        let _ = writeln!(doubling, "(type $t{n} (tuple $t{0} $t{0}))", n - 1);
    }
    let error = refused(component("answer", &doubling)).await;
    assert!(matches!(error, PrepareError::Compile { .. }), "{error:?}");
}

/// What a bomb is refused for.
async fn too_many(beside: &str) -> &'static str {
    let error = refused(component("answer", beside)).await;
    let PrepareError::TooLarge { what, .. } = error else {
        panic!("{error:?}");
    };
    what
}

#[tokio::test]
async fn bombs_that_are_small_are_refused_for_what_they_come_to() {
    // The compiler keeps each local for each block.
    let locals = "i32 ".repeat(40_000);
    let sets: String = (0..40_000)
        .map(|local| format!("i32.const 0 local.set {local} "))
        .collect();
    let blocks = "block end ".repeat(50_000);
    let function = format!("(core module (func (local {locals}) {blocks} {sets}))");
    assert_eq!(
        too_many(&function).await,
        "locals times blocks in one function"
    );

    // It looks at each loop once more for each that is around it.
    let (loops, ends) = ("loop ".repeat(1_001), "end ".repeat(1_001));
    let loops = format!("(core module (func {loops} {ends}))");
    assert_eq!(
        too_many(&loops).await,
        "loops within each other in one function"
    );

    let elements = format!(
        "(core module (table 1 funcref) (func $f) (elem func {}))",
        "$f ".repeat(200_001)
    );
    assert_eq!(too_many(&elements).await, "elements");

    // Each instance keeps a copy of its elements, which no memory limit sees.
    let kept = |instances: usize| {
        let segment = format!("(elem func {})", "$f ".repeat(60_000));
        let instances = "(core instance (instantiate $m))".repeat(instances);
        format!("(core module $m (func $f) {segment}) {instances}")
    };
    assert_eq!(too_many(&kept(30)).await, "bytes kept by all its instances");
    own().prepare(component("answer", &kept(3))).await.unwrap();

    let segments = format!("(core module (memory 1) {})", "(data \"\")".repeat(100_001));
    assert_eq!(too_many(&segments).await, "segments");

    let long = "i32.const 1 i32.add ".repeat(1_500_000);
    let global = format!("(core module (global i32 (i32.const 0 {long})))");
    assert_eq!(too_many(&global).await, "bytes of initialisers");

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
