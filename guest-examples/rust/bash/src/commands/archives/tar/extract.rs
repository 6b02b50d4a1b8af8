//! `tar -x`: members become files.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::Instant;

use bashkit::Metadata;

use super::create::missing_folder;
use super::member::Member;
use super::names::{Of, has_parent};
use super::reader::{Reader, fatal};
use super::run::{OUTPUT, Run};
use super::settings::Existing;
use crate::commands::call::Failure;
use crate::commands::dates::Moment;
use crate::files::text_of;

/// What waits until all members are there.
#[derive(Default)]
struct Later {
    /// Folders get their modes and times last: what comes into them changes these.
    folders: Vec<(PathBuf, Member)>,
    /// A link that leads out of its folder is an empty file until then, so that no member goes through it.
    links: Vec<(PathBuf, PathBuf)>,
}

/// What is to be done about what is in a member's place.
enum Place {
    Free,
    /// The file is written anew where it is.
    Overwrite,
    /// The member is not extracted.
    Taken,
}

/// Extracts the members that are meant.
pub(super) fn extract(run: &mut Run) -> Result<(), Failure> {
    let begin = Instant::now();
    run.to_stderr = run.settings.has("to-stdout");
    let mut reader = run.open()?;
    let folders: Vec<PathBuf> = run.names.iter().map(|name| name.folder.clone()).collect();
    let last = std::iter::once(&run.settings.folder);
    for folder in folders.iter().chain(last) {
        if folder != run.call.cwd && !run.call.is_folder(&folder.to_string_lossy()) {
            return Err(missing_folder(run, folder));
        }
    }
    let mut later = Later::default();
    let read = run.read_members(&mut reader, |run, reader, member, index| {
        let folder = index.and_then(|index| folders.get(index));
        let folder = folder.unwrap_or(&run.settings.folder).clone();
        extract_member(run, reader, *member, &folder, &mut later)
    });
    finish(run, later);
    read?;
    run.report_missing();
    let read = reader.position().next_multiple_of(run.settings.record);
    run.report_total("read", read, begin);
    Ok(())
}

fn extract_member(
    run: &mut Run,
    reader: &mut Reader,
    mut member: Member,
    folder: &Path,
    later: &mut Later,
) -> Result<(), Failure> {
    let original = member.name.clone();
    let mut name = run.target_name(&original, Of::Member)?;
    if has_parent(&original) && !run.settings.has("absolute-names") {
        let name = run.shown(&original);
        run.error(format_args!("{name}: Member name contains '..'"));
        return Ok(());
    }
    let of_link = match member.kind {
        b'1' => Of::HardLink,
        _ => Of::SymbolicLink,
    };
    if matches!(member.kind, b'1' | b'2') {
        member.link = run.target_name(&member.link.clone(), of_link)?;
    }
    if name.is_empty() {
        return Ok(());
    }
    if let Some(top) = top(run) {
        let top = top?;
        name = beneath(&top, &name);
        if member.kind == b'1' {
            member.link = beneath(&top, &member.link);
        }
    }
    let shown = if run
        .settings
        .is_on("show-transformed-names", "show-stored-names")
    {
        &name
    } else {
        &original
    };
    run.print_member(&member, shown, run.settings.verbosity, None)?;
    if member.is_sparse {
        let name = run.shown(&name);
        run.error(format_args!(
            "{name}: sparse files are not implemented here"
        ));
        return Ok(());
    }
    if run.settings.has("to-stdout") {
        return match member.kind {
            b'1' | b'2' | b'3' | b'4' | b'5' | b'6' => Ok(()),
            _ => to_output(run, reader),
        };
    }
    let shown = run.shown(&name);
    let Ok(name) = std::str::from_utf8(&name) else {
        run.error(format_args!(
            "{shown}: Cannot open: Invalid or incomplete multibyte or wide character"
        ));
        return Ok(());
    };
    let path = run.call.path(&folder.join(name).to_string_lossy());
    match member.kind {
        b'5' | b'D' => make_folder(run, path, member, &shown, later),
        b'1' => copy_link(run, &path, folder, &member, &shown, later),
        b'2' => link(run, path, &member, &shown, later),
        b'3' | b'4' => run.error(format_args!(
            "{shown}: Cannot mknod: Operation not permitted"
        )),
        b'6' => run.error(format_args!(
            "{shown}: Cannot mkfifo: Operation not permitted"
        )),
        kind => {
            if kind != b'0' {
                let kind = run.call.quoted(&char::from(kind).to_string());
                run.warn(
                    "unknown-cast",
                    format!("{shown}: Unknown file type {kind}, extracted as normal file"),
                );
            }
            write_file(run, reader, &path, &member, &shown)?;
        }
    }
    Ok(())
}

