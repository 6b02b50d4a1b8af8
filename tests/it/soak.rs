//! `cargo xtask soak`, for three seconds.

use std::process::Command;

#[test]
fn a_short_soak_finds_every_answer_right() {
    let mut soak = Command::new(env!("CARGO_BIN_EXE_soak"));
    let ran = soak.args(["3", "--without-drift"]).output().unwrap();
    let said = String::from_utf8_lossy(&ran.stdout);
    assert!(
        ran.status.success(),
        "{said}{}",
        String::from_utf8_lossy(&ran.stderr)
    );
    // Of every kind some came about.
    for end in ["ok", "(dropped)", "E_TOOL_TRAP", "E_TOOL_TIMEOUT", "RSS"] {
        assert!(said.contains(end), "{end}: {said}");
    }
}
