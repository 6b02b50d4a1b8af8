//! `sed`: a script over the lines of files.

use crate::commands::Command;
use crate::commands::call::{Call, Failure};
use crate::commands::options::{Line, Spec, flag, optional, value};
use crate::files::text_of;

mod replacement;
mod run;
mod script;
mod substitution;

pub(in crate::commands) use replacement::Replacement;

use run::{File, Machine};

const SPEC: Spec = Spec::new(&[
    flag('n', "quiet"),
    flag('\0', "silent"),
    value('e', "expression"),
    value('f', "file"),
    flag('E', "regexp-extended"),
    flag('r', ""),
    optional('i', "in-place"),
    value('l', "line-length"),
    flag('\0', "posix"),
    flag('b', "binary"),
    flag('\0', "follow-symlinks"),
    flag('\0', "sandbox"),
    flag('s', "separate"),
    flag('u', "unbuffered"),
    flag('z', "null-data"),
]);

pub(super) const SED: Command = Command::new("sed", SPEC, sed);

const USAGE: &str = "Usage: sed [OPTION]... {script-only-if-no-other-script} [input-file]...\n";

fn sed(call: &mut Call, line: &Line) -> Result<i32, Failure> {
    let mut operands = line.operands.iter().map(String::as_str);
    let mut scripts = Vec::new();
    for (name, text) in line.given() {
        let text = text.unwrap_or_default();
        match &*name {
            "expression" => scripts.push(text.to_owned()),
            "file" => {
                let bytes = call.read(text).map_err(|error| {
                    Failure::new(1, format!("couldn't open file {text}: {}", text_of(&error)))
                })?;
                let script = String::from_utf8(bytes.into_owned())
                    .map_err(|_| Failure::usage(format!("the script {text} is not UTF-8")))?;
                scripts.push(script.strip_suffix('\n').unwrap_or(&script).to_owned());
            }
            _ => {}
        }
    }
    if scripts.is_empty() {
        let Some(script) = operands.next() else {
            call.warn(USAGE.as_bytes());
            return Ok(1);
        };
        scripts.push(script.to_owned());
    }
    let reading = script::Reading {
        extended: line.has("regexp-extended") || line.has("r"),
        unicode: call.is_utf8(),
        sandbox: line.has("sandbox"),
    };
    let script = script::parse(&scripts, reading).map_err(|text| {
        let is_jump = text.starts_with("can't find label");
        Failure::new(if is_jump { 4 } else { 1 }, text)
    })?;
    let line_length = match line.value("line-length") {
        Some(text) => text
            .parse()
            .map_err(|_| Failure::new(1, format!("invalid line length: {text}")))?,
        None => 70,
    };
    let in_place = line.has("in-place");
    let operands: Vec<&str> = operands.collect();
    let names = if operands.is_empty() {
        vec!["-"]
    } else {
        operands
    };
    let mut exit_code = 0;
    let mut files = Vec::new();
    for name in names {
        let metadata = call.files.target_metadata(&call.path(name));
        if in_place && metadata.as_ref().is_ok_and(|it| it.file_type.is_dir()) {
            call.complain(format_args!("couldn't edit {name}: not a regular file"));
            exit_code = 4;
            continue;
        }
        match if in_place {
            call.files.read(&call.path(name)).map(Into::into)
        } else {
            call.read(name)
        } {
            Ok(bytes) => files.push(File {
                name: name.to_owned(),
                bytes: bytes.into_owned(),
            }),
            Err(error) if error.kind() == std::io::ErrorKind::IsADirectory => {
                return Err(Failure::new(
                    4,
                    format!("read error on {name}: Is a directory"),
                ));
            }
            Err(error) => {
                call.complain(format_args!("can't read {name}: {}", text_of(&error)));
                exit_code = 2;
            }
        }
    }
    let quiet = line.has("quiet") || line.has("silent") || script.is_quiet;
    let mut machine = Machine::new(script, quiet, line.has("null-data"), line_length);
    machine.open_files(call)?;
    if in_place || line.has("separate") {
        for file in files {
            let name = file.name.clone();
            let before = call.out.len();
            let quit = machine.run(call, vec![file])?;
            if in_place {
                let content = call.out.split_off(before);
                let failure = |name: &str, error: &std::io::Error| {
                    Failure::new(4, format!("couldn't open file {name}: {}", text_of(error)))
                };
                if let Some(suffix) = line.value("in-place").filter(|suffix| !suffix.is_empty()) {
                    let backup = backup(&name, suffix);
                    let original = call
                        .files
                        .read(&call.path(&name))
                        .map_err(|error| failure(&name, &error))?;
                    let path = call.path(&backup);
                    call.files
                        .write(&path, &original)
                        .map_err(|error| failure(&backup, &error))?;
                    if let Ok(metadata) = call.files.target_metadata(&call.path(&name)) {
                        // A host that stores no modes has the usual ones.
                        let _ = call.files.set_mode(&path, metadata.mode & 0o777);
                    }
                }
                let path = call.path(&name);
                let is_link = call
                    .files
                    .metadata(&path)
                    .is_ok_and(|it| it.file_type.is_symlink());
                if is_link && !line.has("follow-symlinks") {
                    call.files
                        .remove_file(&path)
                        .map_err(|error| failure(&name, &error))?;
                }
                // Written in place, so that the file keeps its mode.
                call.files
                    .write(&call.path(&name), &content)
                    .map_err(|error| failure(&name, &error))?;
            }
            if let Some(code) = quit {
                machine.close_files(call)?;
                return Ok(if code == 0 { exit_code } else { code });
            }
        }
    } else if let Some(code) = machine.run(call, files)? {
        machine.close_files(call)?;
        return Ok(if code == 0 { exit_code } else { code });
    }
    machine.close_files(call)?;
    Ok(exit_code)
}

/// The name of a copy: `*` in a suffix stands for the name.
fn backup(name: &str, suffix: &str) -> String {
    let (folder, base) = match name.rsplit_once('/') {
        Some((folder, base)) => (Some(folder), base),
        None => (None, name),
    };
    let backup = if suffix.contains('*') {
        suffix.replace('*', base)
    } else {
        format!("{base}{suffix}")
    };
    match folder {
        Some(folder) if !backup.contains('/') => format!("{folder}/{backup}"),
        _ => backup,
    }
}
