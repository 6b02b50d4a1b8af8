//! The value of `--allow-http`.

use toolhost::http::{HttpOrigin, HttpRule};

/// Parses the rule that allows all requests to one origin.
pub(super) fn parse(text: &str) -> Result<HttpRule, String> {
    let example = "write an origin, such as https://api.example.com";
    let origin = text.strip_suffix('/').unwrap_or(text);
    let beneath = origin.split_once("://").map_or("", |(_, rest)| rest);
    if beneath.contains('/') || origin.contains(' ') {
        return Err(format!(
            "{example}; rules with a method or a path are for --policy"
        ));
    }
    let parsed = HttpOrigin::parse(origin).map_err(|error| format!("{error}; {example}"))?;
    HttpRule::parse(&parsed.to_string()).map_err(|error| format!("{error}; {example}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_origin_is_a_rule_and_anything_else_says_what_to_write() {
        let check = |text: &str, rule: &str| {
            assert_eq!(
                parse(text).map(|rule| rule.to_string()),
                Ok(rule.to_owned())
            );
        };
        check("https://api.example.com", "https://api.example.com");
        check("https://API.example.com/", "https://api.example.com");
        check("http://127.0.0.1:8080", "http://127.0.0.1:8080");
        for (text, says) in [
            (
                "api.example.com",
                "it must begin with http:// or https://; write an origin",
            ),
            (
                "ftp://api.example.com",
                "it must begin with http:// or https://; write an origin",
            ),
            ("https://", "write an origin"),
            ("https://*.example.com", "write an origin"),
            ("https://u:pw@example.com", "write an origin"),
            (
                "https://example.com/v1",
                "rules with a method or a path are for --policy",
            ),
            (
                "GET https://example.com",
                "rules with a method or a path are for --policy",
            ),
            ("https://example.com?q", "write an origin"),
            ("", "write an origin"),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.contains(says), "{text}: {error}");
        }
    }
}
