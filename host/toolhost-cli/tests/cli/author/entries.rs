//! What `toolhost build` reports about entries and bundles that it does not build.

use super::Desk;

const TOOL: &str = "apiVersion: goondan.ai/v1\nkind: Tool\nmetadata: {name: t}\n\
                    spec: {entry: ENTRY, exports: [{name: run}]}\n";

const CORE_MODULE: &[u8] = b"\0asm\x01\0\0\0";

fn files(desk: &Desk) {
    desk.write("main.c", "int main(void) { return 0; }\n");
    desk.write("main.go", "package main\n");
    desk.write("tool.py", "handlers = {}\n");
    desk.write("words.wasm", "hello");
    for (name, bytes) in [
        ("core.wasm", CORE_MODULE),
        ("tool.wasm", b"\0asm\x0d\0\x01\0"),
    ] {
        desk.terminal.write(&format!("here/{name}"), bytes);
    }
}

#[test]
fn build_reports_an_entry_that_is_neither_source_nor_a_component() {
    let desk = Desk::new();
    files(&desk);
    for (entry, says, next) in [
        (
            "./none.wasm",
            "there is no such file or directory",
            "correct spec.entry",
        ),
        (
            "./main.c",
            "is source code, not a WASI component",
            "docs/authors/any-language.md",
        ),
        (
            "./main.go",
            "is source code, not a WASI component",
            "docs/authors/any-language.md",
        ),
        (
            "./core.wasm",
            "is a core WebAssembly module, not a component",
            "wasm-tools component new",
        ),
        (
            "./words.wasm",
            "the file is not WebAssembly",
            "Name a component",
        ),
        (
            "./tol.py",
            "./tol.py: the entry does not exist",
            "Did you mean 'tool.py'?",
        ),
        (
            "./nope/Cargo.toml",
            "./nope/Cargo.toml: the entry does not exist",
            "Correct spec.entry",
        ),
    ] {
        desk.write("goondan.yaml", &TOOL.replace("ENTRY", entry));
        let ran = desk.run(&["build"]).exits(1);
        assert!(
            ran.stderr.contains(says) && ran.stderr.contains(next),
            "{entry}: {ran:?}"
        );
        assert!(!ran.stderr.contains("nothing to build"), "{ran:?}");
        let answer = desk.run(&["build", "--json"]).exits(1).json();
        assert_eq!(answer["tools"][0]["whose"], "source", "{answer}");
    }
    desk.write("goondan.yaml", &TOOL.replace("ENTRY", "./tool.wasm"));
    let ran = desk.run(&["build"]).exits(0);
    assert!(
        ran.stderr
            .contains("nothing to build: every entry is a built component"),
        "{ran:?}"
    );
}

#[test]
fn a_file_that_is_not_a_manifest_is_reported_as_what_it_is() {
    let desk = Desk::new();
    files(&desk);
    for (file, says, next) in [
        (
            "main.c",
            "main.c is source code, not the manifest",
            "docs/authors/any-language.md",
        ),
        (
            "core.wasm",
            "core.wasm is a core WebAssembly module",
            "wasm-tools component new",
        ),
        (
            "tool.wasm",
            "tool.wasm is a component",
            "`toolhost inspect FILE --manifest`",
        ),
        (
            "tool.py",
            "tool.py is source code",
            "`toolhost new NAME --lang python`",
        ),
    ] {
        for command in ["build", "check", "list"] {
            let ran = desk.run(&[command, file]).fails(2, says);
            assert!(ran.stderr.contains(next), "{ran:?}");
        }
    }
}

#[test]
fn build_reports_probable_mistakes_in_schemas() {
    let desk = Desk::new();
    files(&desk);
    let exports = "[{name: run, parameters: {type: object, properties: {a: {}}, requird: [a]}}]";
    let manifest = TOOL
        .replace("ENTRY", "./tool.wasm")
        .replace("[{name: run}]", exports);
    desk.write("goondan.yaml", &manifest);
    let ran = desk.run(&["build"]).exits(0);
    for says in [
        "parameters.requird: an unknown keyword has no effect",
        "Did you mean 'required'?",
    ] {
        assert!(ran.stderr.contains(says), "{ran:?}");
    }
}
