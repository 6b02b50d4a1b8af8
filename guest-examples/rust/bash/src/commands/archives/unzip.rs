//! `unzip`: the files of an archive.

use std::path::PathBuf;

use super::zip::archive::Entry;
use super::zip::source::{NO_MATCH, Report, entries, read};
use super::zipinfo;
use crate::commands::Command;
use crate::commands::call::{Call, Failure};
use crate::commands::dates::{Moment, Zone};
use crate::commands::on_text::glob::{self, Slash};
use crate::commands::options::{Line, Spec, flag, value};
use crate::files::text_of;

const SPEC: Spec = Spec::new(&[
    flag('l', ""),
    flag('t', ""),
    flag('p', ""),
    flag('c', ""),
    flag('q', ""),
    flag('o', ""),
    flag('n', ""),
    flag('j', ""),
    flag('v', ""),
    flag('C', ""),
    flag('L', ""),
    flag('f', ""),
    flag('u', ""),
    value('d', ""),
    value('x', ""),
]);

pub(super) const UNZIP: Command = Command::new("unzip", SPEC.shown_only(), |call, line| {
    match &*line.operands {
        // As `zipinfo`.
        [first, rest @ ..] if first.starts_with("-Z") => {
            let attached = first
                .strip_prefix("-Z")
                .filter(|options| !options.is_empty());
            let attached = attached.map(|options| format!("-{options}"));
            let args: Vec<String> = attached.into_iter().chain(rest.iter().cloned()).collect();
            zipinfo::zipinfo(call, &args)
        }
        args => unzip(call, &SPEC.read(args)?),
    }
});

const BROKEN: i32 = 2;

fn unzip(call: &mut Call, line: &Line) -> Result<i32, Failure> {
    let [path, names @ ..] = &*line.operands else {
        return Err(Failure::new(
            10,
            "no archive is named; use: unzip [options] file[.zip] [names] [-x names] [-d folder]",
        ));
    };
    let (mut names, mut excluded) = (names.to_vec(), Vec::new());
    if let Some(first) = line.value("x") {
        // The list goes on to the next option.
        let start = call
            .args
            .iter()
            .position(|arg| arg == "-x")
            .map_or(0, |at| at + 1);
        let list = call
            .args
            .iter()
            .skip(start)
            .take_while(|arg| !arg.starts_with('-'));
        excluded.extend(list.cloned());
        if excluded.is_empty() {
            excluded.push(first.to_owned());
        }
        names.retain(|name| !excluded.contains(name));
    }
    let Some((path, bytes)) = read(call, path) else {
        return Ok(9);
    };
    let report = if line.has("t") && !line.has("q") {
        Report::Stdout
    } else if line.has("q") {
        Report::Quiet
    } else {
        Report::Archive
    };
    let Some(mut entries) = entries(call, &path, &bytes, report) else {
        return Ok(9);
    };
    let folds = line.has("C");
    let is = |pattern: &String, name: &str| {
        if folds {
            glob::matches(&pattern.to_lowercase(), &name.to_lowercase(), Slash::IsAny)
        } else {
            glob::matches(pattern, name, Slash::IsAny)
        }
    };
    let mut exit_code = 0;
    let is_listed = line.has("l") || line.has("v");
    let mut cautions = String::new();
    for name in &names {
        if !entries.iter().any(|entry| is(name, &entry.name)) {
            cautions += &format!("caution: filename not matched:  {name}\n");
            exit_code = NO_MATCH;
        }
    }
    if !is_listed && !line.has("t") {
        call.warn(cautions.as_bytes());
    }
    entries.retain(|entry| {
        (names.is_empty() || names.iter().any(|name| is(name, &entry.name)))
            && !excluded.iter().any(|name| is(name, &entry.name))
    });
    if entries.is_empty() && !(names.is_empty() && excluded.is_empty()) {
        exit_code = NO_MATCH;
    }
    let quiet = line.values("q").count() > 0 || line.has("q");
    if is_listed {
        list(call, &path, &entries, line.has("v"), quiet);
        return Ok(exit_code);
    }
    if line.has("p") {
        for entry in entries.iter().filter(|entry| !entry.is_folder()) {
            call.print(content(entry)?);
        }
        return Ok(exit_code);
    }
    if !quiet {
        call.print(format!("Archive:  {path}\n"));
    }
    if line.has("t") {
        return Ok(test(call, &path, &entries, quiet, &cautions).max(exit_code));
    }
    let run = Run {
        line,
        folder: line.value("d"),
        zone: Zone::of(call.env.get("TZ").map(String::as_str)),
        quiet,
    };
    if let Some(folder) = run.folder {
        let path = call.path(folder);
        run.make_folders(call, &path)
            .map_err(|text| Failure::new(50, format!("cannot create {folder}: {text}")))?;
    }
    for entry in &entries {
        exit_code = exit_code.max(run.extract(call, entry)?);
    }
    Ok(exit_code)
}

