use serde_json::json;

use super::*;

fn limit(units: u32) -> ErrorMessageLimit {
    ErrorMessageLimit::new(units).unwrap()
}

fn raised(message: &str) -> HandlerError {
    HandlerError {
        message: message.to_owned(),
        ..HandlerError::default()
    }
}

fn normal(error: HandlerError) -> ToolError {
    normalise_error(error, limit(1000), Locale::En)
}

#[test]
fn an_error_without_a_code_is_e_tool_with_a_suggestion_and_a_page() {
    // tool-spec-v2 §10.3, §2.4(4), §2.4(5)
    let error = normalise_error(raised("요청 실패"), limit(1000), Locale::Ko);
    assert_eq!(
        serde_json::to_value(error).unwrap(),
        json!({
            "code": "E_TOOL",
            "name": "Error",
            "message": "요청 실패",
            "suggestion": "메시지를 읽고 호출을 고치거나, 호출에 잘못이 없으면 도구 작성자에게 알리세요.",
            "helpUrl": "https://docs.goondan.ai/errors/E_TOOL",
        })
    );
}

#[test]
fn a_handlers_own_fields_are_kept() {
    let error = normal(HandlerError {
        message: "no such file".into(),
        name: Some("FileError".into()),
        code: Some("ENOENT".into()),
        suggestion: Some("list the directory".into()),
        help_url: Some("https://example.com/enoent".into()),
    });
    assert_eq!(
        serde_json::to_value(error).unwrap(),
        json!({
            "code": "ENOENT",
            "name": "FileError",
            "message": "no such file",
            "suggestion": "list the directory",
            "helpUrl": "https://example.com/enoent",
        })
    );
    let bare = normal(HandlerError {
        code: Some("ENOENT".into()),
        ..raised("x")
    });
    assert_eq!(
        (bare.suggestion, bare.help_url),
        (None, None),
        "not ours to advise"
    );
}

#[test]
fn a_code_reserved_for_the_host_becomes_e_tool() {
    let table = ToolErrorCode::ALL.iter().map(|code| code.as_str());
    let forged = ["E_TOOL_NEW", "E_HOSTILE", "AGENT_X", "a\nb", "", "코드"];
    for code in table.chain(forged) {
        let error = normal(HandlerError {
            code: Some(code.to_owned()),
            ..raised("x")
        });
        assert_eq!(error.code, ErrorCode::Host(ToolErrorCode::Tool), "{code:?}");
    }
}

#[test]
fn the_message_is_cut_to_the_tools_limit_after_escaping() {
    // tool-spec-v2 §2.4(2)
    let check = |message: &str, units: u32, expected: &str| {
        let error = normalise_error(raised(message), limit(units), Locale::En);
        assert_eq!(error.message, expected);
        assert_eq!(
            limit_error(error.clone(), limit(units)),
            error,
            "idempotent"
        );
    };
    check(
        &"e".repeat(200),
        50,
        &format!("{}... (truncated)", "e".repeat(35)),
    );
    check("\u{1b}[31mred\u{202e}", 100, "\\u{1b}[31mred\\u{202e}");
    check(&"\u{1b}".repeat(30), 21, "\\u{1b}... (truncated)");
    check("line\nline", 100, "line\nline");
}

#[test]
fn a_message_of_megabytes_is_escaped_only_up_to_its_limit() {
    let error = normal(raised(&"\u{1b}".repeat(10 << 20)));
    assert_eq!(error.message.len(), 1000);
}

#[test]
fn an_empty_message_is_replaced_by_a_default() {
    let check = |code: Option<&str>, expected: &str| {
        let error = normal(HandlerError {
            code: code.map(str::to_owned),
            ..raised(" \n")
        });
        assert_eq!(error.message, expected);
    };
    check(None, "the tool failed without a message");
    check(
        Some("EIO"),
        "the tool failed with code EIO and without a message",
    );
}

