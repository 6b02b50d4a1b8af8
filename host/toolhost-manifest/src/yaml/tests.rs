use serde_json::json;

use super::*;

fn read(text: &str) -> Vec<Result<Node, YamlError>> {
    documents(&YamlSource::new("x.yaml", text), 10)
}

/// What each document is, or what is wrong with it and where.
fn outline(text: &str) -> Vec<serde_json::Value> {
    let shown = |document: Result<Node, YamlError>| match document {
        Ok(node) => node.to_json(),
        Err(error) => {
            let at = error.at.map(|mark| (mark.line, mark.column));
            json!({"error": error.message, "at": at})
        }
    };
    read(text).into_iter().map(shown).collect()
}

#[test]
fn reads_values_as_yaml_1_2_does() {
    let text = "a: 1\nb: -1\nc: 1.5\nd: yes\ne: true\nf: ~\ng: \"1\"\nh: 0x10\ni: |\n  l1\n  l2\nj: 1e9\nk: 2001-01-01\n1: x\n";
    assert_eq!(
        outline(text),
        [json!({
            "a": 1, "b": -1, "c": 1.5, "d": "yes", "e": true, "f": null, "g": "1", "h": 16,
            "i": "l1\nl2\n", "j": 1e9, "k": "2001-01-01", "1": "x",
        })]
    );
}

#[test]
fn passes_over_empty_documents_and_follows_aliases_and_merges() {
    assert_eq!(
        outline("---\n---\n# nothing\n---\na: 1\n---\n~\n---\n- 2\n"),
        [json!({"a": 1}), json!([2])]
    );
    assert_eq!(outline(""), [json!(null); 0]);
    assert_eq!(
        outline("x: &a {k: v}\ny: *a\nz:\n  <<: *a\n  j: 1\n"),
        [json!({"x": {"k": "v"}, "y": {"k": "v"}, "z": {"j": 1, "k": "v"}})]
    );
}

#[test]
fn a_wrong_document_costs_only_itself_and_a_syntax_error_the_rest() {
    assert_eq!(
        outline("a: 1\na: 2\n---\n? [k]\n: v\n---\nb: .inf\n---\nc: 3\n---\nd: [\n---\ne: 5\n"),
        [
            json!({"error": "duplicate key 'a'", "at": [2, 1]}),
            json!({"error": "expected string scalar", "at": [4, 3]}),
            json!({"error": "non-finite float `.inf` rejected by the configured policy", "at": [7, 4]}),
            json!({"c": 3}),
            json!({"error": "unclosed bracket '['", "at": [11, 4]}),
        ]
    );
}

#[test]
fn an_integer_keeps_its_digits_or_is_refused_with_its_place() {
    assert_eq!(
        outline(
            "가: x\na: 18446744073709551615\nb: [-9223372036854775808, 1e30, 1.5e19, \"123456789012345678901\"]\n"
        ),
        [json!({"가": "x", "a": u64::MAX, "b": [i64::MIN, 1e30, 1.5e19, "123456789012345678901"]})]
    );
    for long in [
        "18446744073709551616",
        "-9223372036854775809",
        "100000000000000000000000000000000",
    ] {
        assert_eq!(
            outline(&format!("가: x\nb: [1, {{c: {long}}}]\n---\nd: 1\n")),
            [
                json!({"error": format!("64 bits cannot hold the integer {long}: write it as a string"), "at": [2, 12]}),
                json!({"d": 1}),
            ]
        );
    }
}

#[test]
fn refuses_bombs_of_aliases_and_of_depth() {
    let mut aliases = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..12 {
        let nine = vec![format!("*a{}", level - 1); 9].join(", ");
        aliases.push_str(&format!("a{level}: &a{level} [{nine}]\n"));
    }
    let flow = format!("a: {}{}", "[".repeat(5000), "]".repeat(5000));
    let block: String = (0..3000)
        .map(|depth| format!("{}a:\n", " ".repeat(depth)))
        .collect();
    let wide = format!("a: [{}]", "1,".repeat(300_000));
    let itself = "a: &x [*x]\n".to_owned();
    for bomb in [aliases, flow, block, wide, itself] {
        let documents = read(&bomb);
        assert!(matches!(documents.as_slice(), [Err(_)]), "{bomb:.60}");
    }
}

#[test]
fn places_are_in_bytes_whatever_the_text_is_made_of() {
    let check = |text: &str, pointer: &str, expected: (u32, u32, &str)| {
        let source = YamlSource::new("x.yaml", text);
        let document = documents(&source, 1).remove(0).unwrap();
        let position = source
            .place(document.pointer(pointer).mark, "")
            .position
            .unwrap();
        let span = position.span;
        let spanned = source.text().get(span.offset..span.offset + span.length);
        assert_eq!((position.line, position.column, spanned.unwrap()), expected);
    };
    check("a: one\nb: [1, two]\n", "/b/1", (2, 8, "two"));
    check("가: 나\n다: [라, 마바]\n", "/다/1", (2, 8, "마바"));
    check("\u{feff}a: \"x\"\r\nb: 😀y\r\n", "/b", (2, 4, "😀y"));
    let far = format!("k: {}\nb: 끝", "가나".repeat(2000));
    check(&far, "/b", (2, 4, "끝"));
}

#[test]
fn a_byte_order_mark_between_documents_is_a_column_too() {
    let source = YamlSource::new("x.yaml", "%x: \n\u{feff}b| ");
    let mark = match documents(&source, 1).remove(0) {
        Ok(node) => node.mark,
        Err(error) => error.at.unwrap(),
    };
    let position = source.place(mark, "").position.unwrap();
    let before = source.text().get(..position.span.offset).unwrap();
    assert_eq!(before, "%x: \n\u{feff}");
    assert_eq!((position.line, position.column), (2, 2));
}
