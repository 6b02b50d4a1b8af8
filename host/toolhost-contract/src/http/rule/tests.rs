use proptest::prelude::*;

use super::*;

fn rule(text: &str) -> HttpRule {
    HttpRule::parse(text).unwrap_or_else(|why| panic!("{text}: {why}"))
}

fn allows(text: &str, request: &str) -> bool {
    let (method, url) = request.split_once(' ').unwrap();
    let (scheme, rest) = url.split_once("://").unwrap();
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let Ok(origin) = Origin::parse(&format!("{scheme}://{authority}")) else {
        return false;
    };
    let path = if path.is_empty() { "/" } else { path };
    rule(text).allows(method, &origin, path)
}

#[test]
fn allows_exactly_the_requests_it_names() {
    let check = |rule: &str, allowed: &[&str], refused: &[&str]| {
        for request in allowed {
            assert!(allows(rule, request), "{rule} must allow {request}");
        }
        for request in refused {
            assert!(!allows(rule, request), "{rule} must refuse {request}");
        }
    };
    check(
        "https://api.example.com",
        &[
            "GET https://api.example.com",
            "POST https://API.Example.COM:443/any/path",
            "GET https://api.example.com/a/../b",
        ],
        &[
            "GET http://api.example.com/",
            "GET http://api.example.com:443/",
            "GET https://api.example.com:8443/",
            "GET https://example.com/",
            "GET https://x.api.example.com/",
            "GET https://api.example.com.evil.example/",
            "GET https://api.example.com.",
            "GET https://api.example.com@evil.example/",
            "GET https://user@api.example.com/",
            "GET https://api.example.co/",
        ],
    );
    check(
        "GET https://api.example.com/v1/users",
        &[
            "GET https://api.example.com/v1/users",
            "GET https://api.example.com/v1/%75sers",
            "GET https://api.example.com/%76%31/users",
        ],
        &[
            "POST https://api.example.com/v1/users",
            "get https://api.example.com/v1/users",
            "GET https://api.example.com/v1/users/",
            "GET https://api.example.com/v1/Users",
            "GET https://api.example.com/v1//users",
            "GET https://api.example.com/v1%2Fusers",
            "GET https://api.example.com/v1/x/../users",
            "GET https://api.example.com/",
            "GET https://api.example.com",
        ],
    );
    check(
        "https://api.example.com/public/*",
        &[
            "GET https://api.example.com/public/",
            "GET https://api.example.com/public/a/b",
            "GET https://api.example.com/public/a.b/..c/...",
            "GET https://api.example.com/p%75blic/%20",
        ],
        &[
            "GET https://api.example.com/public",
            "GET https://api.example.com/publicity",
            "GET https://api.example.com/public/../secret",
            "GET https://api.example.com/public/%2e%2E/secret",
            "GET https://api.example.com/public/.%2e/secret",
            "GET https://api.example.com/public/..;x=1/secret",
            "GET https://api.example.com/public/..%3bx/secret",
            "GET https://api.example.com/public/%c0%ae%c0%ae/secret",
            "GET https://api.example.com/public/..%2fsecret",
            "GET https://api.example.com/public/..%5csecret",
            "GET https://api.example.com/public/..\\secret",
            "GET https://api.example.com/public/%252e%252e/secret",
            "GET https://api.example.com/public/./x",
            "GET https://api.example.com/public/..",
            "GET https://api.example.com/public/%00",
            "GET https://api.example.com/public/%zz",
            "GET https://api.example.com/public/%2",
            "GET https://api.example.com//public/",
        ],
    );
    check(
        "http://*.example.com:8080/*",
        &[
            "PUT http://a.example.com:8080/",
            "PUT http://a.b.example.com:8080/x",
        ],
        &[
            "PUT http://example.com:8080/",
            "PUT http://aexample.com:8080/",
            "PUT http://a.example.com/",
            "PUT http://a.example.com.evil.example:8080/",
        ],
    );
    check(
        "http://127.0.0.1:8080/*",
        &["GET http://127.0.0.1:8080/x"],
        &[
            "GET http://localhost:8080/x",
            "GET http://127.0.0.2:8080/x",
            "GET http://127.1:8080/x",
            "GET http://0177.0.0.1:8080/x",
            "GET http://2130706433:8080/x",
            "GET http://[::ffff:127.0.0.1]:8080/x",
        ],
    );
    check(
        "http://[2001:DB8:0::1]",
        &["GET http://[2001:db8::1]/", "GET http://[2001:db8::0:1]:80"],
        &["GET http://[2001:db8::2]/"],
    );
    check(
        "https://xn--bcher-kva.example",
        &["GET https://XN--bcher-kva.example/"],
        &["GET https://bcher.example/"],
    );
}

