use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::symlink;

use tempfile::TempDir;

use super::*;
use crate::bundle::{Bundle, LoadError, OpenBundle};

/// Makes a directory with these files.
fn directory(files: &[(&str, &str)]) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = dir.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    dir
}

/// The document of a Tool whose component is beside its manifest.
fn tool(name: &str) -> String {
    format!(
        "apiVersion: goondan.ai/v1\nkind: Tool\nmetadata: {{name: {name}}}\n\
         spec: {{entry: ./{name}.wasm, exports: [{{name: run}}]}}\n---\n"
    )
}

fn open(dir: &TempDir) -> Result<OpenBundle, Vec<String>> {
    Bundle::open(dir.path()).map_err(|error| {
        let LoadError::Invalid { diagnostics, .. } = error else {
            panic!("{error}");
        };
        let line = |text: String| text.replace(&format!("{}/", dir.path().display()), "");
        diagnostics.iter().map(|d| line(d.to_string())).collect()
    })
}

fn findings(dir: &TempDir) -> Vec<String> {
    open(dir).map(|_| ()).unwrap_err()
}

#[test]
fn the_tools_of_included_bundles_belong_to_the_bundle_and_their_entries_lie_beside_their_manifests()
{
    let (text, csv, deep) = (tool("text"), tool("csv"), tool("deep"));
    let dir = directory(&[
        ("goondan.yaml", "include: [./text, tools/csv.yaml]\n"),
        ("text/goondan.yaml", &text),
        ("text/text.wasm", "1"),
        ("tools/csv.yaml", &format!("{csv}\n---\ninclude: [deep]\n")),
        ("tools/csv.wasm", "2"),
        ("tools/deep/goondan.yaml", &deep),
        ("tools/deep/deep.wasm", "3"),
    ]);
    let open = open(&dir).unwrap();
    let tools = open.bundle().tools().iter();
    let read = |tool| open.read_entry(tool, 9).unwrap().component;
    let entries: Vec<_> = tools
        .map(|tool| (tool.metadata.name.as_str(), read(tool)))
        .collect();
    let expected = [
        ("text", b"1".into()),
        ("csv", b"2".into()),
        ("deep", b"3".into()),
    ];
    assert_eq!(entries, expected);
    let below = |path: PathBuf| path.strip_prefix(dir.path()).unwrap().to_owned();
    let paths: Vec<_> = open.paths().into_iter().map(below).collect();
    let manifests = [
        "goondan.yaml",
        "text/goondan.yaml",
        "tools/csv.yaml",
        "tools/deep/goondan.yaml",
    ];
    let components = ["text/text.wasm", "tools/csv.wasm", "tools/deep/deep.wasm"];
    let expected = manifests.iter().chain(&components).map(PathBuf::from);
    assert_eq!(paths, expected.collect::<Vec<_>>());
}

#[test]
fn an_agent_names_tools_of_several_bundles() {
    let agent = "include: [text, csv]\n---\napiVersion: goondan.ai/v1\nkind: Agent\n\
                 metadata: {name: a}\nspec: {tools: [Tool/text, Tool/csv]}\n";
    let dir = directory(&[
        ("goondan.yaml", agent),
        ("text/goondan.yaml", &tool("text")),
        ("csv/goondan.yaml", &tool("csv")),
    ]);
    let open = open(&dir).unwrap();
    let agents = open.bundle().agents();
    assert_eq!(agents[0].spec.tools.len(), 2);
}

#[test]
fn the_agents_of_included_bundles_are_left_out() {
    let agent = "apiVersion: goondan.ai/v1\nkind: Agent\nmetadata: {name: default}\nspec: {tools: [Tool/NAME]}\n";
    let own = |name: &str| tool(name) + &agent.replace("NAME", name);
    let dir = directory(&[
        ("goondan.yaml", "include: [text, csv]\n"),
        ("text/goondan.yaml", &own("text")),
        ("csv/goondan.yaml", &own("csv")),
    ]);
    let open = open(&dir).unwrap();
    assert_eq!(open.bundle().tools().len(), 2);
    assert!(open.bundle().agents().is_empty());
}

#[test]
fn the_manifests_of_included_bundles_are_protected_against_guests() {
    let dir = directory(&[
        ("goondan.yaml", "include: [text]\n"),
        ("text/goondan.yaml", &tool("text")),
        ("text/text.wasm", ""),
    ]);
    let protected = open(&dir).unwrap().guarded(Vec::new()).now().unwrap();
    for name in ["goondan.yaml", "text/goondan.yaml", "text/text.wasm"] {
        use std::os::unix::fs::MetadataExt as _;
        let metadata = fs::metadata(dir.path().join(name)).unwrap();
        let mut ids = protected.ids();
        assert!(
            ids.any(|id| (id.device, id.inode) == (metadata.dev(), metadata.ino())),
            "{name}"
        );
    }
}

