//! The arguments of `toolhost test`.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use clap::Args;
use toolhost_testing::Shard;

use super::bundle::BUNDLE;
use crate::base::is_base;

/// Folder of case files, beside the manifest.
const CASES: &str = "tests";

#[derive(Debug, Args)]
pub(crate) struct TestArgs {
    /// Bundle file, directory that holds a goondan.yaml, or `base`: the tools that toolhost ships [default:
    /// goondan.yaml]; its cases are in tests/*.yaml beside it, those of a NAME.yaml in tests/NAME/*.yaml
    #[arg(value_name = "BUNDLE")]
    first: Option<PathBuf>,
    /// Run only these cases: paths of case files, also with `:LINE`, or texts in the file, the name or the
    /// tool of a case
    #[arg(value_name = "FILTER")]
    rest: Vec<String>,
    /// The operator's policy, for cases without a policy of their own
    #[arg(long, value_name = "FILE")]
    pub(crate) policy: Option<PathBuf>,
    /// Run only the cases whose file, name or tool contains this text
    #[arg(long, value_name = "TEXT")]
    pub(crate) filter: Option<String>,
    /// List the cases without running them
    #[arg(long)]
    pub(crate) list: bool,
    /// Run at most this many cases at the same time [default: the number of processors]
    #[arg(short, long, value_name = "NUMBER", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) jobs: Option<u16>,
    /// Start no further case once one has failed
    #[arg(long)]
    pub(crate) fail_fast: bool,
    /// Run the K-th of N parts of the cases: `2/3`
    #[arg(long, value_name = "K/N")]
    pub(crate) shard: Option<Shard>,
    /// Build and run again whenever the manifest, a source, a component, a case file or the policy changes
    #[arg(long, conflicts_with_all = ["list", "update"])]
    pub(crate) watch: bool,
    /// Leave out generated cases
    #[arg(long)]
    pub(crate) no_generated: bool,
    /// Seed of random arguments
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Update the case files to expect the actual results
    #[arg(long, conflicts_with = "list")]
    pub(crate) update: bool,
    /// Print the report as JSON
    #[arg(long, conflicts_with = "list")]
    pub(crate) json: bool,
    /// Write a case of a recorded call into a new file in tests/, and run nothing; with --list print it
    #[arg(long, value_name = "FILE", conflicts_with_all = ["watch", "update", "json", "shard", "filter"])]
    pub(crate) from: Option<PathBuf>,
    /// Also write the report as JUnit XML
    #[arg(long, value_name = "FILE", conflicts_with = "list")]
    pub(crate) junit: Option<PathBuf>,
    /// Also write failed cases to stderr as annotations of GitHub Actions [default: if GITHUB_ACTIONS is
    /// `true`]
    #[arg(long)]
    pub(crate) github: bool,
}

impl TestArgs {
    /// Runs all tests of a bundle again after each change.
    pub(crate) fn of(bundle: &Path, policy: Option<&Path>) -> Self {
        Self {
            first: Some(bundle.to_owned()),
            rest: Vec::new(),
            policy: policy.map(Path::to_owned),
            filter: None,
            list: false,
            jobs: None,
            fail_fast: false,
            shard: None,
            watch: true,
            no_generated: false,
            seed: 1,
            update: false,
            json: false,
            from: None,
            junit: None,
            github: false,
        }
    }

    /// Returns the bundle and the filters. The first word is the bundle if it names a manifest or a
    /// directory that holds one; if it is the path of a case file, the bundle is that of the file.
    pub(crate) fn target(&self) -> (PathBuf, Vec<String>) {
        let default = || PathBuf::from(BUNDLE);
        let Some(first) = &self.first else {
            return (default(), self.rest.clone());
        };
        let word = first.to_string_lossy().into_owned();
        let filters = || {
            [word.clone()]
                .into_iter()
                .chain(self.rest.clone())
                .collect()
        };
        if is_base(first) || first.join(BUNDLE).exists() {
            return (first.clone(), self.rest.clone());
        }
        if let Some(bundle) = bundle_of(&without_line(first)) {
            return (bundle, filters());
        }
        // Without a bundle here, an error about the word is of more use than one about a missing file.
        if first.is_file() || !default().exists() {
            return (first.clone(), self.rest.clone());
        }
        (default(), filters())
    }

    /// Whether the first word may be meant as the bundle, although it names none.
    pub(crate) fn may_be_bundle(&self) -> bool {
        let first = self.first.as_ref();
        first.is_some_and(|first| *first != self.target().0)
    }
}

/// Returns a path without `:LINE` at its end.
fn without_line(path: &Path) -> PathBuf {
    match path.to_string_lossy().rsplit_once(':') {
        Some((before, line)) if !path.exists() && line.parse::<u32>().is_ok() => before.into(),
        Some(_) | None => path.to_owned(),
    }
}

/// Returns the bundle of an existing case file, or of a folder of case files.
fn bundle_of(path: &Path) -> Option<PathBuf> {
    let is_case_file = path.is_file()
        && matches!(
            path.extension().and_then(OsStr::to_str),
            Some("yaml" | "yml")
        )
        && !path.ends_with(BUNDLE);
    let folder = if path.is_dir() {
        path
    } else if is_case_file {
        path.parent()?
    } else {
        return None;
    };
    let manifest = |cases: &Path, name: &Path| {
        let manifest = cases.parent()?.join(name);
        manifest.is_file().then_some(manifest)
    };
    if folder.ends_with(CASES) {
        return manifest(folder, Path::new(BUNDLE));
    }
    let cases = folder.parent().filter(|cases| cases.ends_with(CASES))?;
    let mut name = folder.file_name()?.to_owned();
    name.push(".yaml");
    manifest(cases, Path::new(&name))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        args: TestArgs,
    }

    #[test]
    fn the_first_word_is_the_bundle_or_a_filter() {
        let dir = tempfile::tempdir().unwrap();
        for file in [
            "goondan.yaml",
            "other.yaml",
            "tests/a.yaml",
            "tests/other/b.yaml",
            "tests/fixture/goondan.yaml",
            "tests/data.txt",
            "empty/x",
        ] {
            let path = dir.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        let check = |first: &str, bundle: &str, is_filter: bool| {
            let first = dir.path().join(first).to_string_lossy().into_owned();
            let words = ["test", first.as_str(), "more"];
            let (found, filters) = Line::try_parse_from(words).unwrap().args.target();
            let expected = if is_filter {
                vec![first.as_str(), "more"]
            } else {
                vec!["more"]
            };
            assert_eq!(
                (found, filters),
                (
                    dir.path().join(bundle),
                    expected.iter().map(|word| (*word).to_owned()).collect()
                ),
                "{first}"
            );
        };
        check("", "", false);
        check("goondan.yaml", "goondan.yaml", false);
        check("other.yaml", "other.yaml", false);
        check("tests", "goondan.yaml", true);
        check("tests/a.yaml", "goondan.yaml", true);
        check("tests/a.yaml:12", "goondan.yaml", true);
        check("tests/other", "other.yaml", true);
        check("tests/other/b.yaml", "other.yaml", true);
        check("tests/fixture", "tests/fixture", false);
        check(
            "tests/fixture/goondan.yaml",
            "tests/fixture/goondan.yaml",
            false,
        );
        // Not a bundle: the error says so, as there is none in the current directory.
        check("empty", "empty", false);
        check("nowhere", "nowhere", false);
        check("tests/data.txt", "tests/data.txt", false);
    }
}
