//! `tar -c`: files and folders become members. `-r` and `-u` add them with this, too.

use std::collections::HashMap;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::time::Instant;

use bashkit::{FileType, Metadata};

use super::header::BLOCK;
use super::member::{Format, Member};
use super::names::{Of, transformed};
use super::reader::fatal;
use super::run::Run;
use super::select::{CACHE, Leaves};
use super::settings::{Owner, Settings};
use super::stream::Output;
use super::writer::{Refusal, Writer};
use crate::commands::call::Failure;
use crate::commands::dates::Moment;
use crate::commands::on_files::stat;
use crate::files::text_of;

/// Device and number of a file: the same for its hard links.
type Identity = (u64, u64);

/// Files and folders on their way into an archive.
pub(super) struct Adding<'w> {
    writer: &'w mut Writer<Output>,
    /// The archive itself, which is not a member.
    archive: Option<Identity>,
    /// The members of files that have hard links.
    links: HashMap<Identity, Vec<u8>>,
    /// Times of the members that are there: files that are not newer are left out.
    times: HashMap<String, i64>,
    /// What goes once the archive is whole, and whether it is a folder.
    removed: Vec<(String, PathBuf, bool)>,
}

/// Makes an archive.
pub(super) fn create(run: &mut Run) -> Result<(), Failure> {
    let begin = Instant::now();
    run.to_stderr = run.settings.archive == "-";
    let output = run.open_output(0)?;
    let mut writer = Writer::new(output, run.settings.format, run.settings.record, 0);
    add_all(run, &mut writer, HashMap::new())?;
    finish(run, writer, begin)
}

/// Ends an archive.
pub(super) fn finish(
    run: &mut Run,
    mut writer: Writer<Output>,
    begin: Instant,
) -> Result<(), Failure> {
    writer.finish().map_err(|error| broken(run, &error))?;
    let written = writer.written();
    run.close_output(writer.into_inner())?;
    run.report_total("written", written, begin);
    Ok(())
}

fn broken(run: &Run, error: &io::Error) -> Failure {
    fatal(format_args!(
        "{}: Cannot write: {}",
        run.settings.archive,
        text_of(error)
    ))
}

/// Adds all that is named.
pub(super) fn add_all(
    run: &mut Run,
    writer: &mut Writer<Output>,
    times: HashMap<String, i64>,
) -> Result<(), Failure> {
    let archive = run.call.path(&run.settings.archive);
    let archive = run.call.files.target(&archive);
    let archive = archive.and_then(|path| run.call.files.status(&path)).ok();
    let mut adding = Adding {
        writer,
        archive: archive.map(|status| (status.device, status.inode)),
        links: HashMap::new(),
        times,
        removed: Vec::new(),
    };
    for name in std::mem::take(&mut run.names) {
        let folder = name.folder;
        if folder != run.call.cwd {
            let is_folder = run.call.is_folder(&folder.to_string_lossy());
            if !is_folder {
                return Err(missing_folder(run, &folder));
            }
        }
        let text = name.pattern.text;
        if !run.is_excluded(&text) {
            adding.add(run, &folder, &text)?;
        }
    }
    let removed = adding.removed;
    for (name, path, is_folder) in removed.into_iter().rev() {
        let result = if is_folder {
            run.call.files.remove_folder(&path)
        } else {
            run.call.files.remove_file(&path)
        };
        if let Err(error) = result {
            let verb = if is_folder { "rmdir" } else { "unlink" };
            run.error(format_args!("{name}: Cannot {verb}: {}", text_of(&error)));
        }
    }
    Ok(())
}

/// Why a folder of `-C` cannot be used.
pub(super) fn missing_folder(run: &Run, folder: &Path) -> Failure {
    let shown = folder.strip_prefix(run.call.cwd).unwrap_or(folder);
    let why = match run.call.files.target_metadata(folder) {
        Ok(_) => "Not a directory".to_owned(),
        Err(error) => text_of(&error),
    };
    fatal(format_args!("{}: Cannot open: {why}", shown.display()))
}

