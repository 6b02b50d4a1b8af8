//! Secrets of the policy are in no recording.

use super::*;

const SECRET: &str = "sk-7d1f0c3e9a5b-very-secret-value";

/// Asserts that a file holds neither the secret nor its base64, wherever it begins in it.
fn assert_no_secret(path: &Path) {
    let bytes = fs::read(path).unwrap();
    let holds = |needle: &[u8]| bytes.windows(needle.len()).any(|window| window == needle);
    assert!(!holds(SECRET.as_bytes()), "{}", path.display());
    for shift in 0..3 {
        let shifted = [&b"\0\0\0"[..shift], SECRET.as_bytes()].concat();
        let base64 = base64(&shifted);
        // The characters at both ends depend on the bytes beside the secret.
        let inner = base64.get(4..base64.len() - 4).unwrap();
        assert!(!holds(inner.as_bytes()), "{}: {inner}", path.display());
    }
    let hex: String = SECRET.bytes().map(|byte| format!("{byte:02x}")).collect();
    assert!(!holds(hex.as_bytes()), "{}", path.display());
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let group = chunk
            .iter()
            .fold(0_u32, |group, byte| group << 8 | u32::from(*byte));
        let group = group << (8 * (3 - chunk.len()));
        for at in 0..=chunk.len() {
            text.push(char::from(DIGITS[(group >> (18 - 6 * at)) as usize & 63]));
        }
    }
    text
}

#[test]
fn a_secret_of_the_environment_is_in_no_recording() {
    let terminal = Terminal::new();
    let bundle = probe(&terminal, "bundle", "look_at_environment", "run");
    terminal.write("secret.txt", SECRET);
    terminal.write(
        "policy.yaml",
        "tools: {probe: {env: {KEY: {fromFile: secret.txt}, PLAIN: shown}}}\n",
    );
    let file = terminal.path("probe.call");
    let mut command = terminal.toolhost(["call"]);
    command
        .arg(&bundle)
        .args(["probe__run", "--policy", "../policy.yaml"]);
    command.arg("--workdir").arg(terminal.path("D"));
    command.arg("--record").arg(&file);
    let ran = Ran::of(&mut command).exits(0);
    assert!(!ran.stdout.contains(SECRET), "{ran:?}");
    assert_no_secret(&file);
    let header = &lines(&file)[0];
    assert_eq!(header["grants"]["env"], json!(["KEY", "PLAIN"]));
    replay(&terminal, &bundle, &file, &[]).exits(0);
}

#[test]
fn a_secret_in_a_file_or_in_arguments_is_in_no_recording() {
    let terminal = Terminal::new();
    terminal.write("secret.txt", SECRET);
    terminal.write("D/a.txt", format!("token={SECRET}\n").repeat(40));
    terminal.write(
        "policy.yaml",
        "tools: {file-system: {env: {KEY: {fromFile: secret.txt}}}}\n",
    );
    for (tool, args, code) in [
        ("file-system__read", json!({"path": "a.txt"}), 0),
        (
            "file-system__write",
            json!({"path": "b.txt", "content": SECRET}),
            0,
        ),
        ("file-system__read", json!({"path": SECRET}), 1),
    ] {
        let file = terminal.path("secret.call");
        let mut command = terminal.toolhost(["call"]);
        command
            .arg(examples())
            .args([tool, "--args", &args.to_string()]);
        command.args(["--policy", "../policy.yaml", "--workdir", "../D"]);
        command.arg("--state-root").arg(terminal.path("state"));
        command.arg("--record").arg(&file);
        Ran::of(&mut command).exits(code);
        assert_no_secret(&file);
    }
    // The host keeps a recording of the call that failed.
    let mut folders = vec![terminal.path("state")];
    let mut found = 0;
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|it| it == "call") {
                assert_no_secret(&path);
                found += 1;
            }
        }
    }
    assert_eq!(found, 1);
}
