//! Reads the arguments of `tar`.

use std::path::PathBuf;

use super::member::Format;
use super::names::{Transformation, unquoted};
use super::options::{SPEC, misuse};
use super::reader::fatal;
use super::select::{BACKUPS, Leaves, Matching, Name, Pattern, Tag, VERSION_CONTROL};
use super::settings::{Existing, Operation, Owner, Settings};
use super::values::{format, moment, of_suffix, owner, program, record, warning};
use crate::commands::archives::codec::Codec;
use crate::commands::call::{Call, Failure};
use crate::commands::dates::Zone;
use crate::commands::on_files::modes::Mode;
use crate::commands::on_files::stat;
use crate::commands::on_text::glob::Slash;
use crate::commands::options::{Line, OPERAND};
use crate::files::text_of;

/// What options set that holds for the names and patterns after them.
struct Reading {
    wildcards: Option<bool>,
    anchored: Option<bool>,
    ignores_case: bool,
    slash: Slash,
    takes_contents: bool,
    unquotes: bool,
    is_null: bool,
    is_verbatim: bool,
    folder: PathBuf,
    names: Vec<Name>,
    excluded: Vec<Pattern>,
}

impl Reading {
    fn exclude(&mut self, text: &str) {
        let matching = Matching {
            has_wildcards: self.wildcards.unwrap_or(true),
            is_anchored: self.anchored.unwrap_or(false),
            ignores_case: self.ignores_case,
            slash: self.slash,
            takes_contents: self.takes_contents,
        };
        let text = text.to_owned();
        self.excluded.push(Pattern { text, matching });
    }

    fn name(&mut self, text: &str) {
        let text = if self.unquotes {
            unquoted(text)
        } else {
            text.to_owned()
        };
        let trimmed = text.trim_end_matches('/');
        let text = if trimmed.is_empty() && !text.is_empty() {
            "/"
        } else {
            trimmed
        };
        let matching = Matching {
            has_wildcards: self.wildcards.unwrap_or(false),
            is_anchored: self.anchored.unwrap_or(true),
            ignores_case: self.ignores_case,
            slash: self.slash,
            takes_contents: self.takes_contents,
        };
        self.names.push(Name {
            pattern: Pattern {
                text: text.to_owned(),
                matching,
            },
            folder: self.folder.clone(),
            count: 0,
        });
    }

    /// The names of a file of `-T`.
    fn list(&mut self, call: &Call, file: &str) -> Result<(), Failure> {
        let text = content(call, file)?;
        let end = if self.is_null { '\0' } else { '\n' };
        let is_verbatim = self.is_verbatim || self.is_null;
        let mut lines = text.split(end);
        while let Some(line) = lines.next() {
            let folder = line
                .strip_prefix("-C")
                .or(line.strip_prefix("--directory="));
            if line.is_empty() {
            } else if is_verbatim || !line.starts_with('-') {
                self.name(line);
            } else if let Some(folder) = folder {
                let folder = match folder.trim_start() {
                    "" => lines.next().unwrap_or_default(),
                    folder => folder,
                };
                self.folder = self.folder.join(folder);
            } else if let Some(name) = line.strip_prefix("--add-file=") {
                self.name(name);
            } else {
                return Err(Failure::usage(format!(
                    "{file}: the option {line} is not implemented in a list of names; \
                     --verbatim-files-from takes it for a name"
                )));
            }
        }
        Ok(())
    }
}

