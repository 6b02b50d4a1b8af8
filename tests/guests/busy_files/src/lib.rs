//! Performs many ordinary file operations. Input `{dir?}` (default `/busy`, created and finally removed).
//!
//! Output: an object with one member for every step, in order; its value is the result of the step, or
//! `{error}` with an errno's name. Nothing in it depends on the machine or the time.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use guest_glue::{ToolError, Value, io_error, json, symlink, text};

guest_glue::serve!(run);

fn run(input: Value) -> Result<Value, ToolError> {
    let dir = text(&input, "dir", "/busy");
    let at = |name: &str| format!("{dir}/{name}");
    let mut transcript = json!({});
    let mut note = |step: &str, seen: io::Result<Value>| {
        transcript[step] = seen.unwrap_or_else(|error| json!({ "error": io_error(&error) }));
    };
    let nothing = |result: io::Result<()>| result.map(|()| json!("ok"));

    note(
        "create_dir_all",
        nothing(fs::create_dir_all(at("sub/deeper"))),
    );
    note("create_dir_again", nothing(fs::create_dir(at("sub"))));
    note("write", nothing(fs::write(at("a"), "first\nsecond\n")));
    note("read", fs::read_to_string(at("a")).map(Value::from));
    note("append", append(&at("a")));
    note("lines", lines(&at("a")));
    note("seek", seek(&at("a")));
    note("read_past_the_end", read_past_the_end(&at("a")));
    note("overwrite", overwrite(&at("a")));
    note(
        "create_new_again",
        nothing(File::create_new(at("a")).map(drop)),
    );
    note(
        "read_missing",
        fs::read_to_string(at("missing")).map(Value::from),
    );
    note(
        "read_a_folder",
        fs::read(at("sub")).map(|bytes| json!(bytes.len())),
    );
    note("write_through_a_file", nothing(fs::write(at("a/b"), "")));
    note("truncate", truncate(&at("a")));
    note("extend", extend(&at("a")));
    note(
        "write_a_read_only_handle",
        write_a_read_only_handle(&at("a")),
    );
    note(
        "sync",
        File::open(at("a"))
            .and_then(|file| file.sync_all())
            .map(|()| json!("ok")),
    );
    note(
        "sync_data",
        File::open(at("a"))
            .and_then(|file| file.sync_data())
            .map(|()| json!("ok")),
    );
    note("stat_file", stat(&at("a")));
    note(
        "stat_dir",
        fs::metadata(at("sub")).map(|it| json!({ "dir": it.is_dir() })),
    );
    note(
        "set_modified",
        set_modified(&at("a"), UNIX_EPOCH + Duration::from_secs(1_000_000_000)),
    );
    note("copy", fs::copy(at("a"), at("copy")).map(Value::from));
    note("hard_link", nothing(fs::hard_link(at("a"), at("hard"))));
    note(
        "hard_link_is_the_file",
        hard_link_is_the_file(&at("a"), &at("hard")),
    );
    note("symlink", nothing(symlink("a", &at("soft"))));
    note(
        "read_link",
        fs::read_link(at("soft")).map(|it| json!(it.to_string_lossy())),
    );
    note(
        "read_through_symlink",
        fs::read(at("soft")).map(|bytes| json!(bytes.len())),
    );
    note(
        "lstat_symlink",
        fs::symlink_metadata(at("soft")).map(|it| json!({ "symlink": it.is_symlink() })),
    );
    note(
        "symlink_to_nothing",
        nothing(symlink("nowhere", &at("dangling"))),
    );
    note(
        "read_dangling",
        fs::read(at("dangling")).map(|bytes| json!(bytes.len())),
    );
    note("rename", nothing(fs::rename(at("copy"), at("sub/renamed"))));
    note(
        "rename_over",
        nothing(fs::rename(at("sub/renamed"), at("hard"))),
    );
    note(
        "rename_missing",
        nothing(fs::rename(at("missing"), at("x"))),
    );
    note(
        "rename_dir",
        nothing(fs::rename(at("sub/deeper"), at("moved"))),
    );
    note(
        "rename_dir_into_itself",
        nothing(fs::rename(at("sub"), at("sub/in"))),
    );
    note("unlink_while_open", unlink_while_open(&at("ghost")));
    note("list", list(dir));
    note(
        "remove_full_dir",
        nothing(fs::write(at("sub/f"), "").and_then(|()| fs::remove_dir(at("sub")))),
    );
    note(
        "remove_file_that_is_a_dir",
        nothing(fs::remove_file(at("sub"))),
    );
    note(
        "remove_dir_that_is_a_file",
        nothing(fs::remove_dir(at("a"))),
    );
    note("remove_symlink", nothing(fs::remove_file(at("soft"))));
    note("remove_file", nothing(fs::remove_file(at("a"))));
    note("remove_dir_all", nothing(fs::remove_dir_all(dir)));
    note("list_removed", list(dir));
    Ok(transcript)
}

