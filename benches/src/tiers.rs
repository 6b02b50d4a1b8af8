//! Measures what the compiler's optimisations cost when a component is compiled, and gain when it is called.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::json;
use tokio::runtime::Runtime;
use toolhost_tests::root;
use wasmtime::OptLevel;

use crate::measure::{median, processor_time};
use crate::raw::{Pool, Raw};

/// Rounds of calls. The levels alternate, so that noise affects both.
const ROUNDS: usize = 21;

/// Calls in one round.
const BATCH: u32 = 10;

/// Bytes of a memory that a slot keeps: the largest of these components.
const KEPT: usize = 32 << 20;

/// A component, and a call of it.
struct Example {
    component: &'static str,
    handler: &'static str,
    input: String,
}

fn examples() -> [Example; 3] {
    let example = |component, handler, input: serde_json::Value| Example {
        component,
        handler,
        input: input.to_string(),
    };
    let text = json!({"text": "some text ".repeat(20), "find": "text", "with": "words"});
    let script = json!({"command": "seq 1 300 | sort -r | tr 1 x | wc"});
    let count = json!({"path": "f.csv", "by": "kind"});
    [
        example(
            "typescript/text-transform/.toolhost/text-transform.wasm",
            "replace",
            text,
        ),
        example("base/.toolhost/bash.wasm", "exec", script),
        example("python/csv-stats/.toolhost/csv-stats.wasm", "count", count),
    ]
}

/// Compiles a component. Returns it with the processor time of all threads.
fn compiled(level: OptLevel, component: &[u8]) -> (Raw, Duration) {
    let before = processor_time();
    let raw = Raw::compiled_at(level, component, Pool::keeping(KEPT));
    (raw, processor_time() - before)
}

/// Returns the microseconds of one call, as the mean of a batch.
async fn batch(raw: &Raw, work: &Path, example: &Example) -> f64 {
    let started = Instant::now();
    for _ in 0..BATCH {
        raw.call(work, example.handler, "{}", &example.input).await;
    }
    started.elapsed().as_secs_f64() * 1e6 / f64::from(BATCH)
}

pub(crate) fn print(runtime: &Runtime, work: &Path) {
    let rows: String = (0..500).map(|n| format!("{n},kind{}\n", n % 7)).collect();
    std::fs::write(work.join("f.csv"), format!("id,kind\n{rows}")).unwrap();
    println!(
        "without and with the compiler's optimisations: processor time, one call of the engine alone"
    );
    for example in examples() {
        let path = root("guest-examples").join(example.component);
        let Ok(component) = std::fs::read(&path) else {
            println!("  {}: not built", example.component);
            continue;
        };
        let (plain, plain_took) = compiled(OptLevel::None, &component);
        let (fast, fast_took) = compiled(OptLevel::Speed, &component);
        let (mut plains, mut fasts, mut ratios) = (vec![], vec![], vec![]);
        for _ in 0..ROUNDS {
            let (plain, fast) = runtime.block_on(async {
                let plain = batch(&plain, work, &example).await;
                (plain, batch(&fast, work, &example).await)
            });
            plains.push(plain);
            fasts.push(fast);
            ratios.push(plain / fast);
        }
        println!(
            "  {}: {:.1} s, {:.1} s; {:.0} µs, {:.0} µs ({:.2} x)",
            example.component,
            plain_took.as_secs_f64(),
            fast_took.as_secs_f64(),
            median(plains),
            median(fasts),
            median(ratios),
        );
    }
}