impl Adding<'_> {
    /// Adds what has a name, and what is in it.
    fn add(&mut self, run: &mut Run, folder: &Path, name: &str) -> Result<(), Failure> {
        let settings = run.settings;
        if name.is_empty() {
            run.error(": Cannot stat: No such file or directory");
            return Ok(());
        }
        let path = run.call.path(&folder.join(name).to_string_lossy());
        let metadata = if settings.has("dereference") {
            run.call.files.target_metadata(&path)
        } else {
            run.call.files.metadata(&path)
        };
        let metadata = match metadata {
            Ok(metadata) => metadata,
            Err(error) => {
                let name = run.shown(name.as_bytes());
                run.error(format_args!("{name}: Cannot stat: {}", text_of(&error)));
                return Ok(());
            }
        };
        if metadata.file_type.is_dir() {
            return self.add_folder(run, folder, name, &path, &metadata);
        }
        let shown = run.shown(name.as_bytes());
        let status = run.call.files.status(&path).ok();
        if settings.newer.is_some_and(|newer| {
            let is_old =
                |moment: Moment| (moment.seconds, moment.nanos) < (newer.seconds, newer.nanos);
            let by_change = status.as_ref().map(|status| status.changed.into());
            let by_change = by_change.filter(|_| !settings.has("newer-mtime"));
            is_old(metadata.modified.into()) && by_change.is_none_or(is_old)
        }) {
            if settings.verbosity > 0 {
                run.warn(
                    "file-unchanged",
                    format!("{shown}: file is unchanged; not dumped"),
                );
            }
            return Ok(());
        }
        let seconds = Moment::from(metadata.modified).seconds;
        if self.times.get(name).is_some_and(|time| seconds <= *time) {
            return Ok(());
        }
        let identity = status.as_ref().map(|status| (status.device, status.inode));
        if identity.is_some() && identity == self.archive {
            run.warn(
                "ignore-archive",
                format!("{shown}: file is the archive; not dumped"),
            );
            return Ok(());
        }
        let mut member = self.member(run, name, &metadata)?;
        let has_links = status.is_some_and(|status| status.links > 1);
        let has_links = has_links && !settings.has("hard-dereference");
        let first = identity
            .filter(|_| has_links)
            .and_then(|identity| self.links.get(&identity));
        if metadata.file_type.is_symlink() {
            let target = run.call.files.read_link(&path);
            let target = match target {
                Ok(target) => target.to_string_lossy().into_owned(),
                Err(error) => {
                    run.error(format_args!(
                        "{shown}: Cannot readlink: {}",
                        text_of(&error)
                    ));
                    return Ok(());
                }
            };
            let target = target.as_bytes();
            let target = transformed(&settings.transformations, target, Of::SymbolicLink);
            (member.kind, member.size) = (b'2', 0);
            member.link = target.map_err(fatal)?;
        } else if let Some(first) = first {
            (member.kind, member.size) = (b'1', 0);
            member.link = first.clone();
        } else {
            member.size = metadata.size;
            if let Some(identity) = identity.filter(|_| has_links) {
                self.links.insert(identity, member.name.clone());
            }
            if !self.add_content(run, name, &path, &member)? {
                return Ok(());
            }
            self.note_removal(run, name, path, false);
            return Ok(());
        }
        if self.write(run, name, &member)? {
            self.note_removal(run, name, path, false);
        }
        Ok(())
    }

    fn note_removal(&mut self, run: &Run, name: &str, path: PathBuf, is_folder: bool) {
        if run.settings.has("remove-files") {
            self.removed.push((name.to_owned(), path, is_folder));
        }
    }

    /// Writes the headers of a member, and the line of `-v`. Returns whether it fits into the format.
    fn write(&mut self, run: &mut Run, name: &str, member: &Member) -> Result<bool, Failure> {
        let block = self.writer.written() / BLOCK as u64;
        match self.writer.member(member) {
            Ok(()) => {}
            Err(Refusal::Io(error)) => return Err(broken(run, &error)),
            Err(Refusal::Unfit(why)) => {
                let name = run.shown(&member.name);
                run.error(format_args!("{name}: {why}"));
                return Ok(false);
            }
        }
        let mut shown = name.as_bytes().to_vec();
        if run
            .settings
            .is_on("show-transformed-names", "show-stored-names")
        {
            shown.clone_from(&member.name);
        } else if member.kind == b'5' && !shown.ends_with(b"/") {
            shown.push(b'/');
        }
        run.print_member(member, &shown, run.settings.verbosity, Some(block))?;
        Ok(true)
    }

    /// Adds a file with its content. Returns whether it could be read.
    fn add_content(
        &mut self,
        run: &mut Run,
        name: &str,
        path: &Path,
        member: &Member,
    ) -> Result<bool, Failure> {
        let target = run.call.files.target(path);
        let reader = target.and_then(|path| run.call.files.reader(&path));
        let mut reader = match reader {
            Ok(reader) => reader.take(member.size),
            Err(error) => {
                let text = format!(
                    "{}: Cannot open: {}",
                    run.shown(name.as_bytes()),
                    text_of(&error)
                );
                if run.settings.has("ignore-failed-read") {
                    run.warn("failed-read", text);
                } else {
                    run.error(text);
                }
                return Ok(false);
            }
        };
        if !self.write(run, name, member)? {
            return Ok(false);
        }
        let mut buffer = vec![0; usize::try_from(member.size).unwrap_or(0).clamp(1, 1 << 16)];
        let mut left = member.size;
        while left > 0 {
            let length = match reader.read(&mut buffer) {
                Ok(length) => length,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => {
                    let name = run.shown(name.as_bytes());
                    run.error(format_args!("{name}: Read error: {}", text_of(&error)));
                    0
                }
            };
            if length == 0 {
                let name = run.shown(name.as_bytes());
                run.warn(
                    "file-shrank",
                    format!("{name}: File shrank by {left} bytes; padding with zeros"),
                );
                run.exit_code = run.exit_code.max(1);
                self.writer
                    .zeros(left)
                    .map_err(|error| broken(run, &error))?;
                break;
            }
            let read = buffer.get(..length).unwrap_or_default();
            self.writer
                .content(read)
                .map_err(|error| broken(run, &error))?;
            left -= length as u64;
        }
        self.writer
            .pad(member.size)
            .map_err(|error| broken(run, &error))?;
        Ok(true)
    }

    fn add_folder(
        &mut self,
        run: &mut Run,
        folder: &Path,
        name: &str,
        path: &Path,
        metadata: &Metadata,
    ) -> Result<(), Failure> {
        let with_slash = if name.ends_with('/') {
            name.to_owned()
        } else {
            format!("{name}/")
        };
        let tag = self.tag(run, path);
        if let Some((file, leaves)) = &tag {
            let what = match leaves {
                Leaves::FolderAndTag | Leaves::Folder => "contents not dumped",
                Leaves::Nothing => "directory not dumped",
            };
            let shown = run.shown(with_slash.as_bytes());
            if run.settings.verbosity > 0 {
                run.warn(
                    "cachedir",
                    format!("{shown}: contains a cache directory tag {file}; {what}"),
                );
            }
            if *leaves == Leaves::Nothing {
                return Ok(());
            }
        }
        let is_there = self.times.contains_key(&with_slash);
        if !is_there {
            let mut member = self.member(run, &with_slash, metadata)?;
            member.kind = b'5';
            if !self.write(run, &with_slash, &member)? {
                return Ok(());
            }
        }
        self.note_removal(run, name, path.to_owned(), true);
        if let Some((file, leaves)) = tag {
            if leaves == Leaves::FolderAndTag {
                self.add(run, folder, &format!("{with_slash}{file}"))?;
            }
            return Ok(());
        }
        if run.settings.has("no-recursion") && run.settings.is_on("no-recursion", "recursion") {
            return Ok(());
        }
        let target = run.call.files.target(path);
        let entries = match target.and_then(|path| run.call.files.names(&path)) {
            Ok(entries) => entries,
            Err(error) => {
                let name = run.shown(name.as_bytes());
                run.error(format_args!("{name}: Cannot open: {}", text_of(&error)));
                return Ok(());
            }
        };
        for (entry, _) in entries {
            let inner = format!("{with_slash}{entry}");
            if !run.is_excluded(&inner) {
                self.add(run, folder, &inner)?;
            }
        }
        Ok(())
    }

    /// The file in a folder that marks it, and what is left out then.
    fn tag(&self, run: &Run, path: &Path) -> Option<(String, Leaves)> {
        let files = run.call.files;
        run.settings.tags.iter().find_map(|tag| {
            if tag.file.is_empty() {
                let file = "CACHEDIR.TAG";
                let mut begin = Vec::new();
                let reader = files.reader(&path.join(file)).ok()?;
                reader
                    .take(CACHE.len() as u64)
                    .read_to_end(&mut begin)
                    .ok()?;
                return (begin == CACHE).then(|| (file.to_owned(), tag.leaves));
            }
            files.metadata(&path.join(&tag.file)).ok()?;
            Some((tag.file.clone(), tag.leaves))
        })
    }

    /// A member with what the options set in place of what a file has.
    fn member(&self, run: &mut Run, name: &str, metadata: &Metadata) -> Result<Member, Failure> {
        let settings = run.settings;
        let safe = run.safe(name.as_bytes(), Of::Member);
        let mut stored =
            transformed(&settings.transformations, &safe, Of::Member).map_err(fatal)?;
        if metadata.file_type.is_dir() && !stored.ends_with(b"/") {
            stored.push(b'/');
        }
        let modified = Moment::from(metadata.modified);
        let mut member = Member {
            name: stored,
            link: Vec::new(),
            kind: b'0',
            mode: metadata.mode & 0o7777,
            user_id: i64::from(stat::USER_ID),
            group_id: i64::from(stat::USER_ID),
            user: stat::USER.as_bytes().to_vec(),
            group: stat::USER.as_bytes().to_vec(),
            size: 0,
            modified: moment_of(settings, modified),
            device: (0, 0),
            format: settings.format,
            is_sparse: false,
        };
        own(&settings.user, &mut member.user_id, &mut member.user);
        own(&settings.group, &mut member.group_id, &mut member.group);
        if settings.has("numeric-owner") || settings.format == Format::V7 {
            member.user.clear();
            member.group.clear();
        }
        if let Some(mode) = &settings.mode
            && metadata.file_type != FileType::Symlink
        {
            member.mode = mode.apply(
                member.mode,
                metadata.file_type.is_dir(),
                run.call.files.umask(),
            );
        }
        Ok(member)
    }
}

fn moment_of(settings: &Settings, modified: Moment) -> Moment {
    let order = |moment: &Moment| (moment.seconds, moment.nanos);
    match settings.modified {
        Some(limit) if settings.has("clamp-mtime") && order(&modified) <= order(&limit) => modified,
        Some(set) => set,
        None => modified,
    }
}

fn own(owner: &Owner, id: &mut i64, name: &mut Vec<u8>) {
    *id = owner.id.unwrap_or(*id);
    if let Some(set) = &owner.name {
        *name = set.as_bytes().to_vec();
    }
}
