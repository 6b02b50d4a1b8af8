//! Whether an instance is as its component made it, whatever ran in its memory before.

mod swap;

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use serde_json::json;
use toolhost_sandbox::{Allocation, PreparedTool, Sandbox, SandboxConfig};
use toolhost_tests::invocation;

use super::output;
use super::wat::component_of;
use swap::{Swap, page_out, swapped};

/// Calls at once: more than the slots that a pool reserves for the component that used them last.
const AT_ONCE: usize = 12;

/// What the guest does, as `remember.wat` describes.
#[derive(Debug, Clone, Copy)]
enum Mode {
    Return = 0,
    Compute = 1,
    ComputeAndLook = 2,
}

/// A guest's memory, in pages of 64 KiB, and a sandbox in which its pool has no more than four slots:
/// calls of all components use these one after the other, and calls beyond them another pool.
struct Memory {
    at_first: u32,
    grown: u32,
    image: u32,
    idle_mib: u64,
    /// What the four slots keep.
    kept_mib: u64,
}

/// One for each way in which a slot is reset.
const MEMORIES: [Memory; 3] = [
    // Small, and grown beyond what its slot keeps.
    Memory {
        at_first: 30,
        grown: 70,
        image: 1,
        idle_mib: 48,
        kept_mib: 16,
    },
    // Large, and mostly image.
    Memory {
        at_first: 400,
        grown: 10,
        image: 110,
        idle_mib: 192,
        kept_mib: 128,
    },
    // Large, and mostly zeros.
    Memory {
        at_first: 130,
        grown: 10,
        image: 1,
        idle_mib: 0,
        kept_mib: 0,
    },
];

/// The guest with such a memory and an image of its own, which is this word over and over.
async fn remember(own: &Sandbox, memory: &Memory, word: &str) -> PreparedTool {
    let text = super::wat::text("remember")
        .replace("PAGES", &memory.at_first.to_string())
        .replace("GROWN", &memory.grown.to_string())
        .replace("ZEROS", &((1 + memory.image) << 16).to_string())
        .replace("IMAGE___", word)
        .replace(
            "IMAGES",
            &word.repeat((memory.image << 16) as usize / word.len()),
        );
    own.prepare(component_of(&text, "")).await.unwrap().0
}

/// A sandbox whose idle slots keep so much memory.
fn own(idle_mib: u64) -> Sandbox {
    let own = Sandbox::new(SandboxConfig {
        live_calls: u32::try_from(AT_ONCE).unwrap(),
        parked_calls: 0,
        share_per_free: u32::MAX,
        idle_memory_bytes: idle_mib << 20,
        ..SandboxConfig::default()
    });
    let own = own.unwrap();
    assert_eq!(own.allocation(), Allocation::Pooling);
    own
}

/// Calls the guest [`AT_ONCE`] times; each call finds nothing and loses nothing.
async fn call_all(tool: &PreparedTool, mode: Mode) {
    let calls: Vec<_> = (0..AT_ONCE)
        .map(|_| {
            let tool = tool.clone();
            let asked = invocation("run", &json!(mode as u8), None);
            tokio::spawn(async move { tool.call(asked).await })
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

/// Fills memories, tables and stacks, then looks into them from the same and from another tool.
async fn fill_and_look(own: &Sandbox, memory: &Memory, fill: Mode) {
    let one = remember(own, memory, "image-1.").await;
    let other = remember(own, memory, "image-2.").await;
    call_all(&one, fill).await;
    call_all(&other, Mode::Return).await;
    call_all(&one, fill).await;
    call_all(&one, Mode::Return).await;
    call_all(&other, Mode::ComputeAndLook).await;
}

#[tokio::test]
async fn memories_and_tables_are_as_the_component_made_them() {
    for memory in &MEMORIES {
        for idle_mib in [memory.idle_mib, 1536] {
            fill_and_look(&own(idle_mib), memory, Mode::Return).await;
        }
    }
}

#[tokio::test]
async fn no_slot_is_made_fresh_by_what_the_kernel_knows_of_its_pages() {
    // A page that is swapped out looks as if nobody had written to it.
    let own = own(1536);
    let tool = remember(&own, &MEMORIES[0], "image-1.").await;
    call_all(&tool, Mode::Return).await;
    let files = std::fs::read_dir("/proc/self/fd").unwrap().flatten();
    let files = files.filter_map(|file| std::fs::read_link(file.path()).ok());
    let page_maps: Vec<_> = files.filter(|file| file.ends_with("pagemap")).collect();
    assert!(page_maps.is_empty(), "{page_maps:?}");
}

#[tokio::test]
async fn idle_slots_keep_no_more_memory_than_they_may() {
    for memory in &MEMORIES {
        let own = own(memory.idle_mib);
        let tool = remember(&own, memory, "image-1.").await;
        // A slot for each of them would keep more.
        call_all(&tool, Mode::Compute).await;
        let (idle, most) = (own.idle_memory(), memory.kept_mib << 20);
        let tables = 4 * (64 << 10);
        assert!(idle <= most + tables, "{idle} of {most}");
        assert_eq!(idle > 0, most > 0, "{idle} of {most}");
    }
}

#[test]
fn memories_and_tables_are_as_the_component_made_them_where_the_machine_swaps() {
    let swap = match Swap::on() {
        Ok(swap) => swap,
        Err(reason) => {
            println!("NOT TESTED: calls of a process that is swapped out: {reason}");
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
                let own = own(memory.idle_mib);
                runtime.block_on(fill_and_look(&own, memory, Mode::Compute));
            }
        });
        ended.store(true, Relaxed);
        calls.map(|()| pager.join().unwrap())
    });
    drop(swap);
    match most {
        Ok(0) => println!("NOT TESTED: the kernel swapped nothing of this process out"),
        Ok(most) => assert!(most > 8 << 20, "only {most} bytes were swapped out"),
        Err(panic) => std::panic::resume_unwind(panic),
    }
}
