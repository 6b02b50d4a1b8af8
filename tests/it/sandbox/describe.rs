//! Limits of `describe`: time, names, length.

use std::time::{Duration, Instant};

use toolhost_sandbox::{PrepareError, SandboxError};
use toolhost_tests::{eventually, guest, own_sandbox};

use super::wat::{component_of, refused, text};

/// Returns the guest `answer` with these replacements in its text.
fn described(changes: &[(&str, &str)]) -> Vec<u8> {
    let mut guest = text("answer");
    for (from, to) in changes {
        assert_eq!(guest.matches(from).count(), 1, "{from}");
        guest = guest.replace(from, to);
    }
    component_of(&guest, "")
}

const LIST: &str = r#"(i32.const 16) "\20\00\00\00\01\00\00\00""#;
const NAME: &str = r#"(i32.const 32) "\50\00\00\00\03\00\00\00""#;

#[tokio::test]
async fn a_describe_that_never_returns_is_stopped_and_frees_its_slot() {
    let sandbox = own_sandbox(|config| config.describing = Duration::from_millis(200));
    let places = sandbox.free_call_slots();
    let started = Instant::now();
    let error = sandbox
        .prepare(guest("describe_forever"))
        .await
        .unwrap_err();
    assert!(
        matches!(error, PrepareError::Describe(SandboxError::Timeout { .. })),
        "{error:?}"
    );
    assert!(started.elapsed() < Duration::from_secs(60));
    assert_eq!(
        (sandbox.free_call_slots(), sandbox.memory_in_use()),
        (places, 0)
    );

    // Dropping the future of `prepare` stops it too.
    let sandbox = own_sandbox(|_| ());
    let preparing = tokio::spawn({
        let sandbox = sandbox.clone();
        async move { sandbox.prepare(guest("describe_forever")).await.err() }
    });
    eventually("`describe` runs", || sandbox.memory_in_use() > 0).await;
    preparing.abort();
    eventually("the slot is free", || sandbox.free_call_slots() == places).await;
    eventually("the memory is free", || sandbox.memory_in_use() == 0).await;
}

#[tokio::test]
async fn duplicate_or_invalid_handler_names_are_refused() {
    let twice = described(&[
        (LIST, r#"(i32.const 16) "\20\00\00\00\02\00\00\00""#),
        (
            NAME,
            r#"(i32.const 64) "\50\00\00\00\03\00\00\00") (data (i32.const 32) "\50\00\00\00\03\00\00\00""#,
        ),
    ]);
    let error = refused(twice).await;
    assert!(
        matches!(&error, PrepareError::HandlerTwice(name) if name.as_str() == "run"),
        "{error:?}"
    );
    for (length, name) in [(0, ""), (3, "r n"), (3, "r\\1bn"), (4, "r__n")] {
        let length = format!(r#"(i32.const 32) "\50\00\00\00\0{length}\00\00\00""#);
        let name = format!(r#"(i32.const 80) "{name}""#);
        let nameless = described(&[(NAME, &length), (r#"(i32.const 80) "run""#, &name)]);
        let error = refused(nameless).await;
        assert!(
            matches!(&error, PrepareError::HandlerName { name, .. } if !name.contains('\u{1b}')),
            "{error:?}"
        );
    }
}

#[tokio::test]
async fn the_length_of_a_description_is_limited() {
    // The description is the start of the memory: as long as the limit allows beside the name, and one
    // byte longer.
    let long = |bytes: u32| {
        let length = bytes
            .to_le_bytes()
            .map(|byte| format!("\\{byte:02x}"))
            .concat();
        let name =
            format!(r#"(i32.const 32) "\50\00\00\00\03\00\00\00\01\00\00\00\00\04\00\00{length}""#);
        described(&[
            ("(export \"memory\") 1)", "(export \"memory\") 20)"),
            (NAME, &name),
        ])
    };
    let allowed = (1 << 20) - 3;
    let sandbox = own_sandbox(|config| config.cache = None);
    let (tool, _) = sandbox.prepare(long(allowed)).await.unwrap();
    let description = tool.handlers()[0].description.as_ref().unwrap();
    assert_eq!(description.len(), allowed as usize);
    let error = refused(long(allowed + 1)).await;
    assert!(
        matches!(
            error,
            PrepareError::DescribeTooLarge {
                what: "bytes",
                found: 1_048_577,
                limit: 1_048_576
            }
        ),
        "{error:?}"
    );
}

#[tokio::test]
async fn a_list_of_a_hundred_million_handlers_is_refused() {
    let list = described(&[(LIST, r#"(i32.const 16) "\20\00\00\00\00\e1\f5\05""#)]);
    let error = refused(list).await;
    assert!(
        matches!(error, PrepareError::Describe(SandboxError::Trap { .. })),
        "{error:?}"
    );
}