/// The folder of `--one-top-level`: by default the name of the archive without its suffixes.
fn top(run: &Run) -> Option<Result<String, Failure>> {
    let top = run.settings.top.as_ref()?;
    if !top.is_empty() {
        return Some(Ok(top.clone()));
    }
    let archive = &run.settings.archive;
    let base = archive.rsplit('/').next().unwrap_or(archive);
    let stem = [
        ".tar.gz", ".tar.bz2", ".tar.xz", ".tgz", ".tbz", ".tbz2", ".txz", ".tar",
    ]
    .iter()
    .find_map(|suffix| base.strip_suffix(suffix));
    Some(match stem {
        Some(stem) if !stem.is_empty() => Ok(stem.to_owned()),
        _ => Err(Failure::usage(
            "Cannot deduce top-level directory name; please set it explicitly with --one-top-level=DIR",
        )),
    })
}

fn beneath(top: &str, name: &[u8]) -> Vec<u8> {
    let name = name.strip_prefix(b"./").unwrap_or(name);
    let is_there = name
        .strip_prefix(top.as_bytes())
        .is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"));
    match name {
        name if is_there => name.to_vec(),
        b"." | b"" => top.as_bytes().to_vec(),
        name => [top.as_bytes(), b"/", name].concat(),
    }
}

fn to_output(run: &mut Run, reader: &mut Reader) -> Result<(), Failure> {
    let mut buffer = [0; 4096];
    loop {
        let length = reader.read(&mut buffer)?;
        if length == 0 {
            return Ok(());
        }
        if run.call.out.len() + length > OUTPUT {
            return Err(fatal("the output is larger than 16 MiB"));
        }
        run.call.print(buffer.get(..length).unwrap_or_default());
    }
}

/// Does something in a folder, which is made if that fails because there is none.
fn within<T>(run: &Run, path: &Path, mut act: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    match act() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            make_parents(run, path)?;
            act()
        }
        result => result,
    }
}

fn make_parents(run: &Run, path: &Path) -> io::Result<()> {
    let Some(parent) = path.parent() else {
        return Ok(());
    };
    if run.call.files.target_metadata(parent).is_ok() {
        return Ok(());
    }
    make_parents(run, parent)?;
    run.call.files.make_folder(parent)
}

