//! The Markdown pages of the repository, their snippets and their links.

use std::fs;
use std::path::{Path, PathBuf};

use crate::terminal::root;

/// Folders with pages; the pages of the top folder are read as well.
const FOLDERS: [&str; 4] = ["docs", "fuzz", "guest-examples", "guest-sdk"];

/// Folders that builds write.
const SKIPPED: [&str; 4] = ["node_modules", "target", ".toolhost", ".venv"];

/// A fenced block.
pub(super) struct Snippet {
    pub(super) page: String,
    pub(super) line: usize,
    pub(super) language: String,
    pub(super) text: String,
}

/// All pages, as paths from the top folder of the repository.
pub(super) fn pages() -> Vec<String> {
    let mut pages = Vec::new();
    collect(&root("."), false, &mut pages);
    for folder in FOLDERS {
        collect(&root(folder), true, &mut pages);
    }
    let top = root("");
    let page = |path: &PathBuf| {
        let path = path.strip_prefix(&top).unwrap();
        path.to_str().unwrap().trim_start_matches("./").to_owned()
    };
    let pages: Vec<_> = pages.iter().map(page).collect();
    assert!(pages.len() > 15, "{pages:?}");
    pages
}

fn collect(folder: &Path, recurse: bool, pages: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() {
            if recurse && !SKIPPED.contains(&name.as_str()) {
                collect(&path, recurse, pages);
            }
        } else if name.ends_with(".md") {
            pages.push(path);
        }
    }
}

/// The fenced blocks of a page.
pub(super) fn snippets(page: &str) -> Vec<Snippet> {
    let text = fs::read_to_string(root(page)).unwrap();
    let mut snippets = Vec::new();
    let mut open: Option<Snippet> = None;
    for (line, number) in text.lines().zip(1..) {
        match (line.trim_start().strip_prefix("```"), open.take()) {
            (Some(language), None) => {
                open = Some(Snippet {
                    page: page.to_owned(),
                    line: number,
                    language: language.to_owned(),
                    text: String::new(),
                });
            }
            (Some(_), Some(snippet)) => snippets.push(snippet),
            (None, Some(mut snippet)) => {
                snippet.text.push_str(line);
                snippet.text.push('\n');
                open = Some(snippet);
            }
            (None, None) => (),
        }
    }
    assert!(open.is_none(), "{page}: a fenced block has no end");
    snippets
}

/// The fenced blocks of a language, of all pages.
pub(super) fn snippets_in(language: &str) -> impl Iterator<Item = Snippet> {
    let all = pages().into_iter().flat_map(|page| snippets(&page));
    all.filter(move |snippet| snippet.language == language)
}

/// The text of a page outside its fenced blocks, line by line with its number.
fn prose(page: &str) -> Vec<(usize, String)> {
    let text = fs::read_to_string(root(page)).unwrap();
    let mut fenced = false;
    let mut prose = Vec::new();
    for (line, number) in text.lines().zip(1..) {
        let fence = line.trim_start().starts_with("```");
        fenced ^= fence;
        if !fenced && !fence {
            prose.push((number, line.to_owned()));
        }
    }
    prose
}

/// The code spans of a page, with their lines.
pub(super) fn code_spans(page: &str) -> Vec<(usize, String)> {
    let spans = prose(page).into_iter().flat_map(|(number, line)| {
        let spans = line.split('`').skip(1).step_by(2);
        spans
            .map(move |span| (number, span.to_owned()))
            .collect::<Vec<_>>()
    });
    spans.collect()
}

/// The targets of a page's links to this repository, with their lines.
pub(super) fn links(page: &str) -> Vec<(usize, String)> {
    let links = prose(page).into_iter().flat_map(|(number, line)| {
        let targets = line
            .split("](")
            .skip(1)
            .filter_map(|rest| rest.split_once(')'));
        let own = targets.filter(|(target, _)| !target.contains("://"));
        own.map(|(target, _)| (number, target.to_owned()))
            .collect::<Vec<_>>()
    });
    links.collect()
}

/// Whether a link of a page names a file, and a heading of it where it names one.
pub(super) fn leads_somewhere(page: &str, target: &str) -> bool {
    let (path, heading) = target.split_once('#').unwrap_or((target, ""));
    let file = match path {
        "" => root(page),
        path => root(page).parent().unwrap().join(path),
    };
    if heading.is_empty() {
        return file.exists();
    }
    let Ok(text) = fs::read_to_string(file) else {
        return false;
    };
    let mut headings = text.lines().filter(|line| line.starts_with('#'));
    headings.any(|line| anchor(line) == heading)
}

/// The anchor of a heading, as GitHub makes it.
fn anchor(heading: &str) -> String {
    let kept = |c: &char| c.is_alphanumeric() || [' ', '-', '_'].contains(c);
    let text = heading.trim_start_matches('#').trim().to_lowercase();
    text.chars()
        .filter(kept)
        .collect::<String>()
        .replace(' ', "-")
}
