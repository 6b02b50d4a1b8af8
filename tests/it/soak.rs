//! Runs the programs of `cargo xtask soak`, for a short time.

use crate::helper::helper;

#[test]
fn a_short_soak_run_gets_the_expected_answers() {
    let mut soak = helper("soak");
    let ran = soak.args(["3", "--without-drift"]).output().unwrap();
    let stdout = String::from_utf8_lossy(&ran.stdout);
    assert!(
        ran.status.success(),
        "{stdout}{}",
        String::from_utf8_lossy(&ran.stderr)
    );
    // Every kind of outcome occurs.
    for end in ["ok", "(dropped)", "E_TOOL_TRAP", "E_TOOL_TIMEOUT", "RSS"] {
        assert!(stdout.contains(end), "{end}: {stdout}");
    }
}

#[test]
fn a_short_soak_run_of_the_mcp_server_leaves_no_session_and_no_call() {
    let mut soak = helper("mcp-soak");
    let ran = soak.args(["100", "--without-drift"]).output().unwrap();
    let stdout = String::from_utf8_lossy(&ran.stdout);
    assert!(
        ran.status.success(),
        "{stdout}{}",
        String::from_utf8_lossy(&ran.stderr)
    );
    assert!(
        stdout.contains("toolhost_sessions_opened_total"),
        "{stdout}"
    );
}