#[test]
fn a_rule_names_its_reads_and_its_only_host() {
    for (text, is_read, host) in [
        ("GET https://a.example/x", true, Some("a.example")),
        ("HEAD https://127.0.0.1/x", true, Some("127.0.0.1")),
        ("POST https://a.example/x", false, Some("a.example")),
        ("https://a.example/x", false, None),
        ("GET https://a.example", true, None),
        ("GET https://a.example/x*", true, None),
        ("GET https://*.a.example/x", true, None),
    ] {
        let rule = rule(text);
        assert_eq!(rule.allows_only_reads(), is_read, "{text}");
        let of_rule = rule.exact_host().map(Host::to_string);
        assert_eq!(of_rule.as_deref(), host, "{text}");
    }
}

#[test]
fn a_method_is_a_short_word_in_capitals_and_opens_no_tunnel() {
    let (longest, longer) = ("M".repeat(METHOD_MAX), "M".repeat(METHOD_MAX + 1));
    for (method, is_allowed, is_of_rule) in [
        ("GET", true, true),
        ("M-SEARCH", true, true),
        (&longest, true, true),
        (&longer, false, false),
        ("get", true, false),
        ("GET1", true, false),
        ("", true, false),
        ("CONNECT", false, false),
        ("connect", false, false),
        ("Trace", false, false),
    ] {
        assert_eq!(is_allowed_method(method), is_allowed, "{method}");
        let rule = HttpRule::parse(&format!("{method} https://a.example"));
        assert_eq!(rule.is_ok(), is_of_rule, "{method}");
    }
}

#[test]
fn a_rule_for_the_names_below_a_host_matches_no_empty_name() {
    let origin = Origin {
        scheme: Scheme::Https,
        host: Host::Name(".example.com".to_owned()),
        port: 443,
    };
    assert!(!rule("https://*.example.com").allows("GET", &origin, "/"));
}

#[test]
fn refuses_an_invalid_rule() {
    use HttpRuleError::{Address, Method, Origin, Path, Query, Star};
    for (text, why) in [
        ("", Origin(OriginError::Scheme)),
        ("api.example.com", Origin(OriginError::Scheme)),
        ("GET", Origin(OriginError::Scheme)),
        ("ftp://example.com", Origin(OriginError::Scheme)),
        ("get https://example.com", Method),
        (" https://example.com", Method),
        ("CONNECT https://example.com", Method),
        ("TRACE https://example.com", Method),
        ("GET  https://example.com", Origin(OriginError::Scheme)),
        ("https://example.com ", Method),
        ("https://user:pw@example.com", Origin(OriginError::UserInfo)),
        ("https://bücher.example", Origin(OriginError::NotAscii)),
        ("https://example.com.", Origin(OriginError::TrailingDot)),
        ("https://example.com:x", Origin(OriginError::Port)),
        ("https://0177.0.0.1", Origin(OriginError::OddAddress)),
        ("https://*", Star),
        ("https://a*.example.com", Star),
        ("https://*.*.example.com", Star),
        ("https://*example.com", Star),
        ("https://*.127.0.0.1", Star),
        ("https://example.com*", Star),
        ("https://example.com/*/x", Star),
        ("https://example.com/a*b*", Star),
        ("https://example.com/?q", Query),
        ("https://example.com?q", Query),
        ("https://example.com/#f", Query),
        ("https://example.com/a/../b", Path),
        ("https://example.com/%2e%2e/", Path),
        ("https://example.com/a%2Fb", Path),
        ("https://example.com/%", Path),
        ("https://example.com/ü", Path),
        ("http://0.0.0.0", Address),
        ("http://[::]", Address),
        ("http://224.0.0.1", Address),
        ("http://255.255.255.255", Address),
        ("http://[::ffff:127.0.0.1]", Address),
        ("http://[64:ff9b::7f00:1]", Address),
        ("http://[2002:7f00:1::]", Address),
    ] {
        assert_eq!(HttpRule::parse(text), Err(why), "{text}");
    }
}

proptest! {
    #[test]
    fn a_rule_parses_from_its_displayed_form(text in "([A-Z]{1,5} )?https?://(\\*\\.)?[a-z0-9.:\\[\\]-]{1,16}(/[ -~]{0,12})?\\*?") {
        if let Ok(rule) = HttpRule::parse(&text) {
            prop_assert_eq!(HttpRule::parse(&rule.to_string()), Ok(rule));
        }
    }

    #[test]
    fn no_text_causes_a_panic(text in any::<String>(), path in any::<String>()) {
        let _ = HttpRule::parse(&text);
        let _ = normalize_path(&path);
    }

    #[test]
    fn a_normal_path_is_stable_and_does_not_go_up(path in "/([a-c.;%/\\\\]|%2[eEfF5]|%61){0,12}") {
        if let Some(normal) = normalize_path(&path) {
            prop_assert_eq!(normalize_path(&normal), Some(normal.clone()));
            prop_assert!(!normal.split('/').any(|segment| segment == ".."));
        }
    }
}
