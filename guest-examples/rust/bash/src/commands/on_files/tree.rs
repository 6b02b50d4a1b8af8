//! `tree`.

use bashkit::FileType;

use super::ls::version;
use super::names::joined;
use super::sizes::Unit;
use super::stat::{Record, USER};
use crate::commands::Command;
use crate::commands::call::{Call, Failure, Links};
use crate::commands::dates::{self, Zone};
use crate::commands::on_text::glob::{Glob, Slash, matches};
use crate::commands::options::{Line, Spec, flag, value};

pub(super) const TREE: Command = Command::new(
    "tree",
    Spec::new(&[
        flag('a', ""),
        value('\0', "charset"),
        flag('C', ""),
        flag('d', ""),
        flag('D', ""),
        flag('\0', "dirsfirst"),
        flag('f', ""),
        flag('F', ""),
        flag('\0', "filesfirst"),
        value('\0', "filelimit"),
        flag('h', ""),
        flag('i', ""),
        value('I', ""),
        flag('\0', "ignore-case"),
        flag('J', ""),
        flag('l', ""),
        value('L', ""),
        flag('n', ""),
        flag('N', ""),
        flag('\0', "noreport"),
        value('o', ""),
        flag('p', ""),
        value('P', ""),
        flag('\0', "prune"),
        flag('Q', ""),
        flag('r', ""),
        flag('s', ""),
        value('\0', "sort"),
        flag('t', ""),
        flag('u', ""),
        flag('U', ""),
        flag('v', ""),
        flag('x', ""),
    ]),
    tree,
);

struct Node {
    name: String,
    kind: FileType,
    target: Option<String>,
    is_folder_target: bool,
    record: Option<Record>,
    children: Vec<Node>,
    error: Option<&'static str>,
}

struct Tree<'a> {
    line: &'a Line,
    zone: Zone,
    depth: usize,
    ignored: Vec<&'a str>,
    wanted: Vec<&'a str>,
    needs_records: bool,
    is_ascii: bool,
    folders: usize,
    files: usize,
}

fn tree(call: &mut Call, line: &Line) -> Result<i32, Failure> {
    let depth = match line.value("L") {
        Some(text) => text
            .parse()
            .ok()
            .filter(|depth| *depth > 0)
            .ok_or_else(|| Failure::new(1, "Invalid level, must be greater than 0."))?,
        None => usize::MAX,
    };
    let sort = line.value("sort").unwrap_or("name");
    if !["name", "size", "mtime", "version", "none"].contains(&sort) {
        return Err(Failure::new(
            1,
            format!("sort type '{sort}' not valid, should be one of: name,version,size,mtime,none"),
        ));
    }
    fn split<'a>(line: &'a Line, name: &'a str) -> Vec<&'a str> {
        line.values(name)
            .flat_map(|patterns| patterns.split('|'))
            .collect()
    }
    let mut tree = Tree {
        line,
        zone: call.zone(),
        depth,
        ignored: split(line, "I"),
        wanted: split(line, "P"),
        needs_records: ["s", "h", "p", "u", "D", "t", "F", "J"]
            .iter()
            .any(|name| line.has(name))
            || matches!(sort, "size" | "mtime"),
        is_ascii: line
            .value("charset")
            .is_some_and(|charset| !charset.to_ascii_lowercase().contains("utf")),
        folders: 0,
        files: 0,
    };
    let here = [".".to_owned()];
    let operands = if line.operands.is_empty() {
        &here[..]
    } else {
        &line.operands
    };
    let mut text = String::new();
    let mut exit_code = 0;
    let is_json = line.has("J");
    for (at, operand) in operands.iter().enumerate() {
        let is_folder = call.is_folder(operand);
        let mut root = tree.node(
            call,
            operand.clone(),
            operand,
            FileType::Directory,
            Links::Follow,
        );
        if is_folder {
            tree.folders += 1;
            tree.fill(call, &mut root, operand, 1);
        } else {
            root.error = Some("error opening dir");
            tree.files += usize::from(call.metadata(operand, Links::Keep).is_ok());
            exit_code = 2;
        }
        if is_json {
            text.push_str(if at == 0 { "[\n" } else { ",\n" });
            tree.json(&root, 1, &mut text);
        } else {
            tree.row(&root, operand, &mut text);
            tree.branches(&root, operand, "", &mut text);
        }
    }
    let count = |count: usize, one: &str, many: &str| {
        format!("{count} {}", if count == 1 { one } else { many })
    };
    let has_report = !line.has("noreport");
    if is_json {
        if has_report {
            let files = if line.has("d") {
                String::new()
            } else {
                format!(",\"files\":{}", tree.files)
            };
            text.push_str(&format!(
                "\n,\n  {{\"type\":\"report\",\"directories\":{}{files}}}",
                tree.folders
            ));
        }
        text.push_str("\n]\n");
    } else if has_report {
        // A tree of one empty folder has none.
        let folders = if tree.folders == operands.len() && tree.files == 0 && exit_code == 0 {
            0
        } else {
            tree.folders
        };
        text.push('\n');
        text.push_str(&count(folders, "directory", "directories"));
        if !line.has("d") {
            text.push_str(", ");
            text.push_str(&count(tree.files, "file", "files"));
        }
        text.push('\n');
    }
    match line.value("o") {
        Some(output) => {
            if let Err(error) = call.write(output, text.as_bytes()) {
                call.complain_of(output, &error);
                return Ok(1);
            }
        }
        None => call.print(text),
    }
    Ok(exit_code)
}

