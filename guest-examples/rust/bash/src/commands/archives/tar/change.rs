//! `tar -r`, `-u`, `-A` and `--delete`: they change an archive that is there.

use std::collections::HashMap;
use std::io::{self, Write as _};
use std::time::Instant;

use super::create::{add_all, finish};
use super::reader::{Next, Reader, fatal};
use super::run::Run;
use super::settings::Operation;
use super::writer::Writer;
use crate::commands::archives::codec::Codec;
use crate::commands::call::Failure;
use crate::files::text_of;

/// The most bytes of an archive from which members are deleted.
const KEPT: usize = 64 << 20;

/// Adds files to the end; with `-u`, those that are newer than their members.
pub(super) fn append(run: &mut Run) -> Result<(), Failure> {
    let begin = Instant::now();
    let mut times = HashMap::new();
    let end = end(run, &mut times)?;
    if run.settings.operation != Operation::Update {
        times.clear();
    }
    let output = run.open_output(end)?;
    let mut writer = Writer::new(output, run.settings.format, run.settings.record, end);
    add_all(run, &mut writer, times)?;
    finish(run, writer, begin)
}

/// Opens the archive to change it; `None` if there is none.
fn open<'c>(run: &Run<'_, 'c>) -> Result<Option<Reader<'c>>, Failure> {
    let path = run.call.path(&run.settings.archive);
    let mut beginning = [0; 6];
    match run.call.files.reader(&path) {
        Ok(mut file) => {
            let length = io::Read::read(&mut file, &mut beginning).unwrap_or(0);
            let beginning = beginning.get(..length).unwrap_or_default();
            if !matches!(Codec::of(beginning), Ok(None)) {
                return Err(fatal("Cannot update compressed archives"));
            }
            // A new file, as of `mktemp`.
            if length == 0 {
                return Ok(None);
            }
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let adds = matches!(
                run.settings.operation,
                Operation::Append | Operation::Update | Operation::Concatenate
            );
            if adds {
                return Ok(None);
            }
        }
        Err(_) => {}
    }
    run.open().map(Some)
}

/// Returns where the members of the archive end, and the times of them.
fn end(run: &mut Run, times: &mut HashMap<String, i64>) -> Result<u64, Failure> {
    let Some(mut reader) = open(run)? else {
        return Ok(0);
    };
    loop {
        match reader.next()? {
            Next::Member(member) => {
                let name = String::from_utf8_lossy(&member.name).into_owned();
                times.insert(name, member.modified.seconds);
            }
            Next::Invalid => return Err(fatal("This does not look like a tar archive")),
            Next::Zeros | Next::End => return Ok(reader.block_at()),
        }
    }
}

/// Adds the members of other archives.
pub(super) fn concatenate(run: &mut Run) -> Result<(), Failure> {
    let begin = Instant::now();
    let end = end(run, &mut HashMap::new())?;
    let output = run.open_output(end)?;
    let mut writer = Writer::new(output, run.settings.format, run.settings.record, end);
    for name in std::mem::take(&mut run.names) {
        let shown = run.shown(name.pattern.text.as_bytes());
        let path = name.folder.join(&name.pattern.text);
        let path = run.call.path(&path.to_string_lossy());
        let cannot =
            |error: io::Error| fatal(format_args!("{shown}: Cannot open: {}", text_of(&error)));
        let file = run.call.files.reader(&path).map_err(cannot)?;
        let mut reader = Reader::new(file);
        while let Next::Member(_) = copy_next(&mut reader, |bytes| {
            let written = writer.content(bytes);
            written.map_err(|error| fatal(format_args!("Cannot write: {}", text_of(&error))))
        })? {}
    }
    finish(run, writer, begin)
}

/// Reads on; the blocks of a member go to a function.
fn copy_next(
    reader: &mut Reader,
    mut write: impl FnMut(&[u8]) -> Result<(), Failure>,
) -> Result<Next, Failure> {
    let next = reader.next()?;
    if let Next::Member(member) = &next {
        write(reader.raw())?;
        copy_content(reader, member.size, write)?;
    }
    Ok(next)
}

fn copy_content(
    reader: &mut Reader,
    size: u64,
    mut write: impl FnMut(&[u8]) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut buffer = [0; 4096];
    loop {
        let length = reader.read(&mut buffer)?;
        if length == 0 {
            break;
        }
        write(buffer.get(..length).unwrap_or_default())?;
    }
    let padding = usize::try_from(super::header::padding(size)).unwrap_or(0);
    write([0; super::header::BLOCK].get(..padding).unwrap_or_default())
}

/// Removes the members that are named.
pub(super) fn delete(run: &mut Run) -> Result<(), Failure> {
    let begin = Instant::now();
    let Some(mut reader) = open(run)? else {
        return Err(fatal(format_args!(
            "{}: This does not look like a tar archive",
            run.settings.archive
        )));
    };
    let mut kept = Vec::new();
    let mut keep = |bytes: &[u8]| {
        if kept.len() + bytes.len() > KEPT {
            return Err(fatal(
                "members of an archive over 64 MiB cannot be deleted here",
            ));
        }
        kept.extend_from_slice(bytes);
        Ok(())
    };
    loop {
        match reader.next()? {
            Next::Member(member) => {
                let name = String::from_utf8_lossy(&member.name).into_owned();
                if run.settings.has_names && run.matching_name(&name).is_some() {
                    continue;
                }
                keep(reader.raw())?;
                copy_content(&mut reader, member.size, &mut keep)?;
            }
            Next::Invalid => return Err(fatal("This does not look like a tar archive")),
            Next::Zeros | Next::End => break,
        }
    }
    let mut output = run.open_output(0)?;
    let written = output.write_all(&kept);
    written.map_err(|error| fatal(format_args!("Cannot write: {}", text_of(&error))))?;
    let (format, record) = (run.settings.format, run.settings.record);
    let writer = Writer::new(output, format, record, kept.len() as u64);
    finish(run, writer, begin)?;
    run.report_missing();
    Ok(())
}
