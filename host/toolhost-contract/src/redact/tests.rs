use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::json;

use super::secrets::GRACE;
use super::*;
use crate::{FileChange, text};

#[test]
fn no_secret_is_left_in_texts_keys_or_errors() {
    let redactor = Redactor::new([("A", "sk-12345"), ("B", "sk-12345-long"), ("C", "li\"ne")]);
    let output = json!({
        "a": ["x sk-12345 y", {"sk-12345-long": 1}],
        "b": "{\"inner\": \"li\\\"ne\"} li\"ne",
    });
    let clean = redactor.result(ToolResult::ok("c", "t", output));
    let text = clean.output().unwrap().to_string();
    assert!(!text.contains("12345") && !text.contains("li"), "{text}");
    assert_eq!(
        clean.output().unwrap()["a"],
        json!(["x [redacted:A] y", {"[redacted:B]": 1}])
    );
    assert_eq!(redactor.text("nothing here"), "nothing here");
    assert!(!format!("{redactor:?}").contains("12345"));
}

#[test]
fn no_secret_is_left_in_a_number_or_in_the_error_of_a_handler() {
    let redactor = Redactor::new([("PIN", "48151623"), ("T", "sk-1")]);
    let clean = redactor.result(ToolResult::ok("c", "t", json!({"n": 48151623, "m": 7})));
    assert_eq!(
        clean.output(),
        Some(&json!({"n": "[redacted:PIN]", "m": 7}))
    );
    let raised = HandlerError::new("at sk-1").with_suggestion("send sk-1");
    let clean = HandlerError::new("at [redacted:T]").with_suggestion("send [redacted:T]");
    assert_eq!(
        redactor.handler_error(raised.clone().with_code("sk-1")),
        clean
    );
    let coded = redactor.handler_error(raised.with_code("E_MINE"));
    assert_eq!(coded, clean.with_code("E_MINE"));
}

#[test]
fn no_secret_is_left_in_the_paths_of_changed_files() {
    let redactor = Redactor::new([("T", "sk-1234")]);
    let file = |path: &str, kind| FileChange::new(path, kind);
    let moved = |from: &str| FileChangeKind::Renamed {
        from: from.to_owned(),
    };
    let mut changes = FileChanges {
        files: vec![
            file("a/sk-1234", FileChangeKind::Created),
            file("sk-1234.txt", moved("old/sk-1234")),
            file("b", moved("c")),
        ],
        truncated: false,
    };
    redactor.changes(&mut changes);
    let expected = vec![
        file("a/[redacted:T]", FileChangeKind::Created),
        file("[redacted:T].txt", moved("old/[redacted:T]")),
        file("b", moved("c")),
    ];
    assert_eq!(changes.files, expected);
}

