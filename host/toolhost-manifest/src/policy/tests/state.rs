//! The key `state`.

use super::*;

#[test]
fn a_database_is_read_and_its_password_is_not_shown() {
    let text =
        "state: {postgres: {url: 'postgres://u@h/d', password: {secret: hunter22}, schema: s}}";
    let policy = Policy::parse(text, "policy.yaml").unwrap();
    let rules = policy.state().postgres.clone().unwrap();
    assert_eq!(rules.url.as_str(), "postgres://u@h/d");
    assert_eq!(
        rules.password.as_deref().map(String::as_str),
        Some("hunter22")
    );
    assert_eq!(rules.schema.as_deref(), Some("s"));
    assert!(!format!("{policy:?}").contains("hunter22"));
    assert_eq!(
        policy.redactor().text("a hunter22 b"),
        "a [redacted:state.postgres.password] b"
    );
    assert!(
        policy
            .clone()
            .within(&Policy::default())
            .state()
            .postgres
            .is_none()
    );
    assert!(Policy::default().within(&policy).state().postgres.is_some());
    assert!(policy.without_state().state().postgres.is_none());
}

#[test]
fn a_password_in_the_text_is_an_error_that_does_not_quote_it() {
    for (text, says) in [
        (
            "{url: 'postgres://u:hunter22@h/d'}",
            "the URL has a password",
        ),
        (
            "{url: 'postgres://u@h/d', password: hunter22}",
            "write it as {fromEnv",
        ),
        (
            "{url: {secret: 'postgres://u:a@hunter22@h/d'}}",
            "write @ in a password as %40",
        ),
        ("{password: {secret: hunter22}}", "'url' is missing"),
        ("{url: 'postgres://u@h/d', pasword: x}", "pasword"),
    ] {
        let text = format!("state: {{postgres: {text}}}");
        let error = Policy::parse(&text, "policy.yaml").unwrap_err();
        let shown = format!("{error} {:?}", error.diagnostics);
        assert!(
            shown.contains(says) && !shown.contains("hunter22"),
            "{shown}"
        );
        let masked = format!("{:?}", Policy::masked(&text, "policy.yaml").unwrap().text());
        assert!(!masked.contains("hunter22"), "{masked}");
    }
}
