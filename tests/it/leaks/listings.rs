//! Folders with more names than the host keeps in memory.

use std::fs;

use serde_json::json;
use toolhost_sandbox::CallReport;
use toolhost_tests::process_usage::ProcessUsage;
use toolhost_tests::{Work, invocation, output, prepared};

use super::{TIMES, alone, stays_flat};

/// Returns a folder with `names` names: hard links of few files, which are faster to create. A file has
/// at most 65,000 names.
fn folder(names: usize) -> Work {
    const LINKS: usize = 50_000;
    let work = Work::new();
    let first = |n: usize| work.path(&format!("{}", n - n % LINKS));
    for n in 0..names {
        if n % LINKS == 0 {
            fs::write(first(n), "").unwrap();
        } else {
            fs::hard_link(first(n), work.path(&n.to_string())).unwrap();
        }
    }
    work
}

async fn list(work: &Work, input: serde_json::Value, names: u64) -> CallReport {
    let mut request = invocation("run", &input, Some(work));
    request.limits.listed_names = names;
    prepared("list_dir").await.call(request).await
}

#[test]
fn listing_a_large_folder_repeatedly_leaks_nothing() {
    alone(async {
        let work = folder(100_000);
        stays_flat("a listing that ends early", TIMES, async |_| {
            let report = list(&work, json!({}), 500).await;
            assert_eq!(
                output(&report),
                &json!({"count": 500, "error": "EOVERFLOW"})
            );
        })
        .await;
        stays_flat("listings that are held", TIMES / 10, async |_| {
            let report = list(&work, json!({"hold": 80}), 100_000).await;
            assert_eq!(output(&report), &json!({"count": 80}));
        })
        .await;
        // Listing a hundred thousand names takes a quarter of a second.
        stays_flat("a listing to the end", 10, async |_| {
            let report = list(&work, json!({}), 100_000).await;
            assert_eq!(output(&report), &json!({"count": 100_000}));
        })
        .await;
    });
}

#[test]
fn many_open_listings_of_a_very_large_folder_take_little_memory() {
    alone(async {
        // Creating a million names takes half a minute; fewer are enough to detect a collected listing.
        let work = folder(250_000);
        list(&work, json!({"hold": 1}), 1_000_000).await;
        let before = ProcessUsage::now().peak;
        let report = list(&work, json!({"hold": 80}), 10_000_000).await;
        assert_eq!(output(&report), &json!({"count": 80}));
        let grown = ProcessUsage::now().peak - before;
        // Each listing holds one buffer, not 250,000 names.
        assert!(grown < 64 << 20, "{grown}");
    });
}
