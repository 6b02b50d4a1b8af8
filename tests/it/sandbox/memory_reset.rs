//! A new instance sees its sandbox_keeping image and zeros, whatever ran in its memory slot before.

mod swap;

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use serde_json::json;
use toolhost_sandbox::{PreparedTool, Sandbox, SandboxConfig};
use toolhost_tests::invocation;

use super::output;
use super::wat::component_of;
use swap::{Swap, page_out, swapped};

/// Concurrent calls.
const CALLS: usize = 12;

/// The mode of the guest, see `remember.wat`.
#[derive(Debug, Clone, Copy)]
enum Mode {
    Return = 0,
    Compute = 1,
    ComputeAndInspect = 2,
}

/// A guest's memory in pages of 64 KiB, and MiB that stay resident between calls: fewer than its calls
/// write to, so that some of them are returned to the kernel.
struct Memory {
    at_first: u32,
    grown: u32,
    image: u32,
    idle_mib: u64,
}

const MEMORIES: [Memory; 3] = [
    // Small, and grows.
    Memory {
        at_first: 30,
        grown: 70,
        image: 1,
        idle_mib: 48,
    },
    // Large and mostly image.
    Memory {
        at_first: 400,
        grown: 10,
        image: 110,
        idle_mib: 192,
    },
    // Large and mostly zeros.
    Memory {
        at_first: 130,
        grown: 10,
        image: 1,
        idle_mib: 0,
    },
];

/// Prepares the guest with this memory; its image repeats `word`.
async fn prepare(sandbox: &Sandbox, memory: &Memory, word: &str) -> PreparedTool {
    prepare_beside(sandbox, memory, word, "").await
}

/// As [`prepare`], with further definitions in the component.
async fn prepare_beside(
    sandbox: &Sandbox,
    memory: &Memory,
    word: &str,
    beside: &str,
) -> PreparedTool {
    let text = super::wat::text("remember")
        .replace("PAGES", &memory.at_first.to_string())
        .replace("GROWN", &memory.grown.to_string())
        .replace("ZEROS", &((1 + memory.image) << 16).to_string())
        .replace("IMAGE___", word)
        .replace(
            "IMAGES",
            &word.repeat((memory.image << 16) as usize / word.len()),
        );
    sandbox
        .prepare(component_of(&text, beside))
        .await
        .unwrap()
        .0
}

/// Returns a sandbox whose idle slots keep at most `idle_mib` resident.
fn sandbox_keeping(idle_mib: u64) -> Sandbox {
    let sandbox = Sandbox::new({
        let mut config = SandboxConfig::default();
        config.live_calls = u32::try_from(CALLS).unwrap();
        config.parked_calls = 0;
        config.share_per_free = u32::MAX;
        config.idle_memory_bytes = idle_mib << 20;
        config
    });
    sandbox.unwrap()
}

/// Runs [`CALLS`] concurrent calls; none finds data of another call or loses its own.
async fn call_all(tool: &PreparedTool, mode: Mode) {
    let calls: Vec<_> = (0..CALLS)
        .map(|_| {
            let tool = tool.clone();
            let call = invocation("run", &json!(mode as u8), None);
            tokio::spawn(async move { tool.call(call).await })
        })
        .collect();
    for call in calls {
        let report = call.await.unwrap();
        assert_eq!(
            *output(&report),
            json!([0, 0, 0, 0]),
            "words and elements found, words and elements changed, frames lost: {mode:?}"
        );
    }
}

/// Fills memories, tables and stacks, then inspects them from the same and from another component.
async fn fill_and_inspect(sandbox: &Sandbox, memory: &Memory, fill: Mode) {
    let one = prepare(sandbox, memory, "image-1.").await;
    let other = prepare(sandbox, memory, "image-2.").await;
    call_all(&one, fill).await;
    call_all(&other, Mode::Return).await;
    call_all(&one, fill).await;
    call_all(&one, Mode::Return).await;
    call_all(&other, Mode::ComputeAndInspect).await;
}

