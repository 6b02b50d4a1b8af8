use std::fs;

use toolhost_contract::{JsonObject, ToolName};

use super::*;
use crate::generated_case::{GeneratedCase, GeneratedKind};

/// The case files of a new directory.
fn case_files() -> (tempfile::TempDir, CaseFiles) {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("tests")).unwrap();
    let write = |name: &str, text: &str| fs::write(dir.path().join(name), text).unwrap();
    write("goondan.yaml", "");
    write(
        "tests/notes.yaml",
        "- {name: counts, tool: notes__count}\n# second\n- name: says\n  tool: notes__say\n",
    );
    write("tests/text.yaml", "- {name: upper, tool: text__upper}\n");
    let files = CaseFiles::read(dir.path()).unwrap();
    (dir, files)
}

fn cases(files: &CaseFiles) -> Vec<TestCase> {
    let mut cases_of_files = Vec::new();
    for (file, (_, cases)) in files.all().iter().enumerate() {
        let written = cases.cases().iter().enumerate();
        cases_of_files.extend(written.map(|(index, case)| TestCase::Written {
            file,
            index,
            case: Box::new(case.clone()),
        }));
    }
    cases_of_files.push(TestCase::Generated(Box::new(GeneratedCase {
        tool: ToolName::parse("text__upper").unwrap(),
        name: "all".to_owned(),
        args: JsonObject::new(),
        kind: GeneratedKind::Valid,
    })));
    cases_of_files
}

#[track_caller]
fn check(files: &CaseFiles, words: &[&str], filter: Option<&str>, expected: &[&str]) {
    let mut selection = Selection {
        filter: filter.map(str::to_owned),
        ..Selection::default()
    };
    for word in words {
        selection.add_word(word, files);
    }
    let cases = cases(files);
    let selected = cases.iter().filter(|case| selection.matches(case));
    let names: Vec<String> = selected.map(TestCase::name).collect();
    assert_eq!(names, expected, "{words:?} {filter:?}");
}

#[test]
fn words_are_paths_of_case_files_or_texts_in_file_name_or_tool() {
    let (dir, files) = case_files();
    let generated = "text__upper (valid): all";
    check(&files, &[], None, &["counts", "says", "upper", generated]);
    check(&files, &["tests/notes.yaml"], None, &["counts", "says"]);
    let whole = dir.path().join("tests/notes.yaml");
    check(
        &files,
        &[whole.to_str().unwrap()],
        None,
        &["counts", "says"],
    );
    check(&files, &["tests"], None, &["counts", "says", "upper"]);
    check(&files, &["upper"], None, &["upper", generated]);
    check(&files, &["notes.yaml"], None, &["counts", "says"]);
    check(
        &files,
        &["counts", "upper"],
        None,
        &["counts", "upper", generated],
    );
    check(&files, &["text__upper"], Some("valid"), &[generated]);
    // Files and names restrict each other.
    check(&files, &["tests/text.yaml", "upper"], None, &["upper"]);
    check(
        &files,
        &["tests/notes.yaml", "tests/text.yaml", "s"],
        None,
        &["counts", "says", "upper"],
    );
    check(&files, &["tests/notes.yaml", "upper"], None, &[]);
}

#[test]
fn a_line_after_the_path_selects_the_case_there() {
    let (_dir, files) = case_files();
    check(&files, &["tests/notes.yaml:1"], None, &["counts"]);
    check(&files, &["tests/notes.yaml:2"], None, &["counts"]);
    check(
        &files,
        &["tests/notes.yaml:3", "tests/text.yaml"],
        None,
        &["says", "upper"],
    );
    check(&files, &["tests/notes.yaml:4"], None, &["says"]);
    check(&files, &["tests/notes.yaml:0"], None, &[]);
    check(&files, &["tests/notes.yaml:5"], None, &[]);
}
