//! The secrets that a call gets.

use toolhost_contract::HttpCredential;

use super::*;

fn header(secret: &str) -> HttpCredential {
    HttpCredential::new("https://a.example", "x-key", "", secret).unwrap()
}

#[test]
fn a_secret_variable_has_a_valid_name_and_four_characters() {
    for (name, secret, expected) in [
        ("A", "abcd", None),
        ("A", "éééé", None),
        ("A", "abc", Some(CredentialError::Short)),
        ("A", "éé", Some(CredentialError::Short)),
        ("A", "ab\0cd", Some(CredentialError::Nul)),
        ("", "abcd", Some(CredentialError::Name)),
        ("A=B", "abcd", Some(CredentialError::Name)),
        ("A\0", "abcd", Some(CredentialError::Name)),
    ] {
        let error = Credentials::default().with_env(name, secret).err();
        assert_eq!(error, expected, "{name} {secret}");
    }
    let short = Credentials::default().with_http(header("abc")).err();
    assert_eq!(short, Some(CredentialError::Short));
}

#[test]
fn credentials_have_the_last_secret_of_each_name_and_show_only_names() {
    let all = Credentials::default();
    assert!(all.is_empty());
    let all = all
        .with_env("B", "sk-old-1")
        .and_then(|it| it.with_env("A", "sk-a-12"));
    let all = all.and_then(|it| it.with_env("B", "sk-new-1")).unwrap();
    let secrets: Vec<_> = all.secrets().collect();
    assert_eq!(secrets, [("A", "sk-a-12"), ("B", "sk-new-1")]);
    assert!(!all.is_empty());
    let http = Credentials::default().with_http(header("sk-http")).unwrap();
    assert_eq!(http.secrets().collect::<Vec<_>>(), [("x-key", "sk-http")]);
    assert!(!http.is_empty());
    let both = all.with_http(header("sk-http")).unwrap();
    assert_eq!(format!("{both:?}"), r#"{"A", "B", "x-key"}"#);
}

#[test]
fn credentials_replace_variables_of_the_policy_and_need_its_rules_for_http() {
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let all = Credentials::default().with_env("B", "sk-b-12").unwrap();
    let all = all.with_http(header("sk-http")).unwrap();
    let mut grants = Grants::none();
    grants.env = vec![pair("A", "plain"), pair("B", "plain"), pair("C", "plain")];
    all.clone().add_to(&mut grants);
    let env = [pair("A", "plain"), pair("B", "sk-b-12"), pair("C", "plain")];
    assert_eq!(grants.env, env);
    assert!(grants.http.is_none());
    grants.http = Some(Arc::new(HttpGrant::default()));
    all.add_to(&mut grants);
    assert_eq!(
        grants.http.as_ref().unwrap().credentials,
        [header("sk-http")]
    );
    assert_eq!(grants.env, env);
    let before = grants.clone();
    Credentials::default().add_to(&mut grants);
    assert_eq!(grants, before);
}

#[test]
fn the_reason_why_a_secret_cannot_be_read_is_shown_up_to_a_length() {
    let text = "tools: {t: {env: {A: {fromEnv: A}}}}";
    for (length, is_whole) in [(200, true), (4_000, false)] {
        let reason = "x".repeat(length);
        let secrets = |_: SecretSource<'_>| Err(reason.clone());
        let error = Policy::parse_with(text, "p.yaml", &secrets).unwrap_err();
        assert_eq!(error.to_string().contains(&reason), is_whole, "{error}");
    }
}
