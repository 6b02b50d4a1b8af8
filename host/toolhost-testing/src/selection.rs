//! Which cases of a bundle run.

mod shard;

use std::path::{Path, PathBuf};

use toolhost::manifest::Diagnostic;
use toolhost_contract::suggest::closest;
use toolhost_contract::text;

use crate::case_files::CaseFiles;
use crate::planned_case::{PlannedCase, TestCase};

pub use shard::{InvalidShard, Shard};

/// Most words that a filter without a match is compared with.
const WORDS_MAX: usize = 10_000;

/// Longest word that a filter without a match is compared with, in bytes.
const WORD_MAX: usize = 100;

/// Longest filter that is quoted in an error, in characters.
const QUOTED_MAX: usize = 80;

/// Which cases to run: those in one of the files, with one of the names and with the text, as far as these
/// are given, and of them those of the shard.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selection {
    /// Only the cases of these files. Empty: of all files, and generated cases.
    pub files: Vec<FileFilter>,
    /// Only cases that contain one of these texts in their file, name or tool. Empty: all.
    pub names: Vec<String>,
    /// Only cases that contain this text in their file, name or tool.
    pub filter: Option<String>,
    /// The seed of generated cases; `None` leaves them out.
    pub generated: Option<u64>,
    /// The part of the cases.
    pub shard: Option<Shard>,
}

/// Case files that a user named, and perhaps a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileFilter {
    word: String,
    /// Indices of the files in their [`CaseFiles`].
    files: Vec<usize>,
    /// Index of the case at the line. None selects all cases.
    case: Option<usize>,
}

/// Why a plan cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    /// Cases name a tool or an agent that the bundle lacks.
    #[error("the case files have errors")]
    Invalid(Vec<Diagnostic>),
    /// No case is selected.
    #[error("no case {}", .0.what)]
    NoMatch(NoMatch),
}

/// A selection without cases.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoMatch {
    /// What no case does: `has 'abc' in its file, name or tool`.
    pub what: String,
    /// The filter that matches no case by itself. None if only all filters together match none.
    pub filter: Option<String>,
    /// The word that was probably meant.
    pub closest: Option<String>,
}

impl Selection {
    /// Adds a word of the user: the path of a case file or of a folder of case files, from the current
    /// directory or that of the bundle, or a text in the file, the name or the tool of cases. `:LINE`
    /// after the path of a file selects the case at that line; a line beyond the end selects none.
    pub fn add_word(&mut self, word: &str, files: &CaseFiles) {
        match FileFilter::find(word, files) {
            Some(filter) => self.files.push(filter),
            None => self.names.push(word.to_owned()),
        }
    }

    /// Keeps the selected cases.
    ///
    /// # Errors
    /// [`NoMatch`] if a filter matches no case by itself, or all filters together match none. A shard may
    /// be empty.
    pub(crate) fn select(
        &self,
        mut planned: Vec<PlannedCase>,
    ) -> Result<Vec<PlannedCase>, NoMatch> {
        let texts = self.names.iter().chain(&self.filter);
        for text in texts {
            if !planned.iter().any(|planned| planned.case.matches(text)) {
                return Err(NoMatch::of_text(text, &planned));
            }
        }
        planned.retain(|planned| self.matches(&planned.case));
        if planned.is_empty() && self.has_filter() {
            let words = self.files.iter().map(|file| &file.word);
            let words = words.chain(&self.names).chain(&self.filter);
            let words: Vec<&str> = words.map(String::as_str).collect();
            let what = format!("matches all of: {}", text::listed(words, 10));
            return Err(NoMatch {
                what,
                filter: None,
                closest: None,
            });
        }
        if let Some(shard) = self.shard {
            planned.retain(|planned| shard.contains(&planned.case));
        }
        Ok(planned)
    }

    fn has_filter(&self) -> bool {
        !self.files.is_empty() || !self.names.is_empty() || self.filter.is_some()
    }

    fn matches(&self, case: &TestCase) -> bool {
        let mut files = self.files.iter();
        let mut names = self.names.iter();
        (self.files.is_empty() || files.any(|file| file.matches(case)))
            && (self.names.is_empty() || names.any(|name| case.matches(name)))
            && self.filter.as_ref().is_none_or(|text| case.matches(text))
    }
}

impl FileFilter {
    /// Finds the case files that a word names. Blocks on the filesystem.
    fn find(word: &str, files: &CaseFiles) -> Option<Self> {
        let candidates = |path: &Path| {
            let from_bundle = files.directory().join(path);
            let mut both = [path, &from_bundle].into_iter();
            both.find_map(|path| beneath(path, files))
        };
        let filter = |files, case| Self {
            word: word.to_owned(),
            files,
            case,
        };
        if let Some(candidates) = candidates(Path::new(word)) {
            return Some(filter(candidates, None));
        }
        let (path, line) = word.rsplit_once(':')?;
        let line: u32 = line.parse().ok()?;
        let candidates = candidates(Path::new(path))?;
        let [file] = candidates.as_slice() else {
            return None;
        };
        let (_, cases) = files.all().get(*file)?;
        if line as usize > cases.source().text().lines().count() {
            return None;
        }
        let starts = cases.cases().iter().enumerate();
        let starts = starts.filter_map(|(index, case)| Some((index, case.place.position?.line)));
        let (case, _) = starts.take_while(|(_, start)| *start <= line).last()?;
        Some(filter(candidates, Some(case)))
    }

    fn matches(&self, case: &TestCase) -> bool {
        match case {
            TestCase::Written { file, index, .. } => {
                self.files.contains(file) && self.case.is_none_or(|only| only == *index)
            }
            TestCase::Generated(_) => false,
        }
    }
}

/// Returns the indices of the case files at or beneath a path.
fn beneath(path: &Path, files: &CaseFiles) -> Option<Vec<usize>> {
    let path = path.canonicalize().ok()?;
    let is_beneath = |file: &PathBuf| {
        file.canonicalize()
            .is_ok_and(|file| file.starts_with(&path))
    };
    let files_beneath = files.all().iter().enumerate();
    let files_beneath = files_beneath.filter(|(_, (file, _))| is_beneath(file));
    let files_beneath: Vec<usize> = files_beneath.map(|(index, _)| index).collect();
    (!files_beneath.is_empty()).then_some(files_beneath)
}

impl NoMatch {
    fn of_text(word: &str, planned: &[PlannedCase]) -> Self {
        let mut words: Vec<String> = Vec::new();
        for case in planned.iter().map(|planned| &planned.case).take(WORDS_MAX) {
            if let TestCase::Written { case, .. } = case {
                let file = Path::new(&case.place.file);
                let name = file.file_name().unwrap_or_default().to_string_lossy();
                words.extend([
                    case.name.clone(),
                    case.place.file.clone(),
                    name.into_owned(),
                ]);
                let folder = file.parent().and_then(Path::file_name);
                let folder = folder.unwrap_or_default().to_string_lossy();
                words.extend(words.last().map(|name| format!("{folder}/{name}")));
            }
            let tool = case.tool();
            words.push(tool.to_owned());
            if let Some((resource, export)) = tool.split_once("__") {
                words.extend([resource.to_owned(), export.to_owned()]);
            }
        }
        words.retain(|word| word.len() <= WORD_MAX);
        words.sort_unstable();
        words.dedup();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let quoted = text::shorten(word, QUOTED_MAX);
        Self {
            what: format!("has '{quoted}' in its file, name or tool"),
            filter: Some(word.to_owned()),
            closest: closest(word, &words).map(str::to_owned),
        }
    }
}

#[cfg(test)]
mod tests;