fn content(entry: &Entry) -> Result<Vec<u8>, Failure> {
    entry
        .content()
        .map_err(|text| Failure::new(BROKEN, format!("{}: {text}", entry.name)))
}

fn list(call: &mut Call, path: &str, entries: &[Entry], verbose: bool, quiet: bool) {
    if !quiet {
        call.print(format!("Archive:  {path}\n"));
    }
    if verbose {
        call.print(" Length   Method    Size  Cmpr    Date    Time   CRC-32   Name\n");
        call.print("--------  ------  ------- ---- ---------- ----- --------  ----\n");
    } else {
        call.print("  Length      Date    Time    Name\n---------  ---------- -----   ----\n");
    }
    let (mut total, mut packed) = (0, 0);
    let saved = |size: u64, packed: u64| {
        if size == 0 {
            0
        } else {
            (size.saturating_sub(packed) * 100 + size / 2) / size
        }
    };
    for entry in entries {
        let civil = entry.civil();
        let when = format!(
            "{:04}-{:02}-{:02} {:02}:{:02}",
            civil.year, civil.month, civil.day, civil.hour, civil.minute
        );
        let (size, name, small) = (entry.size(), &entry.name, entry.packed_size() as u64);
        if verbose {
            let method = if entry.is_deflated() {
                "Defl:N"
            } else {
                "Stored"
            };
            let percent = saved(size, small);
            call.print(format!(
                "{size:>8}  {method} {small:>8} {percent:>3}% {when} {:08x}  {name}\n",
                entry.crc()
            ));
        } else {
            call.print(format!("{size:>9}  {when}   {name}\n"));
        }
        total += size;
        packed += small;
    }
    let count = entries.len();
    let files = if count == 1 { "file" } else { "files" };
    if verbose {
        let percent = saved(total, packed);
        call.print("--------          -------  ---                            -------\n");
        call.print(format!("{total:>8}         {packed:>8} {percent:>3}%                            {count} {files}\n"));
    } else {
        call.print("---------                     -------\n");
        call.print(format!("{total:>9}                     {count} {files}\n"));
    }
}

fn test(call: &mut Call, path: &str, entries: &[Entry], quiet: bool, cautions: &str) -> i32 {
    let mut broken = 0;
    for entry in entries {
        let result = match entry.content() {
            Ok(_) => "OK".to_owned(),
            Err(text) => {
                broken += 1;
                text
            }
        };
        if !quiet {
            call.print(format!("    testing: {:<22}   {result}\n", entry.name));
        }
    }
    call.print(cautions);
    if broken == 0 && cautions.is_empty() {
        call.print(format!(
            "No errors detected in compressed data of {path}.\n"
        ));
        return 0;
    }
    call.print(format!("At least one error was detected in {path}.\n"));
    if broken == 0 { 0 } else { BROKEN }
}

struct Run<'a> {
    line: &'a Line,
    folder: Option<&'a str>,
    zone: Zone,
    quiet: bool,
}

