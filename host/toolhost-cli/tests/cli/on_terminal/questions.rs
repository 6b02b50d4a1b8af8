//! `toolhost new` asks for what is missing.

use super::Session;
use crate::terminal::Terminal;

#[test]
fn new_asks_for_the_name_and_the_language() {
    let terminal = Terminal::new();
    let mut session = Session::start(&terminal.toolhost(["new"]));
    session.reads("name of the tool [my-tool]: ");
    session.types("Not Valid\n");
    session.reads("is not a valid tool name");
    session.reads("name of the tool [my-tool]: ");
    session.types("word-count\n");
    session.reads("language: rust, typescript, python [rust]: ");
    session.types("cobol\n");
    session.reads("'cobol' is not a language of tools");
    session.reads("[rust]: ");
    session.types("python\n");
    let (code, rest) = session.ends();
    assert_eq!(code, Some(0), "{rest}");
    assert!(rest.contains("created word-count"), "{rest}");
    assert!(terminal.path("here/word-count/tool.py").exists());
}

#[test]
fn new_takes_the_default_for_an_empty_answer_and_asks_only_for_what_is_missing() {
    let terminal = Terminal::new();
    let mut session = Session::start(&terminal.toolhost(["new", "--lang", "python"]));
    session.reads("name of the tool [my-tool]: ");
    session.types("\n");
    let (code, rest) = session.ends();
    assert_eq!(code, Some(0), "{rest}");
    assert!(!rest.contains("language"), "{rest}");
    assert!(terminal.path("here/my-tool/tool.py").exists());
}

#[test]
fn new_creates_nothing_if_a_question_is_not_answered() {
    let terminal = Terminal::new();
    for (typed, code, says) in [
        ("\u{4}", 2, "the question was not answered"),
        ("\u{3}", 130, "interrupted"),
    ] {
        let mut session = Session::start(&terminal.toolhost(["new"]));
        session.reads("[my-tool]: ");
        session.types(typed);
        let (exit, rest) = session.ends();
        assert_eq!(exit, Some(code), "{rest}");
        let is_on_own_line = rest.contains("\r\n\u{1b}[1;31merror:");
        assert!(rest.contains(says) && is_on_own_line, "{rest:?}");
        assert_eq!(terminal.names("here"), [""; 0]);
    }
}

#[test]
fn new_without_a_terminal_refuses_missing_arguments() {
    let terminal = Terminal::new();
    for (words, says) in [
        (&["new"][..], "Usage: toolhost new"),
        (&["new", "notes"], "--lang <LANG>"),
        (&["new", "--lang", "rust"], "<NAME>"),
    ] {
        let ran = terminal.run(words).exits(2);
        assert_eq!(ran.stdout, "", "{ran:?}");
        assert!(ran.stderr.contains(says), "{ran:?}");
        assert_eq!(terminal.names("here"), [""; 0]);
    }
}
