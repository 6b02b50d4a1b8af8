//! `grep`: lines that match.

use std::path::Path;

use super::glob::{self, Slash};
use super::pattern::{Pattern, Reading, Syntax, Within};
use crate::commands::Command;
use crate::commands::call::{Call, Failure};
use crate::commands::options::{Line, Numbers, Spec, flag, optional, value};

mod search;

use search::{Binary, Colors, Context, Print, Report, Search};

pub(in crate::commands) const SPEC: Spec = Spec::new(&[
    flag('E', "extended-regexp"),
    flag('F', "fixed-strings"),
    flag('G', "basic-regexp"),
    flag('P', "perl-regexp"),
    value('e', "regexp"),
    value('f', "file"),
    flag('i', "ignore-case"),
    flag('y', ""),
    flag('\0', "no-ignore-case"),
    flag('w', "word-regexp"),
    flag('x', "line-regexp"),
    flag('z', "null-data"),
    flag('s', "no-messages"),
    flag('v', "invert-match"),
    value('m', "max-count"),
    flag('b', "byte-offset"),
    flag('n', "line-number"),
    flag('\0', "line-buffered"),
    flag('H', "with-filename"),
    flag('h', "no-filename"),
    value('\0', "label"),
    flag('o', "only-matching"),
    flag('q', "quiet"),
    flag('\0', "silent"),
    value('\0', "binary-files"),
    flag('a', "text"),
    flag('I', ""),
    value('d', "directories"),
    flag('r', "recursive"),
    flag('R', "dereference-recursive"),
    value('\0', "include"),
    value('\0', "exclude"),
    value('\0', "exclude-from"),
    value('\0', "exclude-dir"),
    flag('L', "files-without-match"),
    flag('l', "files-with-matches"),
    flag('c', "count"),
    flag('T', "initial-tab"),
    flag('Z', "null"),
    flag('U', "binary"),
    value('B', "before-context"),
    value('A', "after-context"),
    value('C', "context"),
    value('\0', "group-separator"),
    flag('\0', "no-group-separator"),
    optional('\0', "color"),
    optional('\0', "colour"),
])
.numbers(Numbers::Value);

pub(super) const GREP: Command = Command::new("grep", SPEC, |call, line| grep(call, line, None));
pub(super) const EGREP: Command = Command::new("egrep", SPEC, |call, line| {
    grep(call, line, Some(Syntax::Extended))
});
pub(super) const FGREP: Command = Command::new("fgrep", SPEC, |call, line| {
    grep(call, line, Some(Syntax::Fixed))
});

const USAGE: &str =
    "Usage: grep [OPTION]... PATTERNS [FILE]...\nTry 'grep --help' for more information.\n";

fn grep(call: &mut Call, line: &Line, syntax: Option<Syntax>) -> Result<i32, Failure> {
    call.name = "grep";
    let mut operands = line.operands.iter().map(String::as_str);
    let Some(pattern) = pattern(call, line, syntax, &mut operands)? else {
        call.warn(USAGE.as_bytes());
        return Ok(2);
    };
    for warning in &pattern.warnings {
        call.complain(format_args!("warning: {warning}"));
    }
    let operands: Vec<&str> = operands.collect();
    let recursive = line.has("recursive") || line.has("dereference-recursive");
    let skips = match line.value("directories") {
        Some("skip") => true,
        Some("read" | "recurse") | None => false,
        Some(other) => {
            return Err(Failure::usage(format!(
                "invalid argument '{other}' for '--directories'"
            )));
        }
    };
    let recursive = recursive || line.value("directories") == Some("recurse");
    let from_here = operands.is_empty() && recursive;
    let mut run = Run {
        line,
        search: search(line, &pattern, operands.len() > 1 || from_here)?,
        filter: Filter::new(call, line)?,
        recursive,
        skips,
        has_match: false,
        has_error: false,
    };
    if operands.is_empty() {
        let operand = if recursive { "." } else { "-" };
        run.operand(call, operand, from_here)?;
    }
    for operand in operands {
        run.operand(call, operand, false)?;
        if run.search.is_done(run.has_match) {
            break;
        }
    }
    let quiet = run.search.report == Report::Quiet;
    Ok(if run.has_error && !(quiet && run.has_match) {
        2
    } else {
        i32::from(!run.has_match)
    })
}

