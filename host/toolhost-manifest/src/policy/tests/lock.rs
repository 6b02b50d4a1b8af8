//! Which differences from the lock stop a load.

use super::*;
use crate::lock::LockedTool;

#[test]
fn all_differences_stop_a_load_unless_the_policy_lists_others() {
    for (rule, stops, required) in [
        ("all", &Grade::ALL[..], false),
        ("none", &[], false),
        ("[]", &[], false),
        ("[signer, words]", &[Grade::Words, Grade::Signer], false),
        ("{}", &Grade::ALL, false),
        ("{required: true}", &Grade::ALL, true),
        ("{stops: none, required: true}", &[], true),
        ("{stops: [schema]}", &[Grade::Schema], false),
    ] {
        let policy = parse(&format!("lock: {rule}"));
        let expected = LockRule {
            stops: stops.iter().copied().collect(),
            required,
        };
        assert_eq!(policy.lock(), &expected, "{rule}");
    }
    assert_eq!(Policy::default().lock(), &LockRule::default());
    for (rule, says) in [
        ("some", "expected 'all', 'none' or a list of grades"),
        ("{stop: none}", "unknown key 'stop'"),
        ("[wordz]", "did you mean 'words'?"),
        ("[schema-wider]", "did you mean 'schema'?"),
        ("[x]", "the grades are bytes, less, words, schema"),
    ] {
        let findings = found(&format!("lock: {rule}"));
        assert!(
            findings.len() == 1 && findings[0].contains(says),
            "{rule}: {findings:?}"
        );
    }
}

#[test]
fn signers_differ_only_where_the_policy_requires_signatures() {
    let lock = |signer: &str, accepted: &[&str]| {
        let mut lock = Lock::new();
        let tool = LockedTool {
            signer: Some(signer.to_owned()),
            accepted_signers: accepted.iter().map(|&signer| signer.to_owned()).collect(),
            ..LockedTool::default()
        };
        lock.tools.insert("t".to_owned(), tool);
        lock
    };
    let grades = |policy: &str, accepted: &[&str]| {
        let drifts = parse(policy).differences(lock("a", &[]), lock("b", accepted));
        drifts.iter().map(|drift| drift.grade).collect::<Vec<_>>()
    };
    let signed = "packages: {signers: {k: {key: A}}}";
    assert_eq!(grades(signed, &["b"]), [Grade::Signer]);
    assert_eq!(grades(signed, &["a", "b"]), []);
    assert_eq!(grades("", &["b"]), []);
}
