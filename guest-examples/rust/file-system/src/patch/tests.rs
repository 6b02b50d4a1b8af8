use super::format::{Action, Kind};
use super::{hunks, parse};

/// Applies the hunks of a patch's only file to a text.
fn apply(text: &str, patch: &str) -> Result<String, String> {
    let patch = parse(patch).map_err(|invalid| format!("{}: {}", invalid.line, invalid.reason))?;
    let lines: Vec<_> = text.lines().collect();
    let applied = hunks::apply(&lines, &patch.files[0].hunks);
    applied
        .map(|(lines, _)| lines.join("\n"))
        .map_err(|miss| miss.reason)
}

fn actions(patch: &str) -> Vec<Action> {
    let patch = parse(patch).unwrap_or_else(|it| panic!("{}: {}", it.line, it.reason));
    patch.files.into_iter().map(|file| file.action).collect()
}

fn update(path: &str, to: Option<&str>) -> Action {
    Action::Update {
        path: path.into(),
        to: to.map(Into::into),
    }
}

#[test]
fn the_files_of_a_git_diff_are_made_changed_renamed_and_deleted() {
    let patch = r#"From 1234 Mon Sep 17 00:00:00 2001
Subject: words before the first file
---
 new.txt | 1 +

diff --git a/new.txt b/new.txt
new file mode 100755
index 000..111
--- /dev/null
+++ b/new.txt
@@ -0,0 +1 @@
+new
diff --git a/gone.txt b/gone.txt
deleted file mode 100644
--- a/gone.txt
+++ /dev/null
@@ -1 +0,0 @@
--- a line that begins with dashes
diff --git a/a b.txt b/c d.txt
similarity index 90%
rename from a b.txt
rename to c d.txt
--- a/a b.txt
+++ b/c d.txt
@@ -1,2 +1,2 @@ fn x
 one
-two
+zwei
diff --git "a/\303\251.txt" "b/\303\251.txt"
--- "a/\303\251.txt"
+++ "b/\303\251.txt"
@@ -1 +1 @@
-1
\ No newline at end of file
+2
diff --git a/empty b/empty
new file mode 100644
diff --git a/run.sh b/run.sh
old mode 100644
new mode 100755
-- 
2.39.0
"#;
    let expected = [
        Action::Create {
            path: "new.txt".into(),
        },
        Action::Delete {
            path: "gone.txt".into(),
        },
        update("a b.txt", Some("c d.txt")),
        update("é.txt", None),
        Action::Create {
            path: "empty".into(),
        },
    ];
    assert_eq!(actions(patch), expected);
    let patch = parse(patch).unwrap_or_else(|it| panic!("{}", it.reason));
    assert_eq!(patch.files[3].hunks[0].ends_with_line_feed, Some(true));
    assert_eq!(patch.notes.len(), 2, "{:?}", patch.notes);
    assert!(patch.notes[1].contains("100755"), "{:?}", patch.notes);
}

#[test]
fn other_unified_diffs_are_read_too() {
    let plain = "--- x.orig\t2026-01-01 00:00:00\n+++ x\t2026-01-02\n@@ -1 +1 @@\n-a\n+b\n--- y\n+++ y\n@@ -2 +2 @@\n-c\n+d\n";
    assert_eq!(actions(plain), [update("x", None), update("y", None)]);
    let crlf = "--- a/x\r\n+++ b/x\r\n@@ -1 +1 @@\r\n-a\r\n+b\r\n";
    assert_eq!(apply("a", crlf).as_deref(), Ok("b"));
    // A blank line of context whose space was lost, and numbers that are wrong.
    let sloppy = "--- a/x\n+++ b/x\n@@ -1,9 +1,9 @@\n a\n\n-b\n+c\n";
    assert_eq!(apply("a\n\nb", sloppy).as_deref(), Ok("a\n\nc"));
    let notes = parse(sloppy)
        .unwrap_or_else(|it| panic!("{}", it.reason))
        .notes;
    assert!(
        notes[0].contains("-9 +9") && notes[0].contains("-3 +3"),
        "{notes:?}"
    );
}

#[test]
fn the_envelope_of_models_is_read() {
    let patch = "apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: n.txt\n+one\n+\n*** Update File: a.txt\n*** Move to: b/a.txt\n@@ class A\n@@     def f\n-x\n+y\n z\n\n*** Delete File: c.txt\n*** Update File: d.txt\n-no header\n+at all\n*** End Patch\nEOF\n";
    let parsed = parse(patch).unwrap_or_else(|it| panic!("{}: {}", it.line, it.reason));
    let expected = [
        Action::Create {
            path: "n.txt".into(),
        },
        update("a.txt", Some("b/a.txt")),
        Action::Delete {
            path: "c.txt".into(),
        },
        update("d.txt", None),
    ];
    let anchors = parsed.files[1].hunks[0].anchors.clone();
    assert_eq!(anchors, ["class A", "    def f"]);
    assert_eq!(parsed.files[1].hunks[0].lines.len(), 3);
    let added = parsed.files[0].hunks[0].count(Kind::Add);
    assert_eq!(added, 2);
    let found: Vec<_> = parsed.files.into_iter().map(|it| it.action).collect();
    assert_eq!(found, expected);
}

