//! `toolhost new`.

use std::fs;

use super::Desk;

#[test]
fn new_writes_a_complete_tool_and_prints_the_next_commands() {
    let desk = Desk::new();
    for (lang, source, entry) in [
        ("rust", "src/lib.rs", "./Cargo.toml"),
        ("typescript", "index.ts", "./index.ts"),
        ("python", "tool.py", "./tool.py"),
    ] {
        let ran = desk.run(&["new", lang, "--lang", lang]).exits(0);
        assert_eq!(
            ran.stdout,
            format!(
                "created {lang}: next\n  cd {lang}\n  toolhost build\n  toolhost check\n  toolhost test\n"
            )
        );
        for file in [source, "README.md", ".gitignore"] {
            assert!(
                desk.path(&format!("{lang}/{file}")).is_file(),
                "{lang} {file}"
            );
        }
        assert_eq!(
            fs::read_dir(desk.path(&format!("{lang}/tests")))
                .unwrap()
                .count(),
            1
        );
        let manifest = desk.read(&format!("{lang}/goondan.yaml"));
        assert!(manifest.contains(&format!("name: {lang}\n")), "{manifest}");
        assert!(manifest.contains(&format!("entry: {entry}")), "{manifest}");
        assert!(!manifest.contains("{{"), "{manifest}");
        // Nothing is built yet: the error names the command that builds.
        let ran = desk.run(&["check", lang]).exits(1);
        assert!(ran.stderr.contains("it has not been built"), "{ran:?}");
        let said: String = ran.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(said.contains(&format!("toolhost build {lang}")), "{ran:?}");
    }
}

#[test]
fn new_accepts_a_named_folder_that_is_empty() {
    let desk = Desk::new();
    fs::create_dir(desk.path("empty")).unwrap();
    let words = ["new", "notes", "--lang", "ts", "--path"];
    desk.run(&[&words[..], &["empty"]].concat()).exits(0);
    desk.run(&[&words[..], &["a/b/c"]].concat()).exits(0);
    assert!(desk.read("a/b/c/goondan.yaml").contains("name: notes\n"));
    let before = desk.read("empty/index.ts");
    desk.write("empty/index.ts", "mine");
    desk.run(&[&words[..], &["empty"]].concat())
        .fails(2, "empty exists and is not empty");
    assert_eq!(desk.read("empty/index.ts"), "mine");
    assert_ne!(before, "mine");
    desk.write("file", "mine");
    desk.run(&[&words[..], &["file"]].concat())
        .fails(2, "file cannot be used");
    assert_eq!(desk.read("file"), "mine");
}

#[test]
fn new_refuses_an_invalid_name_and_writes_nothing() {
    let desk = Desk::new();
    for (name, lang, why) in [
        ("Notes", "python", "'N'"),
        ("a__b", "python", "__"),
        ("a_", "python", "_"),
        ("", "python", "empty"),
        ("../up", "python", "'.'"),
        ("a/b", "python", "'/'"),
        ("-a", "python", ""),
        ("1st", "rust", "begins with a letter"),
        ("_a", "rust", ""),
        ("toolhost-guest", "rust", "has this name"),
        (&"a".repeat(60), "python", "64"),
    ] {
        let ran = desk
            .run(&["new", "--lang", lang, "--", name])
            .fails(2, "is not a valid tool name");
        assert!(
            ran.stderr.contains(why) && ran.stderr.contains("hint: "),
            "{name}: {ran:?}"
        );
    }
    assert_eq!(fs::read_dir(desk.path("")).unwrap().count(), 0);
    desk.run(&["new", "1st", "--lang", "python"]).exits(0);
    desk.run(&["new", "notes"]).exits(2);
    desk.run(&["new", "notes", "--lang", "cobol"]).exits(2);
    assert!(!desk.path("notes").exists());
}
