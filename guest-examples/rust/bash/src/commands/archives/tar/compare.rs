//! `tar -d`: how files differ from the members.

use std::io::Read as _;
use std::path::Path;

use bashkit::Metadata;

use super::member::Member;
use super::names::Of;
use super::reader::Reader;
use super::run::Run;
use crate::commands::call::Failure;
use crate::commands::dates::Moment;
use crate::commands::on_files::stat;
use crate::files::text_of;

/// Compares the members that are meant with the files.
pub(super) fn compare(run: &mut Run) -> Result<(), Failure> {
    let mut reader = run.open()?;
    let folders: Vec<_> = run.names.iter().map(|name| name.folder.clone()).collect();
    run.read_members(&mut reader, |run, reader, member, index| {
        run.print_member(&member, &member.name, run.settings.verbosity, None)?;
        let folder = index.and_then(|index| folders.get(index));
        let folder = folder.unwrap_or(&run.settings.folder).clone();
        compare_member(run, reader, &member, &folder)
    })?;
    run.report_missing();
    Ok(())
}

fn compare_member(
    run: &mut Run,
    reader: &mut Reader,
    member: &Member,
    folder: &Path,
) -> Result<(), Failure> {
    let name = run.target_name(&member.name, Of::Member)?;
    let shown = run.shown(&name);
    let path = folder.join(String::from_utf8_lossy(&name).into_owned());
    let path = run.call.path(&path.to_string_lossy());
    let metadata = match run.call.files.metadata(&path) {
        Ok(metadata) => metadata,
        Err(error) => {
            run.call.complain(format_args!(
                "{shown}: Warning: Cannot stat: {}",
                text_of(&error)
            ));
            run.exit_code = run.exit_code.max(1);
            return Ok(());
        }
    };
    let kind = metadata.file_type;
    let is_same_kind = match member.kind {
        b'5' | b'D' => kind.is_dir(),
        b'2' => kind.is_symlink(),
        b'1' => true,
        _ => kind.is_file(),
    };
    if !is_same_kind {
        return differs(run, &shown, "File type differs");
    }
    match member.kind {
        b'1' => compare_link(run, member, folder, &path, &shown),
        b'2' => {
            let target = run.call.files.read_link(&path).unwrap_or_default();
            if target.to_string_lossy().as_bytes() != &*member.link {
                return differs(run, &shown, "Symlink differs");
            }
            Ok(())
        }
        b'5' | b'D' => compare_mode(run, member, &metadata, &shown),
        _ => compare_file(run, reader, member, &metadata, &path, &shown),
    }
}

fn differs(run: &mut Run, shown: &str, what: &str) -> Result<(), Failure> {
    run.exit_code = run.exit_code.max(1);
    run.print(&format!("{shown}: {what}"))
}

/// A copy of the target stands for a hard link.
fn compare_link(
    run: &mut Run,
    member: &Member,
    folder: &Path,
    path: &Path,
    shown: &str,
) -> Result<(), Failure> {
    let link = run.target_name(&member.link, Of::HardLink)?;
    let link = String::from_utf8_lossy(&link).into_owned();
    let target = run.call.path(&folder.join(&link).to_string_lossy());
    let files = run.call.files;
    let status = |path: &Path| {
        files
            .status(path)
            .map(|status| (status.device, status.inode))
    };
    let is_link = matches!((status(path), status(&target)), (Ok(one), Ok(other)) if one == other);
    let is_copy =
        || matches!((files.read(path), files.read(&target)), (Ok(one), Ok(other)) if one == other);
    if is_link || is_copy() {
        return Ok(());
    }
    differs(
        run,
        shown,
        &format!("Not linked to {}", run.shown(link.as_bytes())),
    )
}

fn compare_mode(
    run: &mut Run,
    member: &Member,
    metadata: &Metadata,
    shown: &str,
) -> Result<(), Failure> {
    if member.mode & 0o7777 != metadata.mode & 0o7777 {
        differs(run, shown, "Mode differs")?;
    }
    Ok(())
}

fn compare_file(
    run: &mut Run,
    reader: &mut Reader,
    member: &Member,
    metadata: &Metadata,
    path: &Path,
    shown: &str,
) -> Result<(), Failure> {
    compare_mode(run, member, metadata, shown)?;
    if member.user_id != i64::from(stat::USER_ID) {
        differs(run, shown, "Uid differs")?;
    }
    if member.group_id != i64::from(stat::USER_ID) {
        differs(run, shown, "Gid differs")?;
    }
    let modified = Moment::from(metadata.modified);
    let is_same_nanos = !member.has_nanos() || member.modified.nanos == modified.nanos;
    if member.modified.seconds != modified.seconds || !is_same_nanos {
        differs(run, shown, "Mod time differs")?;
    }
    if member.size != metadata.size {
        return differs(run, shown, "Size differs");
    }
    let mut file = match run.call.files.reader(path) {
        Ok(file) => file,
        Err(error) => {
            run.error(format_args!("{shown}: Cannot open: {}", text_of(&error)));
            return Ok(());
        }
    };
    let (mut archived, mut current) = ([0; 4096], [0; 4096]);
    loop {
        let length = reader.read(&mut archived)?;
        if length == 0 {
            return Ok(());
        }
        let current = current.get_mut(..length).unwrap_or_default();
        let is_read = file.read_exact(current).is_ok();
        if !is_read || archived.get(..length) != Some(&*current) {
            return differs(run, shown, "Contents differ");
        }
    }
}
