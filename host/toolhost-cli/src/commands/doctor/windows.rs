//! What is examined in the place of the kernel: whether a sandbox starts.

use toolhost::{Sandbox, SandboxConfig};

use super::finding::Finding;

const AREA: &str = "kernel";

pub(super) fn examine() -> Vec<Finding> {
    let system = Finding::ok(AREA, "version", "Windows: nothing is promised");
    let next = "Use WSL 2, which is Linux: see SECURITY.md.";
    vec![system.warning(next), sandbox()]
}

/// Starts a sandbox, without a cache.
fn sandbox() -> Finding {
    match Sandbox::new(SandboxConfig::default()) {
        Ok(_) => Finding::ok(AREA, "sandbox", "starts"),
        Err(error) => {
            let cause = anyhow::Error::new(error);
            let found = Finding::ok(AREA, "sandbox", format!("does not start: {cause:#}"));
            found.error("End other programs, which take memory.")
        }
    }
}
