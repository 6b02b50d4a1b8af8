use toolhost::ToolErrorCode;
use toolhost_manifest::bundle::Span;

use super::*;

const PLAIN: Style = Style {
    colours: Colours::Plain,
    columns: None,
};

fn at(source: &YamlSource, text: &str) -> Place {
    let offset = source.text().find(text).unwrap();
    let line = source.text().get(..offset).unwrap().matches('\n').count() + 1;
    let span = Span {
        offset,
        length: text.len(),
    };
    Place {
        file: source.name().to_owned(),
        position: Some(Position {
            line: u32::try_from(line).unwrap(),
            column: 1,
            span,
        }),
        document_path: "documents[0].spec".to_owned(),
    }
}

fn error(place: Place, message: &str) -> Diagnostic {
    Diagnostic::error(ToolErrorCode::ConfigSchema, place, message).with_help("Do this.")
}

#[test]
fn a_finding_is_formatted_with_its_line_and_hint() {
    let source = YamlSource::new("b.yaml", "kind: Tool\nspec: {x: 1}\nlast: 2\n");
    let finding = error(at(&source, "x: 1"), "unknown key 'x'")
        .with_related("a Tool begins here", at(&source, "kind"));
    insta::assert_snapshot!(render(&[finding], &[source], PLAIN), @r"
E_CONFIG_SCHEMA_INVALID

  × unknown key 'x'
   ╭─[b.yaml:2:8]
 1 │ kind: Tool
   · ──┬─
   ·   ╰── a Tool begins here
 2 │ spec: {x: 1}
   ·        ──┬─
   ·          ╰── documents[0].spec
 3 │ last: 2
   ╰────
  help: Do this.
");
}

#[test]
fn a_finding_about_a_whole_file_names_it() {
    let finding = error(Place::file("b.yaml"), "the file is not UTF-8 text");
    insta::assert_snapshot!(render(&[finding], &[], PLAIN), @r"
E_CONFIG_SCHEMA_INVALID

  × b.yaml: the file is not UTF-8 text
  help: Do this.
");
}

#[test]
fn control_characters_of_a_file_are_escaped() {
    let text = format!(
        "a: \"\u{1b}[2J\u{9b}31m\u{202e}\u{200f}\u{e0041}x\"\r\nb: {}\n",
        "y".repeat(LINE_MAX + 1)
    );
    let source = YamlSource::new("b\u{1b}.yaml", text.as_str());
    let acting = Diagnostic {
        help: "Do\u{1b}[0m this.".to_owned(),
        ..error(at(&source, "\u{1b}[2J"), "bad \u{1b}]0;title\u{7}")
    };
    let short = YamlSource::new("b\u{1b}.yaml", text.lines().next().unwrap());
    for sources in [[source.clone()], [short]] {
        let formatted = render(std::slice::from_ref(&acting), &sources, PLAIN);
        let needs_escape = |c: char| c != '\n' && toolhost::text::needs_escape(c);
        assert!(!formatted.contains(needs_escape), "{formatted:?}");
    }
    let formatted = render(&[acting], &[source], PLAIN);
    assert!(
        formatted.len() < LINE_MAX && formatted.contains("yaml:1:1: bad"),
        "{formatted}"
    );
}

#[test]
fn colours_are_used_only_on_terminals() {
    let finding = error(Place::file("b.yaml"), "odd");
    let coloured = Style {
        colours: Colours::Ansi,
        columns: Some(80),
    };
    assert!(!render(std::slice::from_ref(&finding), &[], PLAIN).contains('\u{1b}'));
    assert!(render(&[finding], &[], coloured).contains('\u{1b}'));
}