#[test]
fn a_name_is_short_and_never_empty() {
    let check = |name: Option<&str>, expected: &str| {
        let error = normal(HandlerError {
            name: name.map(str::to_owned),
            ..raised("x")
        });
        assert_eq!(error.name.as_deref(), Some(expected));
    };
    check(None, "Error");
    check(Some(""), "Error");
    check(Some("  "), "Error");
    check(Some("TypeError"), "TypeError");
    check(Some("a\u{1b}b"), "a\\u{1b}b");
    check(Some(&"n".repeat(500)), &"n".repeat(128));
}

#[test]
fn a_suggestion_is_cut_by_the_tools_limit_and_the_hosts_is_not() {
    let own = normalise_error(
        HandlerError {
            suggestion: Some("s".repeat(100)),
            ..raised("x")
        },
        limit(20),
        Locale::En,
    );
    assert_eq!(own.suggestion.as_deref(), Some("sssss... (truncated)"));
    let hosts = ToolError::host(ToolErrorCode::Timeout, "too slow by far", Locale::En);
    let limited = limit_error(hosts.clone(), limit(5));
    assert_eq!(limited.message, "too s");
    assert_eq!(limited.suggestion, hosts.suggestion);
    assert_eq!(limited.code, hosts.code);
}

#[test]
fn only_a_short_https_link_is_passed_on() {
    let check = |url: &str, kept: bool| {
        let error = normal(HandlerError {
            code: Some("MINE".into()),
            help_url: Some(url.to_owned()),
            ..raised("x")
        });
        assert_eq!(error.help_url.is_some(), kept, "{url:.60}");
    };
    check("https://example.com/a?b=c#d", true);
    check("https://example.com/한글", true);
    check(&format!("https://e/{}", "u".repeat(2038)), true);
    check(&format!("https://e/{}", "u".repeat(2039)), false);
    for bad in [
        "",
        "https://",
        "http://example.com",
        "javascript:alert(1)",
        "HTTPS//x",
        "file:///etc/passwd",
        "https://a b",
        "https://a\nb",
        "https://a\u{202e}b",
        " https://a",
    ] {
        check(bad, false);
    }
}

#[test]
fn a_message_that_is_blank_within_the_limit_counts_as_empty() {
    for (message, units) in [("\nit broke", 1), ("  it broke", 2), ("😀", 1)] {
        let once = normalise_error(raised(message), limit(units), Locale::En);
        assert!("the tool failed".starts_with(&once.message), "{once:?}");
        assert!(!once.message.is_empty());
        assert_eq!(limit_error(once.clone(), limit(units)), once);
    }
}

#[test]
fn a_name_or_suggestion_that_is_blank_within_the_limit_counts_as_unset() {
    let blank = format!("{}x", " ".repeat(2_000));
    let error = normal(HandlerError {
        name: Some(blank.clone()),
        suggestion: Some("\n".repeat(2_000)),
        ..raised("it broke")
    });
    assert_eq!(error.name.as_deref(), Some("Error"));
    let own = HandlerError {
        code: Some("MINE".into()),
        suggestion: Some(blank),
        ..raised("it broke")
    };
    let error = normalise_error(own, limit(10), Locale::En);
    assert_eq!(error.suggestion, None);
}

#[test]
fn the_values_of_an_error_that_are_dropped_have_a_sentence() {
    let error = |code: &str, url: &str| HandlerError {
        code: Some(code.to_owned()),
        help_url: Some(url.to_owned()),
        ..raised("x")
    };
    assert_eq!(
        dropped_values(&error("E_TOOL_MINE", "http://example.com/x")),
        [
            "the code 'E_TOOL_MINE' is reserved for the host; the model gets E_TOOL",
            "the helpUrl 'http://example.com/x' is not an https URL of at most 2048 bytes without spaces; the model does not get it",
        ]
    );
    let malformed = dropped_values(&error("no\u{1b} code", "https://example.com/x"));
    let [malformed] = &*malformed else {
        panic!("{malformed:?}");
    };
    assert!(malformed.contains("letters, digits"), "{malformed}");
    assert!(!malformed.contains('\u{1b}'));
    assert!(dropped_values(&error("ENOENT", "https://example.com/x")).is_empty());
    assert!(dropped_values(&raised("x")).is_empty());
}
