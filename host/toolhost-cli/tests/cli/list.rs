//! `toolhost list`: the catalog of a step, in each format.

use serde_json::json;

use crate::terminal::{Ran, Terminal, examples};

fn list(words: &[&str]) -> Ran {
    let terminal = Terminal::new();
    let ran = Ran::of(terminal.toolhost(["list"]).arg(examples()).args(words)).exits(0);
    assert_eq!(ran.stderr, "");
    ran
}

#[test]
fn tools_are_listed_as_a_table() {
    insta::assert_snapshot!(list(&[]).stdout, @r"
file-system__read   Reads a text file of the workdir
file-system__write  Writes a text file of the workdir; makes the folders it needs
file-system__list   Lists what is in a folder of the workdir
file-system__mkdir  Makes a folder in the workdir
text__upper         Turns text into upper case
text__count         Counts the lines, words and characters of text
text__fail          Fails with a message of the given length, to try out error handling
echo__say           Returns its input
echo__context       Returns the context of this call and writes a line to the log
");
    assert_eq!(list(&["--agent", "coder"]).stdout, list(&[]).stdout);
}

#[test]
fn each_format_prints_the_json_of_its_provider() {
    let schema = json!({
        "type": "object",
        "properties": {"text": {"type": "string"}},
        "required": ["text"],
        "additionalProperties": false,
    });
    let (name, description) = ("text__upper", "Turns text into upper case");
    for (words, expected) in [
        (
            &["--json"][..],
            json!({"name": name, "description": description, "parameters": schema,
                "source": {"type": "config", "name": "text"}}),
        ),
        (
            &["--format", "openai"],
            json!({"type": "function", "function":
                {"name": name, "description": description, "parameters": schema}}),
        ),
        (
            &["--format", "anthropic"],
            json!({"name": name, "description": description, "input_schema": schema}),
        ),
        (
            &["--format", "mcp"],
            json!({"name": name, "description": description, "inputSchema": schema}),
        ),
    ] {
        let items = list(words).json();
        assert_eq!(items.as_array().unwrap().len(), 9, "{words:?}");
        assert_eq!(items[4], expected, "{words:?}");
    }
    assert_eq!(list(&["--json"]).stdout, list(&["--format", "json"]).stdout);
    let of_gemini = list(&["--format", "gemini"]).json();
    let declared = &of_gemini[0]["functionDeclarations"][4];
    let expected =
        json!({"name": name, "description": description, "parametersJsonSchema": schema});
    assert_eq!(*declared, expected);
}

#[test]
fn two_formats_at_once_are_refused() {
    let terminal = Terminal::new();
    terminal
        .run(["list", "--json", "--format", "mcp"])
        .fails(2, "cannot be used with");
    terminal
        .run(["list", "--format", "xml"])
        .fails(2, "[possible values: json, openai, anthropic, gemini, mcp]");
}

#[test]
fn a_note_names_an_agent_without_tools() {
    let terminal = Terminal::new();
    terminal.bundle("here", &[("echo", &["say"])]);
    let manifest = std::fs::read_to_string(terminal.path("here/goondan.yaml")).unwrap();
    let agent =
        "---\napiVersion: goondan.ai/v1\nkind: Agent\nmetadata: {name: idle}\nspec: {tools: []}\n";
    terminal.write("here/goondan.yaml", manifest + agent);
    let ran = terminal.run(["list"]).exits(0);
    assert_eq!(ran.stdout, "");
    assert_eq!(ran.stderr, "note: the agent 'idle' has no tools\n");
    assert_eq!(terminal.run(["list", "--json"]).exits(0).json(), json!([]));
}
