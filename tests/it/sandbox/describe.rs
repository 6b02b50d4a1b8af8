//! What `describe` may say, and how long it may take.

use std::time::{Duration, Instant};

use toolhost_sandbox::{PrepareError, SandboxError};
use toolhost_tests::{eventually, guest, own_sandbox};

use super::wat::{component_of, refused, text};

/// The guest `answer`, whose description has these changes.
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
async fn one_that_never_answers_is_stopped_and_gives_back_its_place() {
    let own = own_sandbox(|config| config.describing = Duration::from_millis(200));
    let places = own.free_places();
    let started = Instant::now();
    let error = own.prepare(guest("describe_forever")).await.unwrap_err();
    assert!(
        matches!(error, PrepareError::Describe(SandboxError::Timeout { .. })),
        "{error:?}"
    );
    assert!(started.elapsed() < Duration::from_secs(60));
    assert_eq!((own.free_places(), own.memory_in_use()), (places, 0));

    // Whoever waits for it may go away sooner.
    let own = own_sandbox(|_| ());
    let preparing = tokio::spawn({
        let own = own.clone();
        async move { own.prepare(guest("describe_forever")).await.err() }
    });
    eventually("it describes", || own.memory_in_use() > 0).await;
    preparing.abort();
    eventually("it is gone", || own.free_places() == places).await;
    eventually("so is its memory", || own.memory_in_use() == 0).await;
}

#[tokio::test]
async fn a_name_twice_or_none_is_refused() {
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
async fn it_has_a_length() {
    // A description of the memory's first bytes: as many as are allowed with the name, and one more.
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
    let own = own_sandbox(|config| config.cache = None);
    let (tool, _) = own.prepare(long(allowed)).await.unwrap();
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
async fn a_list_of_a_hundred_million_is_refused() {
    let list = described(&[(LIST, r#"(i32.const 16) "\20\00\00\00\00\e1\f5\05""#)]);
    let error = refused(list).await;
    assert!(
        matches!(error, PrepareError::Describe(SandboxError::Trap { .. })),
        "{error:?}"
    );
}