#[test]
fn a_redactor_shows_the_names_of_its_secrets() {
    let redactor = Redactor::new([("LONG", "sk-12345"), ("SHORT", "sk-1")]);
    let shown = format!("{redactor:?}");
    assert_eq!(shown, r#"{"[redacted:LONG]", "[redacted:SHORT]"}"#);
    let held = redactor.hold("T", "token-1", None);
    assert_eq!(format!("{held:?}"), "HeldSecret { .. }");
}

#[test]
fn of_two_secrets_with_the_same_text_the_first_name_counts() {
    for n in 0..20 {
        let secret = format!("secret-{n}");
        let blanks = (0..4).map(|blanks| format!("{secret}{}", " ".repeat(blanks)));
        let redactor = Redactor::new(["A", "B", "C", "D"].into_iter().zip(blanks));
        assert_eq!(redactor.text(&secret), "[redacted:A]");
    }
}

#[test]
fn a_secret_is_found_where_it_overlaps_another_and_itself() {
    let redactor = Redactor::new([("LONG", "xxx"), ("SHORT", "xx")]);
    let expected = "[redacted:LONG][redacted:SHORT]y";
    assert_eq!(redactor.text("xxxxxy"), expected);
    let index = redactor.secrets().index().without_automaton();
    assert_eq!(index.redact("xxxxxy"), expected);
}

#[test]
fn the_longest_piece_of_a_secret_beside_a_cut_is_redacted() {
    let redactor = Redactor::new([("S", "xxxxx"), ("L", "xyxyxyz")]);
    let cut = text::left_out(12);
    assert_eq!(cut, "\n… 12 bytes left out …\n");
    for (head, tail, before, after) in [
        ("axxxxx", "", "a[redacted:S]", ""),
        ("", "xxxxxa", "", "[redacted:S]a"),
        ("axxxx", "xxxxa", "a[redacted:S]", "[redacted:S]a"),
        ("axyxyxy", "xyza", "a[redacted:L]", "xyza"),
        ("axxx", "yxyza", "axxx", "[redacted:L]a"),
    ] {
        let clean = redactor.text(&format!("{head}{cut}{tail}")).into_owned();
        assert_eq!(clean, format!("{before}{cut}{after}"));
    }
}

#[test]
fn a_secret_of_quotes_and_backslashes_is_found_in_json() {
    for secret in ["\"\"\"\"", "\\\\\\\\", "\"\\\"\\", "a\"b\\", "a b~!"] {
        let redactor = Redactor::new([("S", secret)]);
        let text = json!([secret]).to_string();
        assert_eq!(redactor.text(&text), r#"["[redacted:S]"]"#, "{secret}");
    }
}

#[test]
fn a_text_that_is_redacted_for_a_recording_keeps_its_length() {
    let redactor = Redactor::new([
        ("KEY", "0123456789abcdef"),
        ("T", "sk\"1"),
        ("PIN", "48151623"),
    ]);
    let text = "a 0123456789abcdef b sk\"1 c 48151623";
    let clean = redactor.same_length(text);
    assert_eq!(clean, "a [redacted:KEY]** b **** c 11111111");
    assert_eq!(clean.len(), text.len());
    assert_eq!(
        &*redactor.same_length_bytes(text.as_bytes()),
        clean.as_bytes()
    );
    let mut value = json!({"k": ["0123456789abcdef", "sk\"1"], "n": 48151623});
    redactor.same_length_value(&mut value);
    assert_eq!(
        value,
        json!({"k": ["[redacted:KEY]**", "****"], "n": 11111111})
    );
}

#[test]
fn no_line_of_a_secret_is_left_however_it_is_printed_and_cut() {
    let lines = [
        "-----BEGIN KEY-----",
        "MIIEvQIBADANBg\"kq",
        "가나다라마바사아자",
        "q8/w==",
    ];
    let secret = format!("{}\n", lines.join("\n"));
    let redactor = Redactor::new([("KEY", secret.as_str()), ("T", "  sk-1234 \n")]);
    let clean = |text: &str| {
        let clean = redactor.text(text).into_owned();
        let pieces = ["BEGIN", "MIIE", "kq", "가나다라", "사아자", "sk-1", "1234"];
        assert!(!pieces.iter().any(|piece| clean.contains(piece)), "{clean}");
        clean
    };
    for said in [
        secret.as_str(),
        secret.trim(),
        "x sk-1234.",
        lines[1],
        &lines.join(" "),
    ] {
        clean(said);
        clean(&text::escape(&format!("a\n{said}\nb")));
        clean(&json!({"a": [said]}).to_string());
    }
    assert_eq!(clean("a sk-1234 b"), "a [redacted:T] b");
    let escaped = text::escape(&secret);
    for (at, _) in escaped.char_indices().filter(|(at, _)| *at > 30) {
        clean(&format!("x {}… (cut)", escaped.get(..at).unwrap()));
    }
    for from in 0..secret.len() {
        for to in from..secret.len() {
            let head = String::from_utf8_lossy(&secret.as_bytes()[..from]).into_owned();
            let tail = String::from_utf8_lossy(&secret.as_bytes()[to..]).into_owned();
            let kept = redactor
                .text(&format!("{head}\n… {} bytes left out …\n{tail}", to - from))
                .into_owned();
            // Fewer than four characters of a line on either side of the cut are nobody's secret.
            for piece in ["BEGIN", "MIIE", "vQIB", "가나다라", "사아자\n"] {
                assert!(!kept.contains(piece), "{kept}");
            }
        }
    }
    let ordinary = "… 12 bytes left out … of q8, nothing more… (cut)";
    assert_eq!(redactor.text(ordinary), ordinary);
}

#[test]
fn an_added_secret_is_redacted_by_every_clone() {
    let redactor = Redactor::new([("A", "sk-1")]);
    let clone = redactor.clone();
    assert_eq!(clone.text("sk-1 sk-12345"), "[redacted:A] [redacted:A]2345");
    // One that contains a known one, and a known one with another name.
    redactor.add([("B", "sk-12345"), ("C", "sk-1")]);
    assert_eq!(clone.text("sk-1 sk-12345"), "[redacted:A] [redacted:B]");
    std::thread::scope(|scope| {
        for at in 0..8 {
            let redactor = &redactor;
            scope.spawn(move || redactor.add([("D", format!("token-{at}"))]));
        }
    });
    for at in 0..8 {
        assert_eq!(clone.text(&format!("token-{at}")), "[redacted:D]");
    }
}

#[test]
fn no_secret_is_left_in_a_denied_request_or_host() {
    let redactor = Redactor::new([("A", "sk-1234")]);
    let mut denials = [
        Denial::HttpRequest("GET https://a.example/sk-1234".to_owned()),
        Denial::HttpNetwork {
            host: "sk-1234.a.example".to_owned(),
            network: "10.0.0.0/8".to_owned(),
        },
    ];
    redactor.denials(&mut denials);
    assert_eq!(
        denials.map(|denial| denial.to_string()),
        [
            "http: GET https://a.example/[redacted:A]",
            "http: connect [redacted:A].a.example in 10.0.0.0/8",
        ]
    );
}

#[test]
fn an_empty_secret_redacts_nothing() {
    let redactor = Redactor::new([("A", "")]);
    assert!(redactor.is_empty());
    assert_eq!(redactor.text("text"), "text");
}

/// What a redactor does, by one replacement after another.
fn replaced_one_by_one(secrets: &[(String, String)], text: &str) -> String {
    let mut sorted: Vec<_> = secrets.iter().filter(|(_, it)| !it.is_empty()).collect();
    sorted.sort_by(|(_, a), (_, b)| a.cmp(b));
    sorted.sort_by_key(|(_, secret)| std::cmp::Reverse(secret.len()));
    let replace = |text: String, (name, secret): &(String, String)| {
        text.replace(secret.as_str(), &format!("[redacted:{name}]"))
    };
    sorted.into_iter().fold(text.to_owned(), replace)
}

proptest! {
    #[test]
    fn one_scan_finds_what_a_search_for_each_secret_finds(
        secrets in vec("[xyz가]{0,12}", 0..20),
        text in "[xyz가 ]{0,80}",
    ) {
        let secrets: Vec<_> = secrets
            .into_iter()
            .enumerate()
            .map(|(at, secret)| (format!("{at}"), secret))
            .collect();
        // The first name of a secret counts.
        let mut known = std::collections::BTreeSet::new();
        let unique: Vec<_> = secrets.iter().filter(|(_, it)| known.insert(it.clone())).cloned().collect();
        let redactor = Redactor::new(secrets);
        let expected = replaced_one_by_one(&unique, &text);
        prop_assert_eq!(redactor.text(&text), &*expected);
        let index = redactor.secrets().index().without_automaton();
        prop_assert_eq!(index.redact(&text), &*expected);
        let filled = redactor.same_length(&text);
        prop_assert_eq!(filled.len(), text.len());
        prop_assert_eq!(matches!(filled, Cow::Owned(_)), expected != text);
    }

    #[test]
    fn pieces_at_a_cut_are_the_longest_start_and_end_of_any_secret(
        secrets in vec("[xy가]{4,9}", 1..6),
        head in "[xy가]{0,9}",
        tail in "[xy가]{0,9}",
    ) {
        let redactor = Redactor::new(secrets.iter().map(|secret| ("S", secret)));
        let ends = |text: &str| -> Vec<usize> {
            let ends = text.char_indices().map(|(at, c)| at + c.len_utf8());
            ends.skip(3).collect()
        };
        let starts = secrets.iter().flat_map(|it| ends(it).into_iter().map(|end| it.split_at(end).0));
        let begun = starts.filter(|it| head.ends_with(it)).map(str::len).max();
        let suffixes = secrets.iter().flat_map(|it| {
            let starts: Vec<usize> = it.char_indices().map(|(at, _)| at).collect();
            starts.into_iter().rev().skip(3).map(|at| it.split_at(at).1)
        });
        let ended = suffixes.filter(|it| tail.starts_with(it)).map(str::len).max();
        let mark = |found: Option<usize>| if found.is_some() { "[redacted:S]" } else { "" };
        let pairs: Vec<_> = secrets.iter().map(|it| ("S".to_owned(), it.clone())).collect();
        let (head_left, _) = head.split_at(head.len() - begun.unwrap_or(0));
        let (_, tail_left) = tail.split_at(ended.unwrap_or(0));
        let cut = format!(
            "{head_left}{}\n… 12 bytes left out …\n{}{tail_left}",
            mark(begun),
            mark(ended)
        );
        let expected = replaced_one_by_one(&pairs, &cut);
        let text = format!("{head}\n… 12 bytes left out …\n{tail}");
        prop_assert_eq!(redactor.text(&text), expected);
    }
}

/// Removes what has expired at a time from now.
fn pass(redactor: &Redactor, time: Duration) {
    redactor.remake(Instant::now() + time);
}

fn count(redactor: &Redactor) -> usize {
    redactor.with(|index| format!("{index:?}").matches("redacted").count())
}

#[test]
fn a_secret_is_redacted_until_ten_minutes_after_it_has_expired_and_is_forgotten_then() {
    let redactor = Redactor::new([("POLICY", "sk-policy")]);
    let hour = Duration::from_secs(3600);
    for user in 0..1000 {
        drop(redactor.hold("TOKEN", &format!("token-of-user-{user}"), Some(hour)));
    }
    let text = "token-of-user-7 and sk-policy";
    assert_eq!(
        redactor.text(text),
        "[redacted:TOKEN] and [redacted:POLICY]"
    );
    pass(&redactor, hour + GRACE / 2);
    assert_eq!(
        redactor.text(text),
        "[redacted:TOKEN] and [redacted:POLICY]"
    );
    pass(&redactor, hour + GRACE + Duration::from_secs(1));
    assert_eq!(redactor.text(text), "token-of-user-7 and [redacted:POLICY]");
    assert_eq!(count(&redactor), 1);
    assert_eq!(redactor.secrets().len(), 1);
}

#[test]
fn a_call_in_flight_keeps_its_own_secrets_redacted() {
    let redactor = Redactor::default();
    let long = redactor.hold("TOKEN", "token-1", Some(Duration::ZERO));
    let other = redactor.hold("TOKEN", "token-1", Some(Duration::ZERO));
    drop(other);
    pass(&redactor, GRACE * 100);
    assert_eq!(redactor.text("token-1"), "[redacted:TOKEN]");
    drop(long);
    pass(&redactor, GRACE / 2);
    assert_eq!(redactor.text("token-1"), "[redacted:TOKEN]");
    pass(&redactor, GRACE * 2);
    assert_eq!(redactor.text("token-1"), "token-1");
}

#[test]
fn a_revoked_secret_is_forgotten_before_it_expires() {
    let redactor = Redactor::default();
    let year = Duration::from_secs(365 * 24 * 3600);
    let held = redactor.hold("TOKEN", "token-1", Some(year));
    held.revoke();
    drop(held);
    assert_eq!(redactor.text("token-1"), "[redacted:TOKEN]");
    pass(&redactor, GRACE * 2);
    assert_eq!(redactor.text("token-1"), "token-1");
}

#[test]
fn a_secret_is_removed_at_its_end_and_not_before() {
    let mut secrets = Secrets::default();
    let begin = Instant::now();
    let second = Duration::from_secs(1);
    let ends = [begin + 2 * second, begin + second].map(|expires| {
        let (text, is_new) = secrets.hold("T", &format!("{expires:?}"), expires).unwrap();
        assert!(is_new);
        secrets.release(&text, begin);
        expires + GRACE
    });
    let moment = Duration::from_nanos(1);
    for (now, removed, next) in [
        (ends[1] - moment, false, Some(ends[1])),
        (ends[1], true, Some(ends[0])),
        (ends[0] - moment, false, Some(ends[0])),
        (ends[0], true, None),
    ] {
        assert_eq!(secrets.remove_expired(now), (removed, next));
    }
    let snapshot = |check_at| Snapshot {
        index: Arc::default(),
        check_at,
    };
    assert!(snapshot(Some(ends[0])).is_current(|| ends[1]));
    assert!(!snapshot(Some(ends[0])).is_current(|| ends[0]));
    assert!(!snapshot(Some(ends[1])).is_current(|| ends[0]));
    assert!(snapshot(None).is_current(|| ends[0]));
}

#[test]
fn a_time_that_the_clock_does_not_have_is_a_century_later() {
    let now = Instant::now();
    let hour = Duration::from_secs(3600);
    assert_eq!(after(now, hour), now + hour);
    let century = Duration::from_secs(3_153_600_000);
    assert_eq!(after(now, Duration::MAX), now + century);
}

#[test]
fn a_secret_without_a_lifetime_is_forgotten_a_day_after_its_last_use() {
    let redactor = Redactor::default();
    drop(redactor.hold("TOKEN", "token-1", None));
    let day = Duration::from_secs(86_400);
    pass(&redactor, day);
    assert_eq!(redactor.text("token-1"), "[redacted:TOKEN]");
    pass(&redactor, day + GRACE * 2);
    assert_eq!(redactor.text("token-1"), "token-1");
}

#[test]
fn a_secret_of_the_policy_that_is_also_held_is_never_forgotten() {
    let redactor = Redactor::new([("A", "sk-policy")]);
    let held = redactor.hold("TOKEN", "sk-policy", Some(Duration::ZERO));
    held.revoke();
    drop(held);
    drop(redactor.hold("TOKEN", "token-1", Some(Duration::ZERO)));
    redactor.add([("B", "token-1")]);
    pass(&redactor, GRACE * 100);
    assert_eq!(
        redactor.text("sk-policy token-1"),
        "[redacted:A] [redacted:TOKEN]"
    );
}