fn make_folder(run: &mut Run, path: PathBuf, member: Member, shown: &str, later: &mut Later) {
    let existing = run.settings.existing;
    match run.call.files.metadata(&path) {
        Ok(metadata) if metadata.file_type.is_dir() => {
            if run.settings.has("unlink-first")
                && let Err(error) = run.call.files.remove_folder(&path)
            {
                run.error(format_args!("{shown}: Cannot unlink: {}", text_of(&error)));
                return;
            }
            if run.settings.has("unlink-first") {
                let _ = run.call.files.make_folder(&path);
            }
            match existing {
                Existing::Replace | Existing::Overwrite => later.folders.push((path, member)),
                Existing::KeepFolders => {
                    let (mode, modified) = (metadata.mode, metadata.modified.into());
                    let member = Member {
                        mode,
                        modified,
                        ..member
                    };
                    later.folders.push((path, member));
                }
                Existing::Keep | Existing::Skip | Existing::KeepNewer => {}
            }
            return;
        }
        Ok(_)
            if run.settings.has("keep-directory-symlink")
                && run.call.is_folder(&path.to_string_lossy()) =>
        {
            return;
        }
        Ok(_) if matches!(existing, Existing::Keep | Existing::Skip) => {
            if existing == Existing::Keep {
                run.error(format_args!("{shown}: Cannot mkdir: File exists"));
            }
            return;
        }
        Ok(_) => {
            if let Err(error) = run.call.files.remove_file(&path) {
                run.error(format_args!("{shown}: Cannot unlink: {}", text_of(&error)));
                return;
            }
        }
        Err(_) => {}
    }
    match within(run, &path, || run.call.files.make_folder(&path)) {
        Ok(()) => later.folders.push((path, member)),
        Err(error) => run.error(format_args!("{shown}: Cannot mkdir: {}", text_of(&error))),
    }
}

/// Looks at what is in a member's place, and removes it if the member replaces it.
fn place(run: &mut Run, path: &Path, member: &Member, shown: &str, verb: &str) -> Place {
    let Ok(metadata) = run.call.files.metadata(path) else {
        return Place::Free;
    };
    match run.settings.existing {
        Existing::Keep => {
            run.error(format_args!("{shown}: Cannot {verb}: File exists"));
            return Place::Taken;
        }
        Existing::Skip => return Place::Taken,
        Existing::KeepNewer if !is_older(&metadata, member) => {
            let name = run.call.quoted(shown);
            run.warn(
                "ignore-newer",
                format!("Current {name} is newer or same age"),
            );
            return Place::Taken;
        }
        Existing::Overwrite if metadata.file_type.is_file() && member.kind == b'0' => {
            return Place::Overwrite;
        }
        _ => {}
    }
    let removed = if metadata.file_type.is_dir() {
        // Only if it is empty.
        run.call.files.remove_folder(path)
    } else {
        run.call.files.remove_file(path)
    };
    if removed.is_err() {
        run.error(format_args!("{shown}: Cannot {verb}: File exists"));
        return Place::Taken;
    }
    Place::Free
}

fn is_older(metadata: &Metadata, member: &Member) -> bool {
    Moment::from(metadata.modified).seconds < member.modified.seconds
}

fn write_file(
    run: &mut Run,
    reader: &mut Reader,
    path: &Path,
    member: &Member,
    shown: &str,
) -> Result<(), Failure> {
    if let Place::Taken = place(run, path, member, shown, "open") {
        return Ok(());
    }
    let opened = within(run, path, || run.call.files.writer(path, 0));
    let mut file = match opened {
        Ok(file) => file,
        Err(error) => {
            run.error(format_args!("{shown}: Cannot open: {}", text_of(&error)));
            return Ok(());
        }
    };
    let mut buffer = vec![
        0;
        usize::try_from(member.size)
            .unwrap_or(usize::MAX)
            .clamp(1, 1 << 16)
    ];
    let mut memory = Vec::new();
    loop {
        let length = reader.read(&mut buffer)?;
        if length == 0 {
            break;
        }
        let bytes = buffer.get(..length).unwrap_or_default();
        let written = match &mut file {
            Some(file) => file.write_all(bytes),
            None if memory.len() + length > OUTPUT => {
                Err(io::Error::other("a file in memory is larger than 16 MiB"))
            }
            None => {
                memory.extend_from_slice(bytes);
                Ok(())
            }
        };
        if let Err(error) = written {
            run.error(format_args!("{shown}: Cannot write: {}", text_of(&error)));
            return Ok(());
        }
    }
    if file.is_none() {
        let written = within(run, path, || run.call.files.write(path, &memory));
        if let Err(error) = written {
            run.error(format_args!("{shown}: Cannot write: {}", text_of(&error)));
            return Ok(());
        }
    }
    drop(file);
    set_attributes(run, path, member);
    Ok(())
}

