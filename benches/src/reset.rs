//! Measures the reset of memory: calls that write to pages of a large memory, in slots that keep the
//! memory resident and in slots that return it to the kernel.

use std::path::Path;
use std::time::Instant;

use tokio::runtime::Runtime;

use crate::measure::median;
use crate::raw::{Pool, Raw};

/// Sizes of the memory, in MiB.
const SIZES: [usize; 6] = [1, 2, 4, 8, 16, 32];

/// Numbers of 4 KiB pages that a call writes to.
const PAGES: [usize; 3] = [4, 64, 512];

/// Bytes that a slot keeps resident: the largest memory.
const KEPT: usize = 32 << 20;

/// Rounds. Kept and returned memory alternate, so that noise affects both.
const ROUNDS: usize = 11;

/// Calls in one round.
const BATCH: u32 = 50;

const COMPONENT: &str = include_str!("../../tests/guests/wat/tool.wat");

/// A guest whose calls write one byte to each of `TOUCHED` pages, behind the first 64 KiB.
const GUEST: &str = r#"
(core module $guest
  (memory (export "memory") SIZE)
  (global $top (mut i32) (i32.const 1024))
  (func (export "realloc") (param i32 i32 i32 i32) (result i32)
    (local $at i32)
    (local.set $at (i32.and (i32.add (global.get $top) (i32.const 7)) (i32.const -8)))
    (global.set $top (i32.add (local.get $at) (local.get 3)))
    (local.get $at))
  (func (export "describe") (result i32) (i32.const 16))
  (func (export "call") (param i32) (result i32)
    (local $page i32)
    (loop $next
      (i32.store8 offset=65536 (i32.shl (local.get $page) (i32.const 12)) (i32.const 1))
      (local.set $page (i32.add (local.get $page) (i32.const 1)))
      (br_if $next (i32.lt_u (local.get $page) (i32.const TOUCHED))))
    (i32.const 96))
  (func (export "done") (param i32))
  ;; Ok, output: the four bytes "null".
  (data (i32.const 104) "\70\00\00\00\04\00\00\00null"))
"#;

/// Returns the pages that a call can write to: all but the first 64 KiB.
fn touched(mib: usize, pages: usize) -> usize {
    pages.min((mib << 8) - 16)
}

fn component(mib: usize, pages: usize) -> Vec<u8> {
    let guest = GUEST
        .replace("SIZE", &(mib << 4).to_string())
        .replace("TOUCHED", &touched(mib, pages).to_string());
    wat::parse_str(COMPONENT.replace("  ;; GUEST\n", &guest)).unwrap()
}

/// Returns the microseconds of one call, as the mean of a batch.
async fn batch(raw: &Raw, work: &Path) -> f64 {
    let (message, input) = ("{}", "{}".to_owned());
    let started = Instant::now();
    for _ in 0..BATCH {
        let output = raw.call(work, "run", message, &input).await;
        assert_eq!(output, "null");
    }
    started.elapsed().as_secs_f64() * 1e6 / f64::from(BATCH)
}

/// Returns the medians with kept and with returned memory, in microseconds.
fn measure(runtime: &Runtime, work: &Path, component: &[u8]) -> (f64, f64) {
    let keeping = |bytes| Raw::new(component, Pool::keeping(bytes));
    let (kept, returned) = (keeping(KEPT), keeping(0));
    let rounds = (0..ROUNDS).map(|_| {
        runtime.block_on(async { (batch(&kept, work).await, batch(&returned, work).await) })
    });
    let (kept, returned) = rounds.unzip();
    (median(kept), median(returned))
}

/// Prints the table under "What a reset takes" of docs/design/memory.md.
pub(crate) fn print(runtime: &Runtime, work: &Path) {
    println!("resetting memory: µs of a call that writes to so many pages, kept and returned");
    let titles = PAGES.map(|pages| format!(" {pages} pages: kept, returned |"));
    println!("| memory |{}", titles.concat());
    println!("|---|{}", "---|".repeat(PAGES.len()));
    for mib in SIZES {
        let cells = PAGES.map(|pages| {
            let (kept, returned) = measure(runtime, work, &component(mib, pages));
            match touched(mib, pages) {
                all if all == pages => format!(" {kept:.0}, {returned:.0} |"),
                fewer => format!(" {kept:.0}, {returned:.0} ({fewer} pages) |"),
            }
        });
        println!("| {mib} MiB |{}", cells.concat());
    }
}
