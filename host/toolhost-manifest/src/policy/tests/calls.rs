//! What is kept of calls.

use std::time::Duration;

use super::*;
use crate::policy::CallsRule;

#[test]
fn calls_are_kept_as_the_policy_says() {
    let day = Duration::from_secs(86_400);
    let default = CallsRule {
        bytes: 100 << 20,
        age: 7 * day,
        arguments: true,
        diffs: false,
    };
    let set = |change: fn(&mut CallsRule)| {
        let mut rule = default;
        change(&mut rule);
        Some(rule)
    };
    for (text, expected) in [
        ("", Some(default)),
        ("calls: on", Some(default)),
        ("calls: {}", Some(default)),
        ("calls: off", None),
        ("calls: {bytes: 1GiB}", set(|rule| rule.bytes = 1 << 30)),
        ("calls: {bytes: 1048576}", set(|rule| rule.bytes = 1 << 20)),
        ("calls: {days: 1}", set(|rule| rule.age /= 7)),
        (
            "calls: {arguments: false}",
            set(|rule| rule.arguments = false),
        ),
        ("calls: {diffs: true}", set(|rule| rule.diffs = true)),
    ] {
        assert_eq!(parse(text).calls(), expected, "{text}");
    }
    for (rule, says) in [
        ("false", "expected 'off', 'on' or a mapping"),
        ("{bytes: 1}", "'bytes' must be from 1MiB to 1TiB"),
        ("{bytes: 1MB}", "is not a number of bytes"),
        ("{bytes: -1}", "expected a number of bytes"),
        ("{days: 0}", "'days' must be from 1 to 3650"),
        ("{days: 4294967297}", "'days' must be from 1 to 3650"),
        ("{hours: 1}", "unknown key 'hours'"),
    ] {
        let findings = found(&format!("calls: {rule}"));
        assert!(
            findings.len() == 1 && findings[0].contains(says),
            "{rule}: {findings:?}"
        );
    }
    // A policy that comes with the tools does not say what is kept of their calls.
    let policy_of_bundle = parse("calls: off").within(&parse("calls: {days: 1}"));
    assert_eq!(policy_of_bundle.calls().map(|rule| rule.age), Some(day));
}