/// The text of a file that an option names.
fn content(call: &Call, file: &str) -> Result<String, Failure> {
    let bytes = call
        .read(file)
        .map_err(|error| fatal(format_args!("{file}: Cannot open: {}", text_of(&error))))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Reads the arguments.
///
/// # Errors
/// They cannot be used.
pub(super) fn read(call: &Call, args: &[String]) -> Result<(Settings, Vec<Name>), Failure> {
    let line = SPEC.read(args)?;
    let mut reading = Reading {
        wildcards: None,
        anchored: None,
        ignores_case: false,
        slash: Slash::IsAny,
        takes_contents: true,
        unquotes: true,
        is_null: false,
        is_verbatim: false,
        folder: call.cwd.to_owned(),
        names: Vec::new(),
        excluded: Vec::new(),
    };
    let zone = if line.has("utc") {
        Zone::utc()
    } else {
        Zone::of(call.env.get("TZ").map(String::as_str))
    };
    let mut operation = None;
    let mut archives = Vec::new();
    let mut codecs: Vec<(Codec, u32)> = Vec::new();
    let mut has_list = false;
    let mut settings = Settings {
        operation: Operation::List,
        archive: call
            .env
            .get("TAPE")
            .cloned()
            .unwrap_or_else(|| "-".to_owned()),
        codec: None,
        level: 6,
        verbosity: 0,
        has_names: false,
        folder: PathBuf::new(),
        excluded: Vec::new(),
        tags: Vec::new(),
        transformations: Vec::new(),
        strip: 0,
        top: None,
        occurrence: None,
        existing: Existing::Replace,
        user: Owner::default(),
        group: Owner::default(),
        mode: None,
        modified: None,
        newer: None,
        format: Format::Gnu,
        record: 20 * 512,
        silent: Vec::new(),
        zone,
        line: Line::default(),
    };
    for (name, value) in line.given() {
        let value = value.unwrap_or_default();
        let tag = |file: &str, leaves| Tag {
            file: file.to_owned(),
            leaves,
        };
        match &*name {
            OPERAND | "add-file" => reading.name(value),
            "catenate" | "concatenate" => set(&mut operation, Operation::Concatenate)?,
            "create" => set(&mut operation, Operation::Create)?,
            "diff" | "compare" => set(&mut operation, Operation::Compare)?,
            "delete" => set(&mut operation, Operation::Delete)?,
            "append" => set(&mut operation, Operation::Append)?,
            "list" => set(&mut operation, Operation::List)?,
            "update" => set(&mut operation, Operation::Update)?,
            "extract" | "get" => set(&mut operation, Operation::Extract)?,
            "file" => archives.push(value.to_owned()),
            "directory" => reading.folder = reading.folder.join(value),
            "files-from" => {
                has_list = true;
                reading.list(call, value)?;
            }
            "null" | "no-null" => reading.is_null = name == "null",
            "unquote" | "no-unquote" => reading.unquotes = name == "unquote",
            "verbatim-files-from" => reading.is_verbatim = true,
            "no-verbatim-files-from" => reading.is_verbatim = false,
            "exclude" => reading.exclude(value),
            "exclude-from" => {
                for line in content(call, value)?
                    .lines()
                    .filter(|line| !line.is_empty())
                {
                    reading.exclude(line);
                }
            }
            "exclude-backups" | "exclude-vcs" => {
                let backups = name == "exclude-backups";
                let list: &[&str] = if backups { &BACKUPS } else { &VERSION_CONTROL };
                let matching = Matching {
                    has_wildcards: backups,
                    is_anchored: false,
                    ignores_case: false,
                    slash: Slash::IsAny,
                    takes_contents: false,
                };
                reading.excluded.extend(list.iter().map(|text| Pattern {
                    text: (*text).to_owned(),
                    matching,
                }));
            }
            "exclude-caches" => settings.tags.push(tag("", Leaves::FolderAndTag)),
            "exclude-caches-under" => settings.tags.push(tag("", Leaves::Folder)),
            "exclude-caches-all" => settings.tags.push(tag("", Leaves::Nothing)),
            "exclude-tag" => settings.tags.push(tag(value, Leaves::FolderAndTag)),
            "exclude-tag-under" => settings.tags.push(tag(value, Leaves::Folder)),
            "exclude-tag-all" => settings.tags.push(tag(value, Leaves::Nothing)),
            "anchored" | "no-anchored" => reading.anchored = Some(name == "anchored"),
            "ignore-case" | "no-ignore-case" => reading.ignores_case = name == "ignore-case",
            "wildcards" | "no-wildcards" => reading.wildcards = Some(name == "wildcards"),
            "wildcards-match-slash" => reading.slash = Slash::IsAny,
            "no-wildcards-match-slash" => reading.slash = Slash::Separates,
            "recursion" | "no-recursion" => reading.takes_contents = name == "recursion",
            "strip-components" => {
                settings.strip = value
                    .parse()
                    .map_err(|_| misuse(format_args!("{value}: Invalid number of elements")))?;
            }
            "transform" | "xform" => {
                Transformation::read(value, &mut settings.transformations).map_err(misuse)?;
            }
            "one-top-level" => settings.top = Some(value.to_owned()),
            "occurrence" => {
                let number = if value.is_empty() {
                    Ok(1)
                } else {
                    value.parse()
                };
                settings.occurrence =
                    Some(number.map_err(|_| misuse(format_args!("{value}: Invalid number")))?);
            }
            "gzip" | "gunzip" | "ungzip" => codecs.push((Codec::Gzip, 6)),
            "bzip2" => codecs.push((Codec::Bzip2, 9)),
            "xz" => codecs.push((Codec::Xz, 6)),
            "use-compress-program" => codecs.push(program(value)?),
            "verbose" => settings.verbosity += 1,
            "warning" => settings.silent.extend(warning(value)?),
            "keep-old-files" => settings.existing = Existing::Keep,
            "skip-old-files" => settings.existing = Existing::Skip,
            "keep-newer-files" => settings.existing = Existing::KeepNewer,
            "overwrite" => settings.existing = Existing::Overwrite,
            "unlink-first" | "overwrite-dir" => settings.existing = Existing::Replace,
            "no-overwrite-dir" => settings.existing = Existing::KeepFolders,
            "owner" => settings.user = owner(value, &[("root", 0), (stat::USER, stat::USER_ID)]),
            "group" => settings.group = owner(value, &[("root", 0), (stat::USER, stat::USER_ID)]),
            "mode" => {
                let mode = Mode::parse(value);
                let invalid = || misuse("Invalid mode given on option");
                settings.mode = Some(mode.ok_or_else(invalid)?);
            }
            "mtime" => settings.modified = Some(moment(call, value, &settings.zone)?),
            "newer" | "after-date" | "newer-mtime" if settings.newer.is_some() => {
                return Err(misuse("More than one threshold date"));
            }
            "newer" | "after-date" | "newer-mtime" => {
                settings.newer = Some(moment(call, value, &settings.zone)?);
            }
            "sort" if !matches!(value, "none" | "name" | "inode") => {
                return Err(misuse(format_args!(
                    "invalid argument {} for {}\nValid arguments are:\n  - {}\n  - {}\n  - {}",
                    call.quoted(value),
                    call.quoted("--sort"),
                    call.quoted("none"),
                    call.quoted("name"),
                    call.quoted("inode"),
                )));
            }
            "format" => settings.format = format(value)?,
            "posix" => settings.format = Format::Pax,
            "old-archive" | "portability" => settings.format = Format::V7,
            "blocking-factor" => settings.record = record(value, 512)?,
            "record-size" => settings.record = record(value, 1)?,
            _ => {}
        }
    }
    let Some(operation) = operation else {
        return Err(misuse(
            "You must specify one of the '-Acdtrux', '--delete' or '--test-label' options",
        ));
    };
    if line.has("o") && operation == Operation::Create {
        settings.format = Format::V7;
    }
    if archives.len() > 1 {
        return Err(misuse("Multiple archive files require '-M' option"));
    }
    if let Some((first, _)) = codecs.first()
        && codecs.iter().any(|(codec, _)| codec != first)
    {
        return Err(misuse("Conflicting compression options"));
    }
    settings.archive = archives.pop().unwrap_or(settings.archive);
    if let Some((codec, level)) = codecs.pop() {
        (settings.codec, settings.level) = (Some(codec), level);
    } else if operation == Operation::Create && line.has("auto-compress") {
        settings.codec = of_suffix(&settings.archive)?;
        settings.level = if settings.codec == Some(Codec::Bzip2) {
            9
        } else {
            6
        };
    }
    settings.operation = operation;
    settings.has_names = !reading.names.is_empty() || has_list;
    if !settings.has_names && operation == Operation::Create {
        return Err(misuse("Cowardly refusing to create an empty archive"));
    }
    let changes = matches!(
        operation,
        Operation::Append | Operation::Concatenate | Operation::Update | Operation::Delete
    );
    if changes && settings.archive == "-" {
        if operation == Operation::Delete {
            return Err(Failure::usage(
                "--delete of standard input is not implemented here; name the archive with -f",
            ));
        }
        return Err(misuse("Options '-Aru' are incompatible with '-f -'"));
    }
    if changes && settings.codec.is_some() {
        return Err(misuse("Cannot update compressed archives"));
    }
    settings.folder = reading.folder;
    settings.excluded = reading.excluded;
    settings.line = line;
    Ok((settings, reading.names))
}

fn set(operation: &mut Option<Operation>, other: Operation) -> Result<(), Failure> {
    if operation.is_some_and(|operation| operation != other) {
        return Err(misuse(
            "You may not specify more than one '-Acdtrux', '--delete' or  '--test-label' option",
        ));
    }
    *operation = Some(other);
    Ok(())
}