/// Sets mode and time. A host that has no modes, and a transaction on a folder, leave what is there.
fn set_attributes(run: &Run, path: &Path, member: &Member) {
    let settings = run.settings;
    let keeps = ["preserve-permissions", "same-permissions"];
    let keeps = keeps.iter().any(|name| settings.has(name));
    let mask = if keeps {
        0o777
    } else {
        0o777 & !run.call.files.umask()
    };
    let _ = run.call.files.set_mode(path, member.mode & mask);
    if !settings.has("touch") {
        let _ = run.call.files.set_modified(path, member.modified.into());
    }
}

/// Copies the member that a hard link leads to: the host makes no hard links.
fn copy_link(
    run: &mut Run,
    path: &Path,
    folder: &Path,
    member: &Member,
    shown: &str,
    later: &mut Later,
) {
    let target = String::from_utf8_lossy(&member.link).into_owned();
    let from = run.call.path(&folder.join(&target).to_string_lossy());
    let cannot = format!("Cannot hard link to {}", run.call.quoted(&target));
    let found = match run.call.files.metadata(&from) {
        Ok(found) => found,
        Err(error) => {
            run.error(format_args!("{shown}: {cannot}: {}", text_of(&error)));
            return;
        }
    };
    if from == path {
        return;
    }
    let verb = format!("hard link to {}", run.call.quoted(&target));
    if let Place::Taken = place(run, path, member, shown, &verb) {
        return;
    }
    let late = later.links.iter().find(|(link, _)| *link == from);
    let late = late.map(|(_, target)| target.clone());
    let copied = within(run, path, || {
        if found.file_type.is_symlink() {
            let target = run.call.files.read_link(&from)?;
            return run.call.files.symlink(&target, path);
        }
        run.call.files.copy(&from, path)?;
        // As in `set_attributes`.
        let _ = run.call.files.set_mode(path, found.mode & 0o777);
        let _ = run.call.files.set_modified(path, found.modified);
        Ok(())
    });
    if let Err(error) = copied {
        run.error(format_args!("{shown}: {cannot}: {}", text_of(&error)));
    } else if let Some(target) = late {
        later.links.push((path.to_owned(), target));
    }
}

fn link(run: &mut Run, path: PathBuf, member: &Member, shown: &str, later: &mut Later) {
    let text = String::from_utf8_lossy(&member.link).into_owned();
    let target = PathBuf::from(&text);
    let verb = format!("create symlink to {}", run.call.quoted(&text));
    if let Place::Taken = place(run, &path, member, shown, &verb) {
        return;
    }
    let leads_out = target.is_absolute() || has_parent(&member.link);
    let made = within(run, &path, || {
        if leads_out {
            run.call.files.write(&path, b"")
        } else {
            run.call.files.symlink(&target, &path)
        }
    });
    match made {
        Ok(()) if leads_out => later.links.push((path, target)),
        Ok(()) => {}
        Err(error) => run.error(format_args!("{shown}: Cannot {verb}: {}", text_of(&error))),
    }
}

/// Does what waits until all members are there.
fn finish(run: &mut Run, later: Later) {
    for (path, target) in later.links {
        let metadata = run.call.files.metadata(&path);
        // A later member of the name has replaced it.
        if !metadata.is_ok_and(|metadata| metadata.file_type.is_file() && metadata.size == 0) {
            continue;
        }
        let made = run.call.files.remove_file(&path);
        let made = made.and_then(|()| run.call.files.symlink(&target, &path));
        if let Err(error) = made {
            let shown = path.strip_prefix(run.call.cwd).unwrap_or(&path);
            let shown = run.shown(shown.to_string_lossy().as_bytes());
            let target = run.call.quoted(&target.to_string_lossy());
            run.error(format_args!(
                "{shown}: Cannot create symlink to {target}: {}",
                text_of(&error)
            ));
        }
    }
    for (path, member) in later.folders.into_iter().rev() {
        set_attributes(run, &path, &member);
    }
}