fn append(path: &str) -> io::Result<Value> {
    let mut file = OpenOptions::new().append(true).open(path)?;
    file.write_all(b"third\n")?;
    // Appending ignores the position of the handle.
    file.seek(SeekFrom::Start(0))?;
    file.write_all(b"fourth\n")?;
    Ok(json!(file.metadata()?.len()))
}

fn lines(path: &str) -> io::Result<Value> {
    let lines: Vec<String> = BufReader::new(File::open(path)?)
        .lines()
        .collect::<io::Result<_>>()?;
    Ok(json!(lines))
}

fn seek(path: &str) -> io::Result<Value> {
    let mut file = File::open(path)?;
    let mut last = [0; 4];
    let position = file.seek(SeekFrom::End(-7))?;
    file.read_exact(&mut last)?;
    file.seek(SeekFrom::Current(-4))?;
    let here = file.stream_position()?;
    Ok(json!([position, String::from_utf8_lossy(&last), here]))
}

fn read_past_the_end(path: &str) -> io::Result<Value> {
    let mut file = File::open(path)?;
    file.seek(SeekFrom::Start(1_000_000))?;
    Ok(json!(file.read(&mut [0; 16])?))
}

fn overwrite(path: &str) -> io::Result<Value> {
    let mut file = OpenOptions::new().read(true).write(true).open(path)?;
    file.seek(SeekFrom::Start(6))?;
    file.write_all(b"SECOND")?;
    file.rewind()?;
    let mut text = String::new();
    file.read_to_string(&mut text)?;
    Ok(json!(text))
}

fn truncate(path: &str) -> io::Result<Value> {
    OpenOptions::new().write(true).open(path)?.set_len(5)?;
    fs::read_to_string(path).map(Value::from)
}

fn extend(path: &str) -> io::Result<Value> {
    OpenOptions::new().write(true).open(path)?.set_len(8)?;
    fs::read(path).map(|bytes| json!(bytes))
}

fn write_a_read_only_handle(path: &str) -> io::Result<Value> {
    File::open(path)?.write_all(b"x").map(|()| json!("ok"))
}

fn stat(path: &str) -> io::Result<Value> {
    let metadata = fs::metadata(path)?;
    let recent = |time: SystemTime| time > UNIX_EPOCH + Duration::from_secs(1_600_000_000);
    Ok(json!({
        "file": metadata.is_file(),
        "size": metadata.len(),
        "modified_recently": recent(metadata.modified()?),
        "accessed_recently": recent(metadata.accessed()?),
    }))
}

fn set_modified(path: &str, time: SystemTime) -> io::Result<Value> {
    OpenOptions::new()
        .write(true)
        .open(path)?
        .set_modified(time)?;
    let modified = fs::metadata(path)?.modified()?;
    Ok(json!(
        modified
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default()
            .as_secs()
    ))
}

fn hard_link_is_the_file(file: &str, link: &str) -> io::Result<Value> {
    fs::write(file, "through the file")?;
    fs::read_to_string(link).map(Value::from)
}

fn unlink_while_open(path: &str) -> io::Result<Value> {
    let mut file = File::create_new(path)?;
    fs::remove_file(path)?;
    file.write_all(b"still here")?;
    Ok(json!({ "size": file.metadata()?.len(), "exists": fs::exists(path)? }))
}

fn list(dir: &str) -> io::Result<Value> {
    let mut names = Vec::new();
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        let kind = match entry.file_type()? {
            it if it.is_dir() => "dir",
            it if it.is_symlink() => "symlink",
            _ => "file",
        };
        names.push(format!("{} {kind}", entry.file_name().to_string_lossy()));
    }
    names.sort();
    Ok(json!(names))
}
