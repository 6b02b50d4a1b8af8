//! The scripts of the corpus, and the results beside them.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use toolhost_tests::root;

/// Returns a path in the corpus.
pub(super) fn corpus(path: &str) -> PathBuf {
    root("tests/fixtures/corpus").join(path)
}

fn read(path: PathBuf) -> String {
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The sections `### NAME` of a file, by name and in order.
fn sections(text: &str) -> impl Iterator<Item = (&str, &str)> {
    let section = |section| str::split_once(section, '\n').unwrap_or((section, ""));
    text.split("\n### ").skip(1).map(section)
}

/// A script of the corpus.
#[derive(Clone, Debug)]
pub(super) struct Script {
    /// `FAMILY/NAME`.
    pub(super) name: String,
    pub(super) text: String,
}

/// Returns the names of the families: `scripts/FAMILY.sh`.
pub(super) fn families() -> Vec<String> {
    let entries = fs::read_dir(corpus("scripts")).unwrap();
    let name = |entry: std::io::Result<fs::DirEntry>| {
        let path = entry.unwrap().path();
        path.file_stem().unwrap().to_str().unwrap().to_owned()
    };
    let mut families: Vec<_> = entries.map(name).collect();
    families.sort();
    families
}

/// Returns the scripts of a family.
pub(super) fn scripts(family: &str) -> Vec<Script> {
    let text = read(corpus(&format!("scripts/{family}.sh")));
    let script = |(name, text): (&str, &str)| Script {
        name: format!("{family}/{name}"),
        text: text.trim_end().to_owned(),
    };
    sections(&text).map(script).collect()
}

fn expected_path(family: &str) -> PathBuf {
    corpus(&format!("expected/{family}.txt"))
}

/// Returns the expected results of a family, by the name of the script.
pub(super) fn expected(family: &str) -> BTreeMap<String, String> {
    let text = fs::read_to_string(expected_path(family)).unwrap_or_default();
    let result = |(name, result): (&str, &str)| (format!("{family}/{name}"), result.to_owned());
    // The line end before a header is a separator.
    sections(text.trim_end_matches('\n')).map(result).collect()
}

/// Writes the expected results of a family.
pub(super) fn write_expected(family: &str, scripts: &[Script], results: &[String]) {
    let mut text = "# Written by Debian's programs: see ../README.\n".to_owned();
    for (script, result) in scripts.iter().zip(results) {
        let (_, name) = script.name.split_once('/').unwrap();
        text += &format!("\n### {name}\n{result}");
        text.truncate(text.trim_end_matches('\n').len());
        text.push('\n');
    }
    fs::write(expected_path(family), text).unwrap();
}

/// Returns the scripts that are known to differ, with the reason.
pub(super) fn known_differences() -> BTreeMap<String, String> {
    let text = read(corpus("differences.txt"));
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let entry = |line: &str| {
        let (name, reason) = line.split_once(": ").unwrap();
        (name.to_owned(), reason.to_owned())
    };
    lines.filter(|line| !line.is_empty()).map(entry).collect()
}