#[test]
fn what_is_no_patch_is_refused_with_its_line() {
    for (patch, line, reason) in [
        ("", 1, "changes no file"),
        ("hello\n", 1, "changes no file"),
        ("@@ -1 +1 @@\n-a\n+b\n", 1, "belongs to no file"),
        ("--- a/x\n+++ b/x\n@@ fn x @@\n-a\n+b\n", 3, "is not `@@"),
        (
            "--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@\n a\nb\n",
            5,
            "begins with",
        ),
        ("--- a/x\n+++ b/x\n@@ -1 +1 @@\n a\n", 3, "changes nothing"),
        ("--- a/x\n+++ b/x\n", 1, "no hunk"),
        ("diff --git a/x b/x\nGIT binary patch\n", 2, "binary"),
        (
            "*** Begin Patch\n*** Update File: x\n@@\n-a\n+b\n",
            5,
            "End Patch",
        ),
        (
            "*** Begin Patch\n*** Update File: x\n@@\na\n*** End Patch",
            4,
            "begins with",
        ),
        (
            "*** Begin Patch\n*** Update File: x\n*** End Patch",
            2,
            "no hunk",
        ),
        (
            "*** Begin Patch\n*** Add File: x\none\n*** End Patch",
            3,
            "begins with `+`",
        ),
        (
            "*** Begin Patch\n-a\n*** End Patch",
            2,
            "belongs to no file",
        ),
    ] {
        let invalid = parse(patch)
            .err()
            .unwrap_or_else(|| panic!("{patch:?} is read"));
        assert_eq!(invalid.line, line, "{patch:?}: {}", invalid.reason);
        assert!(
            invalid.reason.contains(reason),
            "{patch:?}: {}",
            invalid.reason
        );
    }
}

fn envelope(hunks: &str) -> String {
    format!("*** Begin Patch\n*** Update File: x\n{hunks}*** End Patch\n")
}

#[test]
fn a_hunk_is_applied_at_its_only_place() {
    let text = "fn a() {\n    one();\n}\nfn b() {\n    one();\n}\nend";
    for (hunks, expected) in [
        (
            "@@\n fn b() {\n-    one();\n+    two();\n",
            "fn a() {\n    one();\n}\nfn b() {\n    two();\n}\nend",
        ),
        (
            "@@ fn b() {\n-    one();\n+    two();\n",
            "fn a() {\n    one();\n}\nfn b() {\n    two();\n}\nend",
        ),
        (
            "@@ fn b() {\n+    zero();\n",
            "fn a() {\n    one();\n}\nfn b() {\n    zero();\n    one();\n}\nend",
        ),
        (
            "@@\n-end\n+last\n*** End of File\n",
            "fn a() {\n    one();\n}\nfn b() {\n    one();\n}\nlast",
        ),
        (
            "@@ -5,1 +5,1 @@\n-    one();\n+    two();\n",
            "fn a() {\n    one();\n}\nfn b() {\n    two();\n}\nend",
        ),
        (
            "@@ fn a() {\n-    one();\n+    1\n@@ fn b() {\n-    one();\n+    2\n",
            "fn a() {\n    1\n}\nfn b() {\n    2\n}\nend",
        ),
    ] {
        assert_eq!(
            apply(text, &envelope(hunks)).as_deref(),
            Ok(expected),
            "{hunks}"
        );
    }
}

#[test]
fn a_hunk_without_its_only_place_says_why() {
    let text = "fn a() {\n    one();\n}\nfn b() {\n\tone();\n}\nend\nfn a() {";
    for (hunks, reason) in [
        ("@@\n-}\n+};\n", "2 places: lines 3, 6"),
        ("@@ fn a() {\n-}\n+};\n", "2 places: lines 1, 8"),
        (
            "@@ fn c() {\n-}\n+};\n",
            "the nearest is line 1: \"fn a() {\"",
        ),
        (
            "@@\n fn b() {\n-    one();\n+    two();\n",
            "line 5 of the file is \"\\tone();\" and the patch has \"    one();\"",
        ),
        (
            "@@\n-end\n+start\n@@\n-fn b() {\n+fn c() {\n",
            "at line 4, before line 8",
        ),
        ("@@\n-fn start() {\n+end\n", "is at line 7 already"),
        ("@@\n-end\n+x\n*** End of File\n", "not at the end"),
        ("@@\n+x\n", "no line of context"),
        ("@@\n-SELECT 1;\n+SELECT 2;\n", "nothing in the file"),
    ] {
        let error = apply(text, &envelope(hunks)).expect_err(hunks);
        assert!(error.contains(reason), "{hunks}: {error}");
    }
}

#[test]
fn a_place_that_is_elsewhere_than_the_patch_says_is_told() {
    let patch = "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n b\n-c\n+d\n";
    let patch = parse(patch).unwrap_or_else(|it| panic!("{}", it.reason));
    let (_, places) = hunks::apply(&["a", "b", "c"], &patch.files[0].hunks).unwrap();
    assert_eq!((places[0].line, places[0].offset), (2, Some(1)));
    let (_, places) = hunks::apply(&["b", "c"], &patch.files[0].hunks).unwrap();
    assert_eq!((places[0].line, places[0].offset), (1, None));
}
