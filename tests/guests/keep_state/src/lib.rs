//! Tries to keep state, and returns values that differ between calls.
//!
//! Output `{count, random, insecureSeed, wallNanos, monotonicNanos, address}`: `count` is a static
//! that each call adds 1 to; numbers beyond 2⁵³ are text. `address` is where a fresh allocation
//! lies, which says whether memory starts as it did before.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use guest_glue::wasi::clocks::monotonic_clock;
use guest_glue::wasi::random::{insecure_seed, random};
use guest_glue::{ToolError, Value, json};

guest_glue::serve!(run);

static COUNT: AtomicU64 = AtomicU64::new(0);

fn run(_input: Value) -> Result<Value, ToolError> {
    let count = COUNT.fetch_add(1, Ordering::Relaxed) + 1;
    let seed = insecure_seed::insecure_seed();
    let wall = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    let allocation = Box::new(count);
    Ok(json!({
        "count": count,
        "random": random::get_random_u64().to_string(),
        "insecureSeed": format!("{}-{}", seed.0, seed.1),
        "wallNanos": wall.as_nanos().to_string(),
        "monotonicNanos": monotonic_clock::now().to_string(),
        "address": &raw const *allocation as usize,
    }))
}
