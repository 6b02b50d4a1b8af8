//! `file`: the usual kinds of files by their content.

use std::io;

use bashkit::FileType;

use crate::commands::Command;
use crate::commands::call::{Call, Failure, Links};
use crate::commands::options::{Line, Spec, flag, value};
use crate::files::text_of;

mod binary;
mod text;

pub(super) const FILE: Command = Command::new(
    "file",
    Spec::new(&[
        flag('b', "brief"),
        flag('E', ""),
        value('f', "files-from"),
        value('F', "separator"),
        flag('i', "mime"),
        flag('\0', "mime-type"),
        flag('\0', "mime-encoding"),
        flag('L', "dereference"),
        flag('h', "no-dereference"),
        flag('n', "no-buffer"),
        flag('N', "no-pad"),
        flag('p', "preserve-date"),
        flag('r', "raw"),
        flag('s', "special-files"),
        flag('0', "print0"),
    ]),
    file,
);

/// What a file is.
struct Kind {
    description: String,
    mime: &'static str,
    encoding: &'static str,
}

impl Kind {
    fn new(description: impl Into<String>, mime: &'static str, encoding: &'static str) -> Self {
        let description = description.into();
        Self {
            description,
            mime,
            encoding,
        }
    }

    fn binary(description: impl Into<String>, mime: &'static str) -> Self {
        Self::new(description, mime, "binary")
    }
}

fn file(call: &mut Call, line: &Line) -> Result<i32, Failure> {
    let mut operands = line.operands.clone();
    if let Some(list) = line.value("files-from") {
        let names = call.read(list).map_err(|error| {
            Failure::new(1, format!("Cannot open `{list}' ({})", text_of(&error)))
        })?;
        let names = String::from_utf8_lossy(&names);
        operands.splice(0..0, names.lines().map(str::to_owned));
    }
    if operands.is_empty() {
        return Err(Failure::new(
            1,
            "no file is named: file [-bEiLhN0] [--mime-type] [-F SEPARATOR] [-f LIST] FILE...",
        ));
    }
    let separator = line.value("separator").unwrap_or(":");
    let shown = |operand: &String| {
        if operand == "-" {
            "/dev/stdin".to_owned()
        } else {
            operand.clone()
        }
    };
    let width = operands
        .iter()
        .map(|operand| shown(operand).chars().count())
        .max()
        .unwrap_or(0);
    let mut exit_code = 0;
    for operand in &operands {
        let name = shown(operand);
        if !line.has("brief") {
            let pad = if line.has("no-pad") {
                0
            } else {
                width - name.chars().count()
            };
            let nul = if line.has("print0") { "\0" } else { "" };
            call.print(format!("{name}{nul}{separator} {:pad$}", ""));
        }
        match kind_of(call, line, operand) {
            Ok(kind) => call.print(answer(line, &kind)),
            Err(error) if line.has("E") => {
                call.print(format!(
                    "ERROR: cannot stat `{operand}' ({})\n",
                    text_of(&error)
                ));
                return Ok(1);
            }
            Err(error) => {
                call.print(format!("cannot open `{operand}' ({})\n", text_of(&error)));
                exit_code = i32::from(line.has("E"));
            }
        }
    }
    Ok(exit_code)
}

fn answer(line: &Line, kind: &Kind) -> String {
    let (mime, encoding) = (kind.mime, kind.encoding);
    match (
        line.has("mime") || (line.has("mime-type") && line.has("mime-encoding")),
        line.has("mime-type"),
        line.has("mime-encoding"),
    ) {
        (true, _, _) => format!("{mime}; charset={encoding}\n"),
        (_, true, _) => format!("{mime}\n"),
        (_, _, true) => format!("{encoding}\n"),
        _ => format!("{}\n", kind.description),
    }
}

fn kind_of(call: &Call, line: &Line, operand: &str) -> io::Result<Kind> {
    if operand == "-" || operand.starts_with("/dev/fd/") {
        return Ok(kind_of_content(&call.read(operand)?));
    }
    let follows = line.last_of(&["dereference", "no-dereference"]) == Some("dereference");
    let links = if follows { Links::Follow } else { Links::Keep };
    let metadata = call.metadata(operand, links)?;
    match metadata.file_type {
        FileType::Directory => Ok(Kind::binary("directory", "inode/directory")),
        FileType::Symlink => {
            let target = call.files.read_link(&call.path(operand))?;
            let target = target.to_string_lossy();
            let is_broken = call.metadata(operand, Links::Follow).is_err();
            let broken = if is_broken { "broken " } else { "" };
            Ok(Kind::binary(
                format!("{broken}symbolic link to {target}"),
                "inode/symlink",
            ))
        }
        FileType::Fifo => Ok(Kind::binary("fifo (named pipe)", "inode/fifo")),
        FileType::File => {
            let content = call.files.read(&call.files.target(&call.path(operand))?)?;
            Ok(kind_of_content(&content))
        }
    }
}

fn kind_of_content(content: &[u8]) -> Kind {
    if content.is_empty() {
        return Kind::binary("empty", "inode/x-empty");
    }
    binary::kind(content)
        .or_else(|| text::kind(content))
        .unwrap_or_else(|| Kind::binary("data", "application/octet-stream"))
}
