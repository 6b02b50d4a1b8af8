//! Workspaces that the policy names, and `toolhost instances`.

use crate::terminal::Terminal;

#[test]
fn a_release_in_another_folder_has_the_workspaces_of_the_one_before_and_one_is_removed() {
    let terminal = Terminal::new();
    let tools: &[(&str, &[&str])] = &[("file-system", &["write", "read"])];
    terminal.bundle("r41", tools);
    terminal.bundle("r42", tools);
    terminal.bundle("here", tools);
    terminal.write("policy.yaml", "workspace: shop");
    // Other tests use the state root of the terminal, too.
    let state = ["--state-root", "../state"];
    let run = |words: &[&str], more: &[&str]| terminal.run(words.iter().chain(more).chain(&state));
    let call = |bundle: &str, tool: &str, args: &str, more: &[&str]| {
        let words = ["call", bundle, tool, "--args", args, "--instance", "ann"];
        run(&words, more)
    };
    let named = ["--policy", "../policy.yaml"];
    let write = r#"{"path": "f", "content": "kept"}"#;
    call("../r41", "file-system__write", write, &[]).exits(0);
    // The name is given once from the folder of before; then each folder has it.
    for bundle in ["../r41", "../r42"] {
        let ran = call(bundle, "file-system__read", r#"{"path": "f"}"#, &named).exits(0);
        assert!(ran.stdout.contains("kept"), "{bundle}: {ran:?}");
    }
    let list = |words: &[&str]| {
        let ran = run(&["instances", "--json"], words);
        let listed = ran.exits(0).json()["instances"].clone();
        let listed = listed.as_array().unwrap().clone();
        let name = |it: serde_json::Value| format!("{} {}", it["workspace"], it["key"]);
        listed.into_iter().map(name).collect::<Vec<_>>()
    };
    assert_eq!(list(&[]), [r#""shop" "ann""#]);
    assert_eq!(list(&["../r42", "--policy", "../policy.yaml"]), list(&[]));
    assert!(
        list(&["../r42"]).is_empty(),
        "nothing is kept under the path"
    );

    run(&["instances", "rm", "shop", "ann"], &[]).exits(1);
    run(&["instances", "rm", "shop", "bob", "--yes"], &[]).exits(2);
    assert_eq!(list(&[]).len(), 1);
    run(&["instances", "rm", "shop", "ann", "--yes"], &[]).exits(0);
    assert!(list(&[]).is_empty());
}
