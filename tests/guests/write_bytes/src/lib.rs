//! Writes bytes to a file in one of several ways.
//!
//! Input `{path?, bytes, mode?, chunk?}`; `path` defaults to `/f`, `chunk` to 65536 bytes. Modes:
//! `write` (default) replaces the file, `append` adds to it, `set_size` makes it `bytes` long,
//! `sparse` writes one byte at its `bytes`-th place.
//! Output `{written, size, error?}`: bytes taken (`set_size`: the requested size; `sparse`: 1), and
//! the file's size afterwards.

use std::fs::{File, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};

use guest_glue::{ToolError, Value, io_error, json, number, text};

guest_glue::serve!(run);

fn run(input: Value) -> Result<Value, ToolError> {
    let path = text(&input, "path", "/f");
    let bytes = number(&input, "bytes").unwrap_or(0);
    let chunk = number(&input, "chunk").unwrap_or(65_536).max(1);
    let mut written = 0;
    let done = fill(
        path,
        text(&input, "mode", "write"),
        bytes,
        chunk,
        &mut written,
    );
    let size = std::fs::metadata(path).map(|it| it.len()).ok();
    Ok(match done {
        Ok(()) => json!({ "written": written, "size": size }),
        Err(error) => json!({ "written": written, "size": size, "error": io_error(&error) }),
    })
}

fn fill(path: &str, mode: &str, bytes: u64, chunk: u64, written: &mut u64) -> io::Result<()> {
    match mode {
        "append" => pour(
            OpenOptions::new().append(true).create(true).open(path)?,
            bytes,
            chunk,
            written,
        ),
        "set_size" => {
            open(path)?.set_len(bytes)?;
            *written = bytes;
            Ok(())
        }
        "sparse" => {
            let mut file = open(path)?;
            file.seek(SeekFrom::Start(bytes.saturating_sub(1)))?;
            file.write_all(b"s")?;
            *written = 1;
            Ok(())
        }
        _ => pour(File::create(path)?, bytes, chunk, written),
    }
}

fn open(path: &str) -> io::Result<File> {
    OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .open(path)
}

fn pour(mut file: File, bytes: u64, chunk: u64, written: &mut u64) -> io::Result<()> {
    let block = vec![b'f'; chunk.min(bytes) as usize];
    while *written < bytes {
        let next = chunk.min(bytes - *written) as usize;
        *written += file.write(&block[..next])? as u64;
    }
    Ok(())
}