/// Returns the pattern of the options or of the first operand.
fn pattern<'a>(
    call: &mut Call,
    line: &Line,
    syntax: Option<Syntax>,
    operands: &mut impl Iterator<Item = &'a str>,
) -> Result<Option<Pattern>, Failure> {
    let given = line.last_of(&[
        "extended-regexp",
        "fixed-strings",
        "basic-regexp",
        "perl-regexp",
    ]);
    let syntax = match given {
        Some("extended-regexp") => Syntax::Extended,
        Some("fixed-strings") => Syntax::Fixed,
        Some("perl-regexp") => Syntax::Perl,
        Some(_) => Syntax::Basic,
        None => syntax.unwrap_or(Syntax::Basic),
    };
    let mut sources: Vec<String> = Vec::new();
    let mut has_option = false;
    for (name, text) in line.given() {
        let text = text.unwrap_or_default();
        match &*name {
            "regexp" => sources.extend(text.split('\n').map(str::to_owned)),
            "file" => {
                let bytes = call.read(text).map_err(|error| {
                    Failure::new(2, format!("{text}: {}", crate::files::text_of(&error)))
                })?;
                let patterns = String::from_utf8_lossy(&bytes);
                sources.extend(patterns.lines().map(str::to_owned));
            }
            _ => continue,
        }
        has_option = true;
    }
    if !has_option {
        let Some(operand) = operands.next() else {
            return Ok(None);
        };
        sources.extend(operand.split('\n').map(str::to_owned));
    }
    if sources.is_empty() {
        // No pattern: nothing matches.
        sources.push(r"\(\`x\`\)".to_owned());
        let mut reading = Reading::new(Syntax::Basic, false);
        reading.lines = true;
        return Pattern::new(sources, reading)
            .map(Some)
            .map_err(|text| Failure::new(2, text));
    }
    let mut reading = Reading::new(syntax, call.is_utf8());
    let case = line.last_of(&["ignore-case", "y", "no-ignore-case"]);
    reading.ignore_case = matches!(case, Some("ignore-case" | "y"));
    reading.lines = !line.has("null-data");
    reading.within = if line.has("line-regexp") {
        Within::Lines
    } else if line.has("word-regexp") {
        Within::Words
    } else {
        Within::Anywhere
    };
    Pattern::new(sources, reading)
        .map(Some)
        .map_err(|text| Failure::new(2, text))
}

fn number(line: &Line, name: &str, what: &str) -> Result<Option<usize>, Failure> {
    let Some(text) = line.value(name) else {
        return Ok(None);
    };
    match text.parse::<i64>() {
        Ok(number) => Ok(Some(usize::try_from(number).unwrap_or(usize::MAX))),
        Err(_) if name == "max-count" => Err(Failure::usage("invalid max count")),
        Err(_) => Err(Failure::usage(format!("{text}: invalid {what}"))),
    }
}

fn search<'a>(line: &Line, pattern: &'a Pattern, several: bool) -> Result<Search<'a>, Failure> {
    let length = "context length argument";
    let context = number(line, "context", length)?;
    let context = context.or(number(line, "number", length)?);
    let before = number(line, "before-context", length)?.or(context);
    let after = number(line, "after-context", length)?.or(context);
    let separator = if line.has("no-group-separator") {
        None
    } else {
        Some(line.value("group-separator").unwrap_or("--").to_owned())
    };
    let report = match line.last_of(&["files-with-matches", "files-without-match"]) {
        _ if line.has("quiet") || line.has("silent") => Report::Quiet,
        Some("files-with-matches") => Report::FilesWith,
        Some(_) => Report::FilesWithout,
        None if line.has("count") => Report::Count,
        None if line.has("only-matching") => Report::Matches,
        None => Report::Lines,
    };
    let binary = match line.value("binary-files") {
        _ if line.has("text") => Binary::IsText,
        _ if line.has("I") => Binary::NoMatch,
        Some("text") => Binary::IsText,
        Some("without-match") => Binary::NoMatch,
        Some("binary") | None => Binary::Named,
        Some(_) => return Err(Failure::usage("unknown binary-files type")),
    };
    let colors = match line.value("color").or(line.value("colour")) {
        Some("always" | "yes" | "force") => Colors::Always,
        Some("never" | "no" | "none" | "auto" | "tty" | "if-tty") | None => Colors::Never,
        Some(_) => return Err(Failure::usage("invalid argument for '--color'")),
    };
    let only_matches = report == Report::Matches;
    Ok(Search {
        pattern,
        inverted: line.has("invert-match"),
        most: number(line, "max-count", "max count")?,
        report,
        binary,
        end: if line.has("null-data") { 0 } else { b'\n' },
        context: Context {
            before: if only_matches { 0 } else { before.unwrap_or(0) },
            after: if only_matches { 0 } else { after.unwrap_or(0) },
            separator: (before.is_some() || after.is_some())
                .then_some(separator)
                .flatten(),
        },
        print: Print {
            names: match line.last_of(&["with-filename", "no-filename"]) {
                Some("with-filename") => Some(true),
                Some(_) => Some(false),
                None => several.then_some(true),
            },
            numbers: line.has("line-number"),
            offsets: line.has("byte-offset"),
            initial_tab: line.has("initial-tab"),
            null: line.has("null"),
            colors,
        },
        is_later: false,
    })
}

/// Which files a search goes into.
struct Filter {
    /// Patterns of names, and whether they include, in the order of the command line.
    files: Vec<(String, bool)>,
    folders: Vec<String>,
}

