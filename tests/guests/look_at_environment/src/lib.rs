//! Returns its environment.
//!
//! Output `{env: {name: value}, args: [text], stdin: {bytes, error?}, cwd, root: [name],
//! preopens: [path], terminal: {stdin, stdout, stderr}}`. A failed read is the name of the error.

use std::collections::BTreeMap;
use std::io::{IsTerminal, Read};
use std::{env, fs, io};

use guest_glue::wasi::filesystem::preopens::get_directories;
use guest_glue::{ToolError, Value, io_error, json};

guest_glue::serve!(run);

fn run(_input: Value) -> Result<Value, ToolError> {
    let env: BTreeMap<String, String> = env::vars().collect();
    let args: Vec<String> = env::args().collect();
    let cwd = match env::current_dir() {
        Ok(dir) => dir.display().to_string(),
        Err(error) => io_error(&error),
    };
    let preopens: Vec<String> = get_directories()
        .into_iter()
        .map(|(_, path)| path)
        .collect();
    Ok(json!({
        "env": env,
        "args": args,
        "stdin": stdin(),
        "cwd": cwd,
        "root": root(),
        "preopens": preopens,
        "terminal": {
            "stdin": io::stdin().is_terminal(),
            "stdout": io::stdout().is_terminal(),
            "stderr": io::stderr().is_terminal(),
        },
    }))
}

fn stdin() -> Value {
    let mut bytes = Vec::new();
    match io::stdin().read_to_end(&mut bytes) {
        Ok(_) => json!({ "bytes": bytes.len() }),
        Err(error) => json!({ "bytes": bytes.len(), "error": io_error(&error) }),
    }
}

fn root() -> Value {
    let entries = match fs::read_dir("/") {
        Ok(entries) => entries,
        Err(error) => return json!(io_error(&error)),
    };
    let mut names: Vec<String> = entries
        .map(|entry| match entry {
            Ok(entry) => entry.file_name().to_string_lossy().into_owned(),
            Err(error) => io_error(&error),
        })
        .collect();
    names.sort();
    json!(names)
}
