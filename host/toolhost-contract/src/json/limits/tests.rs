use serde_json::{Value, json};

use super::*;

const SMALL: JsonLimits = JsonLimits::new(64, 3, 8);

fn refused(limits: JsonLimits, json: &str) -> String {
    limits.parse::<Value>(json).unwrap_err().to_string()
}

#[test]
fn parses_one_json_value_within_the_limits() {
    // tool-spec-v2 §10.1
    assert_eq!(
        SMALL.parse("[1,2,3,4,5,6,7]"),
        Ok(json!([1, 2, 3, 4, 5, 6, 7]))
    );
    assert_eq!(SMALL.parse_bytes(b"{\"a\":1}"), Ok(json!({"a": 1})));
    for invalid in [
        "",
        " ",
        "x",
        "1 2",
        "{\"a\":1}]",
        "nan",
        "01",
        "[1,]",
        r#""\ud8""#,
    ] {
        let error = SMALL.parse::<Value>(invalid).unwrap_err();
        assert!(
            matches!(error, JsonError::Syntax { line: 1, .. }),
            "{invalid}: {error}"
        );
    }
    assert_eq!(
        refused(SMALL, "[[[[1]]]]"),
        "is nested 4 deep, at most 3 is allowed"
    );
    for many in ["[1,2,3,4,5,6,7,8]", "[[0],[0],[0],[0]]"] {
        assert_eq!(
            refused(SMALL, many),
            "has 9 values, at most 8 are allowed",
            "{many}"
        );
    }
    assert_eq!(
        refused(SMALL, &"1".repeat(65)),
        "has 65 bytes, at most 64 are allowed"
    );
    assert_eq!(
        SMALL.parse_bytes::<Value>(b"\"ab\xff\""),
        Err(JsonError::NotUtf8 { offset: 3 })
    );
}

#[test]
fn syntax_names_the_line_and_types_name_the_member() {
    assert_eq!(
        refused(SMALL, "{\n \"a\": }"),
        "is not valid JSON: expected value at line 2 column 7"
    );
    #[derive(Debug, serde::Deserialize)]
    struct Named {
        #[expect(dead_code, reason = "only read")]
        name: String,
    }
    let error = SMALL.parse::<Named>(r#"{"nam": "x"}"#).unwrap_err();
    assert_eq!(
        error.to_string(),
        "has an unexpected form: missing field `name`"
    );
    assert!(!error.is_limit() && SMALL.parse::<Named>("[[[[").unwrap_err().is_limit());
}

#[test]
fn what_a_parser_would_change_in_silence_is_an_error_with_its_place() {
    let long = r#"{"a":[1,{"b":123456789012345678901234567890}]}"#;
    assert_eq!(
        refused(SMALL, long),
        "has the integer 123456789012345678901234567890 at /a/1/b, which 64 bits cannot hold: \
         write it as a string"
    );
    assert_eq!(
        SMALL.rounding_integers().parse(long),
        Ok(json!({"a": [1, {"b": 123456789012345678901234567890_f64}]}))
    );
    for literal in ["NaN", "-Infinity", "1e400"] {
        assert_eq!(
            refused(
                SMALL.rounding_integers(),
                &format!(r#"{{"a":[0,{literal}]}}"#)
            ),
            format!("has the number {literal} at /a/1, which is not finite")
        );
    }
    let half = r#"{"a":["x","y\ud83dz"]}"#;
    assert_eq!(
        refused(SMALL, half),
        "has half of a surrogate pair in the string at /a/1"
    );
    assert_eq!(
        SMALL.replacing_surrogates().parse(half),
        Ok(json!({"a": ["x", "y\u{fffd}z"]}))
    );
    assert!(refused(SMALL, "\u{feff}1").contains("byte order mark"));
    assert_eq!(
        SMALL.skipping_byte_order_mark().parse("\u{feff}1"),
        Ok(json!(1))
    );
    assert_eq!(
        refused(SMALL, "NaN"),
        "has the number NaN at the top level, which is not finite"
    );
}

#[test]
fn every_text_that_is_accepted_keeps_its_integers() {
    let limits = JsonLimits::new(1 << 10, 64, 1_000);
    for n in [
        "0",
        "-1",
        "9007199254740993",
        "725653563933458433",
        "18446744073709551615",
    ] {
        let value: Value = limits.parse(n).unwrap();
        assert_eq!(value.to_string(), n);
    }
}