impl Filter {
    fn new(call: &Call, line: &Line) -> Result<Self, Failure> {
        let mut files = Vec::new();
        for (name, text) in line.given() {
            let text = text.unwrap_or_default();
            match &*name {
                "include" => files.push((text.to_owned(), true)),
                "exclude" => files.push((text.to_owned(), false)),
                "exclude-from" => {
                    let bytes = call.read(text).map_err(|error| {
                        Failure::new(2, format!("{text}: {}", crate::files::text_of(&error)))
                    })?;
                    let lines = String::from_utf8_lossy(&bytes);
                    files.extend(lines.lines().map(|line| (line.to_owned(), false)));
                }
                _ => {}
            }
        }
        let folders = line.values("exclude-dir");
        let folders = folders
            .map(|text| text.trim_end_matches('/').to_owned())
            .collect();
        Ok(Self { files, folders })
    }

    fn takes_file(&self, path: &str) -> bool {
        let decided = self
            .files
            .iter()
            .rev()
            .find(|(pattern, _)| is_at_end(pattern, path));
        match decided {
            Some((_, include)) => *include,
            None => !self.files.first().is_some_and(|(_, include)| *include),
        }
    }

    fn takes_folder(&self, path: &str) -> bool {
        !self.folders.iter().any(|pattern| is_at_end(pattern, path))
    }
}

/// Whether a pattern matches a path or what follows a `/` in it.
fn is_at_end(pattern: &str, path: &str) -> bool {
    let tails = path
        .match_indices('/')
        .filter_map(|(at, _)| path.get(at + 1..));
    std::iter::once(path)
        .chain(tails)
        .any(|tail| glob::matches(pattern, tail, Slash::IsAny))
}

struct Run<'a> {
    line: &'a Line,
    search: Search<'a>,
    filter: Filter,
    recursive: bool,
    skips: bool,
    has_match: bool,
    has_error: bool,
}

impl Run<'_> {
    fn operand(&mut self, call: &mut Call, operand: &str, hidden: bool) -> Result<(), Failure> {
        let read = call.read(operand);
        let error = match read {
            Ok(bytes) => {
                if operand != "-" && !self.filter.takes_file(operand) {
                    return Ok(());
                }
                let label = self.line.value("label").unwrap_or("(standard input)");
                let name = if operand == "-" { label } else { operand };
                return self.text(call, name, &bytes);
            }
            Err(error) => error,
        };
        let path = call.path(operand);
        let is_folder = call
            .files
            .target_metadata(&path)
            .is_ok_and(|it| it.file_type.is_dir());
        if is_folder && self.recursive {
            if !self.filter.takes_folder(operand.trim_end_matches('/')) {
                return Ok(());
            }
            if self.search.print.names.is_none() {
                self.search.print.names = Some(true);
            }
            let prefix = if hidden {
                String::new()
            } else {
                format!("{}/", operand.trim_end_matches('/'))
            };
            return self.folder(call, &path, &prefix);
        }
        if is_folder && self.skips {
            return Ok(());
        }
        if is_folder {
            let error = std::io::Error::new(std::io::ErrorKind::IsADirectory, "Is a directory");
            self.error(call, operand, &error);
            return Ok(());
        }
        self.error(call, operand, &error);
        Ok(())
    }

    fn error(&mut self, call: &mut Call, operand: &str, error: &std::io::Error) {
        if !self.line.has("no-messages") {
            call.complain_of(operand, error);
        }
        self.has_error = true;
    }

    fn folder(&mut self, call: &mut Call, path: &Path, prefix: &str) -> Result<(), Failure> {
        let entries = match call.files.names(path) {
            Ok(entries) => entries,
            Err(error) => {
                self.error(call, prefix.trim_end_matches('/'), &error);
                return Ok(());
            }
        };
        for (entry, mut kind) in entries {
            let (inner, name) = (path.join(&entry), format!("{prefix}{entry}"));
            if kind.is_symlink() {
                if !self.line.has("dereference-recursive") {
                    continue;
                }
                match call.files.target_metadata(&inner) {
                    Ok(metadata) => kind = metadata.file_type,
                    Err(error) => {
                        self.error(call, &name, &error);
                        continue;
                    }
                }
            }
            if kind.is_dir() {
                if self.filter.takes_folder(&name) {
                    self.folder(call, &inner, &format!("{name}/"))?;
                }
            } else if self.filter.takes_file(&name) {
                match call.files.read(&inner) {
                    Ok(bytes) => self.text(call, &name, &bytes)?,
                    Err(error) => self.error(call, &name, &error),
                }
            }
            if self.search.is_done(self.has_match) {
                break;
            }
        }
        Ok(())
    }

    fn text(&mut self, call: &mut Call, name: &str, bytes: &[u8]) -> Result<(), Failure> {
        let selected = self.search.run(call, name, bytes);
        let selected = selected.map_err(|text| Failure::new(2, format!("{name}: {text}")))?;
        self.has_match |= selected;
        Ok(())
    }
}