impl Tree<'_> {
    fn node(&self, call: &Call, name: String, operand: &str, kind: FileType, links: Links) -> Node {
        let record = self
            .needs_records
            .then(|| Record::read(call, operand, links).ok())
            .flatten();
        let is_link = kind.is_symlink();
        let target = is_link
            .then(|| call.files.read_link(&call.path(operand)).ok())
            .flatten();
        Node {
            name,
            kind,
            target: target.map(|target| target.to_string_lossy().into_owned()),
            is_folder_target: is_link && call.is_folder(operand),
            record,
            children: Vec::new(),
            error: None,
        }
    }

    fn fill(&mut self, call: &mut Call, node: &mut Node, operand: &str, depth: usize) {
        let path = call.path(operand);
        let names = call
            .files
            .target(&path)
            .and_then(|path| call.files.names(&path));
        let Ok(names) = names else {
            node.error = Some("error opening dir");
            return;
        };
        let limit = self
            .line
            .value("filelimit")
            .and_then(|limit| limit.parse().ok());
        let shown: Vec<_> = names
            .into_iter()
            .filter(|(name, _)| self.line.has("a") || !name.starts_with('.'))
            .collect();
        if depth > 1 && limit.is_some_and(|limit: usize| limit > 0 && shown.len() > limit) {
            node.error = Some("entries exceeds filelimit, not opening dir");
            return;
        }
        for (name, kind) in shown {
            let operand = joined(operand, &name);
            let mut child = self.node(call, name, &operand, kind, Links::Keep);
            let is_folder = kind.is_dir() || child.is_folder_target;
            let is_match = |patterns: &[&str]| {
                patterns
                    .iter()
                    .any(|pattern| self.is_match(pattern, &child.name, is_folder))
            };
            if is_match(&self.ignored) || (self.line.has("d") && !is_folder) {
                continue;
            }
            let is_descended = kind.is_dir() || (child.is_folder_target && self.line.has("l"));
            if !is_folder && !self.wanted.is_empty() && !is_match(&self.wanted) {
                continue;
            }
            let before = (self.folders, self.files);
            if is_folder {
                self.folders += 1;
            } else {
                self.files += 1;
            }
            if is_descended && depth < self.depth {
                self.fill(call, &mut child, &operand, depth + 1);
            }
            if self.line.has("prune")
                && kind.is_dir()
                && child.children.is_empty()
                && depth < self.depth
            {
                (self.folders, self.files) = before;
                continue;
            }
            node.children.push(child);
        }
        self.sort(&mut node.children);
    }

    fn is_match(&self, pattern: &str, name: &str, is_folder: bool) -> bool {
        let pattern = match pattern.strip_suffix('/') {
            Some(pattern) if is_folder => pattern,
            Some(_) => return false,
            None => pattern,
        };
        if self.line.has("ignore-case") {
            return Glob::new(pattern, Slash::IsAny)
                .ignoring_case()
                .matches(name);
        }
        matches(pattern, name, Slash::IsAny)
    }

    fn sort(&self, nodes: &mut [Node]) {
        let line = self.line;
        let time = |node: &Node| node.record.as_ref().map(|record| record.metadata.modified);
        let size = |node: &Node| node.record.as_ref().map_or(0, Record::size);
        match line.value("sort") {
            Some("size") => nodes.sort_by_key(|node| std::cmp::Reverse(size(node))),
            Some("mtime") => nodes.sort_by_key(time),
            Some("version") => nodes.sort_by(|a, b| version(&a.name, &b.name)),
            _ if line.has("t") => nodes.sort_by_key(time),
            _ if line.has("v") => nodes.sort_by(|a, b| version(&a.name, &b.name)),
            _ => {}
        }
        if line.has("r") {
            nodes.reverse();
        }
        let is_folder = |node: &Node| node.kind.is_dir() || node.is_folder_target;
        if line.has("dirsfirst") {
            nodes.sort_by_key(|node| !is_folder(node));
        } else if line.has("filesfirst") {
            nodes.sort_by_key(is_folder);
        }
    }

    fn branches(&self, node: &Node, operand: &str, indent: &str, text: &mut String) {
        let (middle, end, bar) = if self.is_ascii {
            ("|-- ", "`-- ", "|   ")
        } else {
            ("├── ", "└── ", "│\u{a0}\u{a0} ")
        };
        for (at, child) in node.children.iter().enumerate() {
            let is_last = at + 1 == node.children.len();
            if !self.line.has("i") {
                text.push_str(indent);
                text.push_str(if is_last { end } else { middle });
            }
            let operand = joined(operand, &child.name);
            self.row(
                child,
                if self.line.has("f") {
                    &operand
                } else {
                    &child.name
                },
                text,
            );
            let indent = format!("{indent}{}", if is_last { "    " } else { bar });
            self.branches(child, &operand, &indent, text);
        }
    }

    fn row(&self, node: &Node, name: &str, text: &mut String) {
        let line = self.line;
        let mut columns = Vec::new();
        if let Some(record) = &node.record {
            columns.extend(line.has("p").then(|| record.permissions()));
            columns.extend(line.has("u").then(|| format!("{USER:<8}")));
            if line.has("h") {
                columns.push(format!("{:>4}", Unit::Human.show(record.size())));
            } else if line.has("s") {
                columns.push(format!("{:>11}", record.size()));
            }
            let is_recent = record
                .metadata
                .modified
                .elapsed()
                .is_ok_and(|age| age.as_secs() < 15_552_000);
            let pattern = if is_recent {
                "%b %e %H:%M"
            } else {
                "%b %e  %Y"
            };
            columns.extend(
                line.has("D")
                    .then(|| dates::format(pattern, record.metadata.modified.into(), &self.zone)),
            );
        }
        if !columns.is_empty() {
            text.push_str(&format!("[{}]  ", columns.join(" ")));
        }
        let quoted = |name: &str| {
            if line.has("Q") {
                format!("\"{name}\"")
            } else {
                name.to_owned()
            }
        };
        text.push_str(&quoted(name));
        let mode = node
            .record
            .as_ref()
            .map_or(0, |record| record.metadata.mode);
        let is_executable = node.kind.is_file() && mode & 0o111 != 0;
        match &node.target {
            Some(target) => {
                text.push_str(&format!(" -> {}", quoted(target)));
                text.push_str(if line.has("F") && node.is_folder_target {
                    "/"
                } else {
                    ""
                });
            }
            None if line.has("F") && node.kind.is_dir() && !name.ends_with('/') => text.push('/'),
            None if line.has("F") && is_executable => text.push('*'),
            None => {}
        }
        if let Some(error) = node.error {
            text.push_str(&format!("  [{error}]"));
        }
        text.push('\n');
    }

    fn json(&self, node: &Node, depth: usize, text: &mut String) {
        let indent = "  ".repeat(depth);
        let name = toolhost_guest::json!(node.name);
        let kind = match node.kind {
            FileType::Directory => "directory",
            FileType::Symlink => "link",
            FileType::File | FileType::Fifo => "file",
        };
        text.push_str(&format!("{indent}{{\"type\":\"{kind}\",\"name\":{name}"));
        if let Some(target) = &node.target {
            text.push_str(&format!(",\"target\":{}", toolhost_guest::json!(target)));
        }
        if let Some(record) = &node.record {
            let mode = record.metadata.mode & 0o7777;
            if self.line.has("p") {
                text.push_str(&format!(
                    ",\"mode\":\"{mode:04o}\",\"prot\":\"{}\"",
                    record.permissions()
                ));
            }
            if self.line.has("s") || self.line.has("h") {
                text.push_str(&format!(",\"size\":{}", record.size()));
            }
        }
        if !node.children.is_empty() {
            text.push_str(",\"contents\":[");
            for (at, child) in node.children.iter().enumerate() {
                text.push_str(if at == 0 { "\n" } else { ",\n" });
                self.json(child, depth + 1, text);
            }
            text.push_str(&format!("\n{indent}]"));
        }
        text.push('}');
    }
}
