//! `diff`: how files and folders differ.

use std::collections::BTreeMap;
use std::io;

use super::glob::{self, Slash};
use crate::commands::Command;
use crate::commands::call::{Call, Failure};
use crate::commands::options::{Line, Numbers, Spec, flag, optional, value};
use crate::files::text_of;

pub(super) mod changes;
mod groups;
pub(super) mod hunk;
pub(super) mod lines;
pub(super) mod pen;
pub(super) mod print;
mod side;

use lines::Comparison;
use print::{Format, Name};

const SPEC: Spec = Spec::new(&[
    flag('\0', "normal"),
    flag('q', "brief"),
    flag('s', "report-identical-files"),
    flag('c', ""),
    value('C', ""),
    optional('\0', "context"),
    flag('u', ""),
    value('U', ""),
    optional('\0', "unified"),
    flag('e', "ed"),
    flag('f', "forward-ed"),
    flag('n', "rcs"),
    value('D', "ifdef"),
    value('\0', "line-format"),
    value('\0', "old-line-format"),
    value('\0', "new-line-format"),
    value('\0', "unchanged-line-format"),
    value('\0', "old-group-format"),
    value('\0', "new-group-format"),
    value('\0', "unchanged-group-format"),
    value('\0', "changed-group-format"),
    flag('y', "side-by-side"),
    value('W', "width"),
    flag('\0', "left-column"),
    flag('\0', "suppress-common-lines"),
    flag('t', "expand-tabs"),
    flag('T', "initial-tab"),
    value('\0', "tabsize"),
    flag('\0', "suppress-blank-empty"),
    flag('p', "show-c-function"),
    value('F', "show-function-line"),
    value('\0', "label"),
    value('L', ""),
    flag('r', "recursive"),
    flag('N', "new-file"),
    flag('P', "unidirectional-new-file"),
    flag('i', "ignore-case"),
    flag('E', "ignore-tab-expansion"),
    flag('Z', "ignore-trailing-space"),
    flag('b', "ignore-space-change"),
    flag('w', "ignore-all-space"),
    flag('B', "ignore-blank-lines"),
    value('I', "ignore-matching-lines"),
    flag('a', "text"),
    flag('\0', "strip-trailing-cr"),
    value('x', "exclude"),
    value('X', "exclude-from"),
    value('S', "starting-file"),
    flag('d', "minimal"),
    flag('\0', "speed-large-files"),
    flag('\0', "no-dereference"),
    optional('\0', "color"),
])
.numbers(Numbers::Value);

pub(super) const DIFF: Command = Command::new("diff", SPEC, diff);

const TRY: &str = "\ndiff: Try 'diff --help' for more information.";

fn diff(call: &mut Call, line: &Line) -> Result<i32, Failure> {
    compare(call, line, Default::Normal)
}

/// The style where no option asks for one.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Default {
    Normal,
    SideBySide,
}

pub(super) fn compare(call: &mut Call, line: &Line, default: Default) -> Result<i32, Failure> {
    let [one, other] = &*line.operands else {
        let text = match &*line.operands {
            [.., last] if line.operands.len() > 2 => format!("extra operand '{last}'"),
            [last] => format!("missing operand after '{last}'"),
            _ => "missing operand after 'diff'".to_owned(),
        };
        return Err(Failure::new(2, format!("{text}{TRY}")));
    };
    let mut excluded: Vec<String> = line.values("exclude").map(str::to_owned).collect();
    for file in line.values("exclude-from") {
        let bytes = call
            .read(file)
            .map_err(|error| Failure::new(2, format!("{file}: {}", text_of(&error))))?;
        excluded.extend(String::from_utf8_lossy(&bytes).lines().map(str::to_owned));
    }
    let mut operands: Vec<&String> = line.operands.iter().collect();
    let mut options = Vec::new();
    for arg in call.args {
        match operands.iter().position(|operand| *operand == arg) {
            Some(at) => drop(operands.remove(at)),
            None => options.push(arg.as_str()),
        }
    }
    let run = Run {
        line,
        format: Format::read(line, default)?,
        comparison: Comparison::read(line)?,
        options: options.iter().map(|option| format!(" {option}")).collect(),
        excluded,
    };
    let (one_is_folder, other_is_folder) = (is_folder(call, one), is_folder(call, other));
    let base = |path: &str| {
        path.trim_end_matches('/')
            .rsplit('/')
            .next()
            .unwrap_or(path)
            .to_owned()
    };
    match (one_is_folder, other_is_folder) {
        (true, true) => run.folders(call, one, other),
        (true, false) if other != "-" => {
            let one = format!("{}/{}", one.trim_end_matches('/'), base(other));
            run.files(call, &one, other, false)
        }
        (false, true) if one != "-" => {
            let other = format!("{}/{}", other.trim_end_matches('/'), base(one));
            run.files(call, one, &other, false)
        }
        _ => run.files(call, one, other, false),
    }
}

