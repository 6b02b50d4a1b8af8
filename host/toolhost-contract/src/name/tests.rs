use super::*;

#[test]
fn names_are_lower_case_letters_digits_underscore_and_dash() {
    // tool-spec-v2 §6.2
    for good in ["exec", "list-channels", "post_message", "a", "0", "a-b_c9"] {
        assert!(ExportName::parse(good).is_ok(), "{good}");
        assert!(ResourceName::parse(good).is_ok(), "{good}");
    }
    for bad in [
        "", "Exec", "a b", "a.b", "é", "a\n", "-a", "_a", " a", "a/b",
    ] {
        assert!(ExportName::parse(bad).is_err(), "{bad:?}");
        assert!(ResourceName::parse(bad).is_err(), "{bad:?}");
    }
}

#[test]
fn a_part_has_at_most_64_characters() {
    let (longest, longer) = ("x".repeat(64), "x".repeat(65));
    assert!(ResourceName::parse(&longest).is_ok() && ExportName::parse(&longest).is_ok());
    let too_long = NameError::TooLong {
        name: longest,
        length: 65,
    };
    assert_eq!(ResourceName::parse(&longer), Err(too_long.clone()));
    assert_eq!(ExportName::parse(&longer), Err(too_long));
}

#[test]
fn refuses_the_separator_inside_a_part() {
    // tool-spec-v2 §2.2(3), §5.2(3)
    let separator = |name: &str| Err(NameError::Separator(name.to_owned()));
    assert_eq!(
        ResourceName::parse("a__b").map(String::from),
        separator("a__b")
    );
    assert_eq!(
        ExportName::parse("a__b").map(String::from),
        separator("a__b")
    );
}

#[test]
fn a_tool_name_is_the_resource_then_two_underscores_then_the_export() {
    // tool-spec-v2 §2.2(1), §2.2(2), §5.1
    let parts = |whole: &str| {
        ToolName::parse(whole)
            .ok()
            .map(|n| (n.resource().to_string(), n.export().to_string()))
    };
    let pair = |a: &str, b: &str| Some((a.to_owned(), b.to_owned()));
    assert_eq!(parts("bash__exec"), pair("bash", "exec"));
    assert_eq!(parts("file-system__read"), pair("file-system", "read"));
    assert_eq!(parts("a_b__c_d"), pair("a_b", "c_d"));
    for none in [
        "",
        "bash",
        "__exec",
        "a__",
        "__",
        "a__b__c",
        "a___b",
        "a____b",
        "A__b",
        "a__b ",
        " a__b",
        "bash_exec",
    ] {
        assert_eq!(parts(none), None, "{none:?}");
    }
}

#[test]
fn no_two_pairs_make_one_tool_name() {
    // tool-spec-v2 §5.2: `a_` + `b` and `a` + `_b` would both be `a___b`
    assert!(ResourceName::parse("a_").is_err());
    assert!(ExportName::parse("_b").is_err());
}

#[test]
fn a_tool_name_has_at_most_64_characters() {
    let resource = |n: usize| ResourceName::parse(&"r".repeat(n));
    let export = ExportName::parse("x").unwrap();
    assert!(ToolName::new(resource(61).unwrap(), export.clone()).is_ok());
    assert!(ToolName::new(resource(62).unwrap(), export).is_err());
}

#[test]
fn a_map_of_tool_names_is_looked_up_by_text() {
    let name = ToolName::parse("bash__exec").unwrap();
    let map = std::collections::HashMap::from([(name, 1)]);
    assert_eq!(map.get("bash__exec"), Some(&1));
    assert_eq!(map.get("bash"), None);
}

#[test]
fn model_providers_accept_every_tool_name() {
    // tool-spec-v2 §5.2(2): their rule for a function's name is `[a-zA-Z0-9_-]{1,64}`
    for text in ["bash__exec", "file-system__read", "a_b__c-d9", "0__0"] {
        let name = ToolName::parse(text).unwrap();
        let taken = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        assert!(name.as_str().len() <= 64 && name.as_str().chars().all(taken));
        let json = serde_json::to_value(&name).unwrap();
        assert_eq!(json, text);
        assert_eq!(serde_json::from_value::<ToolName>(json).unwrap(), name);
    }
}