#[tokio::test]
async fn a_new_instance_sees_only_its_image_and_zeros() {
    for memory in &MEMORIES {
        for idle_mib in [memory.idle_mib, 1536] {
            fill_and_inspect(&sandbox_keeping(idle_mib), memory, Mode::Return).await;
        }
    }
}

#[tokio::test]
async fn idle_memory_stays_within_its_limit() {
    for memory in &MEMORIES {
        let sandbox = sandbox_keeping(memory.idle_mib);
        let tool = prepare(&sandbox, memory, "image-1.").await;
        call_all(&tool, Mode::Compute).await;
        let (idle, most) = (sandbox.idle_memory(), memory.idle_mib << 20);
        assert!(idle <= most, "{idle} of {most}");
        assert_eq!(idle > 0, most > 0, "{idle} of {most}");
    }
}

/// A module with a memory of so many pages. It begins with this text and zeros, or its instantiation traps.
fn more_memory(pages: u32, text: &str) -> String {
    let data = match text.len() {
        0 => String::new(),
        8 => format!(r#"(data (i32.const 0) "{text}")"#),
        other => panic!("{other} bytes"),
    };
    let word = u64::from_le_bytes(text.as_bytes().try_into().unwrap_or_default());
    let bytes = pages << 16;
    format!(
        r"(core module $more
            (memory {pages}) {data}
            (func $inspect (local $at i32)
              (if (i64.ne (i64.load (i32.const 0)) (i64.const {word})) (then unreachable))
              (loop $next
                (local.set $at (i32.add (local.get $at) (i32.const 8)))
                (if (i32.lt_u (local.get $at) (i32.const {bytes}))
                  (then
                    (if (i64.ne (i64.load (local.get $at)) (i64.const 0)) (then unreachable))
                    (br $next))))
              (memory.fill (i32.const 0) (i32.const 85) (i32.const {bytes})))
            (start $inspect))
          (core instance (instantiate $more))
          (core instance (instantiate $more))"
    )
}

#[tokio::test]
async fn each_of_several_memories_is_reset() {
    let sandbox = sandbox_keeping(1536);
    for memory in &MEMORIES {
        // Others than the guest's, and one that begins with as many pages as the guest's.
        for pages in [3, memory.at_first] {
            for text in ["", "its data"] {
                let more = more_memory(pages, text);
                let tool = prepare_beside(&sandbox, memory, "image-1.", &more).await;
                call_all(&tool, Mode::Return).await;
                call_all(&tool, Mode::ComputeAndInspect).await;
            }
        }
    }
}

#[test]
fn a_new_instance_sees_only_its_image_and_zeros_while_the_process_is_swapped_out() {
    let swap = match Swap::on() {
        Ok(swap) => swap,
        Err(reason) => {
            println!("NOT TESTED: calls while the process is swapped out: {reason}");
            return;
        }
    };
    let ended = AtomicBool::new(false);
    let most = std::thread::scope(|scope| {
        let pager = scope.spawn(|| {
            let mut most = 0;
            while !ended.load(Relaxed) {
                page_out();
                most = swapped().max(most);
            }
            most
        });
        let calls = std::panic::catch_unwind(|| {
            let runtime = tokio::runtime::Runtime::new().unwrap();
            for memory in &MEMORIES {
                let sandbox = sandbox_keeping(memory.idle_mib);
                runtime.block_on(fill_and_inspect(&sandbox, memory, Mode::Compute));
            }
        });
        ended.store(true, Relaxed);
        calls.map(|()| pager.join().unwrap())
    });
    drop(swap);
    match most {
        Ok(0) => println!("NOT TESTED: the kernel swapped out no page of this process"),
        Ok(most) => assert!(most > 8 << 20, "only {most} bytes were swapped out"),
        Err(panic) => std::panic::resume_unwind(panic),
    }
}