#[test]
fn an_included_bundle_that_cannot_be_read_is_a_finding_at_its_path() {
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("goondan.yaml"), tool("stolen")).unwrap();
    let dir = directory(&[("text/goondan.yaml", &tool("text")), ("empty/x", "")]);
    symlink(outside.path(), dir.path().join("link")).unwrap();
    fs::write(dir.path().join("latin"), b"\xff").unwrap();
    let manifest = dir.path().join("goondan.yaml");
    let refused = |path: &str| {
        fs::write(&manifest, format!("include:\n- {path}\n- text\n")).unwrap();
        let mut list = findings(&dir);
        assert_eq!(list.len(), 1, "{list:?}");
        list.remove(0)
    };
    let prefix =
        "goondan.yaml:2:3: error[E_CONFIG_INCLUDE] documents[0].include[0]: the included bundle ";
    let check = |path: &str, expected: &str| {
        assert_eq!(refused(path), format!("{prefix}{expected}"));
    };
    check("nope", "'nope': there is no such file or directory");
    check("empty", "'empty': there is no such file or directory");
    check("link", "'link': the path leaves the directory");
    check(
        "../x",
        "'../x' contains '..': it must lie beneath the bundle's directory",
    );
    check(
        "/etc",
        "'/etc' is absolute: it must be relative to the bundle's directory",
    );
    check("''", "'' is empty");
    check("latin", "'latin': the file is not UTF-8 text");
    check(".", "'.': it is part of the bundle already");
}

#[test]
fn a_name_of_two_bundles_is_a_finding_that_names_both_files() {
    let dir = directory(&[
        ("goondan.yaml", "include: [one, two]\n"),
        ("one/goondan.yaml", &tool("text")),
        ("two/goondan.yaml", &tool("text")),
    ]);
    let found = findings(&dir);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].starts_with("two/goondan.yaml:3:18: "), "{found:?}");
    assert!(
        found[0].contains("duplicate Tool/text: the first is in line 3 of "),
        "{found:?}"
    );
}

#[test]
fn bundles_that_include_each_other_are_a_finding() {
    let dir = directory(&[
        (
            "goondan.yaml",
            &format!("{}include: [inner]\n", tool("outer")),
        ),
        (
            "inner/goondan.yaml",
            &format!("{}include: [again]\n", tool("inner")),
        ),
    ]);
    symlink("..", dir.path().join("inner/again")).unwrap();
    let found = findings(&dir);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(
        found[0].ends_with("'again': it is part of the bundle already"),
        "{found:?}"
    );
}

#[test]
fn the_limits_of_a_bundle_hold_for_all_its_manifests_together() {
    let many = |count: usize, text: &str| {
        let mut list = String::from("include:\n");
        let mut files = Vec::new();
        for n in 0..count {
            writeln!(list, "- {n}.yaml").unwrap();
            files.push((format!("{n}.yaml"), text.replace("NAME", &format!("t{n}"))));
        }
        files.push(("goondan.yaml".to_owned(), list));
        let files: Vec<_> = files
            .iter()
            .map(|(path, text)| (&**path, &**text))
            .collect();
        directory(&files)
    };
    let found = findings(&many(MANIFESTS_MAX, ""));
    assert!(found[0].contains("more than 100 manifests"), "{found:?}");
    let three = [tool("aNAME"), tool("bNAME"), tool("cNAME")].concat();
    let found = findings(&many(50, &three));
    assert!(found[0].contains("more than 100 documents"), "{found:?}");
    let large = format!("# {}\n{}", "x".repeat(FILE_MAX / 3), tool("NAME"));
    let found = findings(&many(3, &large));
    assert!(
        found[0].contains("larger than 1048576 bytes together"),
        "{found:?}"
    );
}

#[test]
fn a_text_without_a_directory_includes_nothing() {
    let source = YamlSource::new("goondan.yaml", "include: [text]\n");
    let found = Bundle::parse(&source).unwrap_err();
    assert!(
        found[0]
            .to_string()
            .contains("only a bundle that is opened as a file")
    );
}

/// Ships the bundle `base` in a folder.
#[derive(Debug)]
struct Ships(PathBuf);

impl ShippedBundles for Ships {
    fn folder(&self, name: &str) -> Option<io::Result<PathBuf>> {
        (name == "base").then(|| Ok(self.0.clone()))
    }
}

#[test]
fn a_name_alone_includes_the_bundle_that_the_program_ships() {
    let shipped = directory(&[("goondan.yaml", &tool("shell")), ("shell.wasm", "shipped")]);
    let ships = Ships(shipped.path().to_owned());
    let entries = |include: &str| {
        let dir = directory(&[
            ("goondan.yaml", &format!("include: [{include}]\n")),
            ("base/goondan.yaml", &tool("shell")),
            ("base/shell.wasm", "folder"),
            ("sub/goondan.yaml", "include: [base]\n"),
        ]);
        let open = Bundle::open_with(dir.path(), ChangedFiles::default(), &ships).unwrap();
        let shell = open.bundle().tools().first().unwrap();
        let component = open.read_entry(shell, 99).unwrap().component;
        let warnings: Vec<_> = open
            .bundle()
            .diagnostics()
            .iter()
            .map(|it| it.help.clone())
            .collect();
        (
            String::from_utf8(component).unwrap(),
            warnings.join(" "),
            open.paths().len(),
        )
    };
    // Nothing of it is watched or protected: it lies elsewhere.
    let warning = "Write ./base for the folder.".to_owned();
    assert_eq!(entries("base"), ("shipped".to_owned(), warning, 1));
    assert_eq!(entries("./sub"), ("shipped".to_owned(), String::new(), 2));
    for folder in ["./base", "base/", "base/goondan.yaml"] {
        assert_eq!(
            entries(folder),
            ("folder".to_owned(), String::new(), 3),
            "{folder}"
        );
    }
}

#[test]
fn a_shipped_bundle_that_cannot_be_read_is_a_finding() {
    let ships = Ships("/nonexistent".into());
    let dir = directory(&[("goondan.yaml", "include: [base]\n")]);
    let error = Bundle::open_with(dir.path(), ChangedFiles::default(), &ships).unwrap_err();
    let says = "the included bundle 'base': toolhost ships it, but cannot read it: ";
    assert!(error.to_string().contains(says), "{error}");
}