fn is_folder(call: &Call, operand: &str) -> bool {
    if operand == "-" {
        return false;
    }
    let metadata = call.files.target_metadata(&call.path(operand));
    metadata.is_ok_and(|metadata| metadata.file_type.is_dir())
}

struct Run<'a> {
    line: &'a Line,
    format: Format,
    comparison: Comparison,
    /// The options as they were given, each after a space.
    options: String,
    excluded: Vec<String>,
}

impl Run<'_> {
    fn folders(&self, call: &mut Call, one: &str, other: &str) -> Result<i32, Failure> {
        let mut entries: BTreeMap<String, [Option<bool>; 2]> = BTreeMap::new();
        let mut exit_code = 0;
        for (index, folder) in [one, other].into_iter().enumerate() {
            let path = call.path(folder);
            let listed = match call.files.entries(&path) {
                Ok(listed) => listed,
                Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
                Err(error) => {
                    call.complain_of(folder, &error);
                    return Ok(2);
                }
            };
            for entry in listed {
                if self
                    .excluded
                    .iter()
                    .any(|glob| glob::matches(glob, &entry.name, Slash::IsAny))
                {
                    continue;
                }
                if self
                    .line
                    .value("starting-file")
                    .is_some_and(|first| &*entry.name < first)
                {
                    continue;
                }
                let kind = entry.metadata.file_type;
                let is_folder = kind.is_dir()
                    || kind.is_symlink()
                        && call
                            .files
                            .target_metadata(&path.join(&entry.name))
                            .is_ok_and(|target| target.file_type.is_dir());
                let sides = entries.entry(entry.name).or_default();
                if let Some(side) = sides.get_mut(index) {
                    *side = Some(is_folder);
                }
            }
        }
        let recursive = self.line.has("recursive");
        let join = |folder: &str, name: &str| format!("{}/{name}", folder.trim_end_matches('/'));
        for (name, sides) in entries {
            let (left, right) = (join(one, &name), join(other, &name));
            let code = match sides {
                [Some(true), Some(true)] if recursive => self.folders(call, &left, &right)?,
                [Some(true), Some(true)] => {
                    call.print(format!("Common subdirectories: {left} and {right}\n"));
                    0
                }
                [Some(false), Some(false)] => self.files(call, &left, &right, true)?,
                [Some(left_is_folder), Some(_)] => {
                    let kind = |is_folder| {
                        if is_folder {
                            "directory"
                        } else {
                            "regular file"
                        }
                    };
                    let (left_kind, right_kind) = (kind(left_is_folder), kind(!left_is_folder));
                    call.print(format!(
                        "File {left} is a {left_kind} while file {right} is a {right_kind}\n"
                    ));
                    1
                }
                [Some(is_folder), None] | [None, Some(is_folder)] => {
                    let is_left = sides.first() == Some(&Some(is_folder));
                    let new = self.line.has("new-file")
                        || !is_left && self.line.has("unidirectional-new-file");
                    if new && !is_folder {
                        self.files(call, &left, &right, true)?
                    } else if new && recursive {
                        self.folders(call, &left, &right)?
                    } else {
                        let folder = if is_left { one } else { other };
                        let folder = if folder == "/" {
                            folder
                        } else {
                            folder.trim_end_matches('/')
                        };
                        call.print(format!("Only in {folder}: {name}\n"));
                        1
                    }
                }
                [None, None] => 0,
            };
            exit_code = exit_code.max(code);
        }
        Ok(exit_code)
    }

    fn files(
        &self,
        call: &mut Call,
        one: &str,
        other: &str,
        in_folder: bool,
    ) -> Result<i32, Failure> {
        let new_file = self.line.has("new-file");
        let mut texts = Vec::new();
        let mut has_error = false;
        for (index, operand) in [one, other].into_iter().enumerate() {
            match call.read(operand) {
                Ok(text) => texts.push(text.into_owned()),
                Err(error)
                    if error.kind() == io::ErrorKind::NotFound
                        && (new_file || index == 0 && self.line.has("unidirectional-new-file")) =>
                {
                    texts.push(Vec::new());
                }
                Err(error) => {
                    call.complain_of(operand, &error);
                    has_error = true;
                }
            }
        }
        let ([left, right], false) = (&*texts, has_error) else {
            return Ok(2);
        };
        let is_text = self.line.has("text");
        let is_binary = |text: &[u8]| !is_text && text.iter().take(32_768).any(|byte| *byte == 0);
        let is_same = left == right;
        let mut has_no_end = false;
        let mut header = String::new();
        if in_folder {
            header = format!("diff{} {one} {other}\n", self.options);
        }
        let prints_all = self.format.prints_all() && !self.line.has("brief");
        if is_same && !prints_all {
            return Ok(self.same(call, one, other));
        }
        if is_binary(left) || is_binary(right) {
            let what = if self.line.has("brief") {
                "Files"
            } else {
                "Binary files"
            };
            call.print(format!("{what} {one} and {other} differ\n"));
            return Ok(1);
        }
        let ended = [left, right].map(|text| {
            let adds = self.format.adds_last_end() && text.last().is_some_and(|end| *end != b'\n');
            adds.then(|| [text, &b"\n"[..]].concat())
        });
        let [left_ended, right_ended] = &ended;
        for (operand, ended) in [one, other].into_iter().zip(&ended) {
            if ended.is_some() && !self.line.has("brief") {
                call.warn(format!("diff: {operand}: No newline at end of file\n\n"));
                has_no_end = true;
            }
        }
        let left = left_ended.as_ref().unwrap_or(left);
        let right = right_ended.as_ref().unwrap_or(right);
        let compared = self
            .comparison
            .compare(left, right, self.format.context())?;
        let differs = compared.counted().next().is_some();
        if !differs && !prints_all {
            let code = self.same(call, one, other);
            return Ok(if has_no_end { 2 } else { code });
        }
        if self.line.has("brief") {
            call.print(format!("Files {one} and {other} differ\n"));
            return Ok(1);
        }
        call.print(header);
        let mut labels = self
            .line
            .given()
            .filter(|(name, _)| name == "label" || name == "L");
        let mut name = |operand: &str| match labels.next() {
            Some((_, label)) => Name::Label(label.unwrap_or_default().to_owned()),
            None => Name::file(call, operand),
        };
        let names = [name(one), name(other)];
        let zone = crate::commands::dates::Zone::of(call.env.get("TZ").map(String::as_str));
        self.format.print(&mut call.out, &compared, &names, &zone)?;
        Ok(if has_no_end { 2 } else { differs.into() })
    }

    fn same(&self, call: &mut Call, one: &str, other: &str) -> i32 {
        if self.line.has("report-identical-files") {
            call.print(format!("Files {one} and {other} are identical\n"));
        }
        0
    }
}