impl Run<'_> {
    fn extract(&self, call: &mut Call, entry: &Entry) -> Result<i32, Failure> {
        let mut exit_code = 0;
        if entry.name.starts_with('/') {
            let text = format!(
                "warning:  stripped absolute path spec from {}\n",
                entry.name
            );
            call.warn(text.as_bytes());
            exit_code = 1;
        }
        if entry.name.split('/').any(|part| part == "..") {
            let text = format!(
                "warning:  skipped \"../\" path component(s) in {}\n",
                entry.name
            );
            call.warn(text.as_bytes());
            exit_code = 1;
        }
        let parts = entry
            .name
            .split('/')
            .filter(|part| !matches!(*part, "" | "." | ".."));
        let mut parts: Vec<String> = parts.map(str::to_owned).collect();
        if self.line.has("j") {
            if entry.is_folder() {
                return Ok(exit_code);
            }
            parts = parts.pop().into_iter().collect();
        }
        let mut name = parts.join("/");
        if self.line.has("L") {
            name = name.to_lowercase();
        }
        if name.is_empty() {
            return Ok(exit_code);
        }
        let shown = match self.folder {
            Some(folder) => format!("{}/{name}", folder.trim_end_matches('/')),
            None => name,
        };
        let path = call.path(&shown);
        let failure = |text: String| Failure::new(50, format!("cannot create {shown}: {text}"));
        if entry.is_folder() {
            if call.files.metadata(&path).is_err() {
                if !self.quiet {
                    call.print(format!("   creating: {shown}/\n"));
                }
                self.make_folders(call, &path).map_err(failure)?;
            }
            return Ok(exit_code);
        }
        let bytes = content(entry)?;
        if self.line.has("c") {
            let verb = if entry.is_deflated() {
                "  inflating"
            } else {
                " extracting"
            };
            call.print(format!("{verb}: {shown:<22}  \n"));
            call.print(bytes);
            call.print("\n");
            return Ok(exit_code);
        }
        if self.line.has("f") || self.line.has("u") {
            let seconds = entry
                .modified
                .unwrap_or_else(|| self.zone.seconds(&entry.civil()));
            match call.files.metadata(&path) {
                Ok(metadata) if Moment::from(metadata.modified).seconds >= seconds => {
                    return Ok(exit_code);
                }
                Err(_) if self.line.has("f") => return Ok(exit_code),
                _ => {}
            }
        }
        if call.files.metadata(&path).is_ok() {
            if self.line.has("n") {
                return Ok(exit_code);
            }
            if !self.line.has("o") {
                let text = format!(
                    "replace {shown}? [y]es, [n]o, [A]ll, [N]one, [r]ename:  NULL\n(EOF or read error, treating as \"[N]one\" ...)\n"
                );
                call.warn(text.as_bytes());
                return Ok(1);
            }
        }
        if let Some(parent) = path.parent() {
            self.make_folders(call, parent).map_err(failure)?;
        }
        let failure = |error: std::io::Error| failure(text_of(&error));
        if entry.is_link() {
            let target = PathBuf::from(String::from_utf8_lossy(&bytes).into_owned());
            if !self.quiet {
                call.print(format!(
                    "    linking: {shown:<22}  -> {} \n",
                    target.display()
                ));
            }
            // A link that exists is replaced.
            let _ = call.files.remove_file(&path);
            call.files.symlink(&target, &path).map_err(failure)?;
            return Ok(exit_code);
        }
        if !self.quiet {
            let verb = if entry.is_deflated() {
                "  inflating"
            } else {
                " extracting"
            };
            call.print(format!("{verb}: {shown:<22}  \n"));
        }
        // What was a link is a file now, not a way to another file.
        if call
            .files
            .metadata(&path)
            .is_ok_and(|metadata| metadata.file_type.is_symlink())
        {
            call.files.remove_file(&path).map_err(failure)?;
        }
        call.files.write(&path, &bytes).map_err(failure)?;
        if entry.mode & 0o777 != 0 {
            // A host that stores no modes has the usual ones.
            let _ = call.files.set_mode(&path, entry.mode & 0o777);
        }
        let seconds = entry
            .modified
            .unwrap_or_else(|| self.zone.seconds(&entry.civil()));
        let _ = call
            .files
            .set_modified(&path, Moment { seconds, nanos: 0 }.into());
        Ok(exit_code)
    }

    fn make_folders(&self, call: &Call, path: &std::path::Path) -> Result<(), String> {
        match call.files.target_metadata(path) {
            Ok(metadata) if metadata.file_type.is_dir() => return Ok(()),
            Ok(_) => return Err("Not a directory".to_owned()),
            Err(_) => {}
        }
        if let Some(parent) = path.parent() {
            self.make_folders(call, parent)?;
        }
        call.files
            .make_folder(path)
            .map_err(|error| text_of(&error))
    }
}
