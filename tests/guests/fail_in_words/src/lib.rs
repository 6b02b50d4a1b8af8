//! Fails as tools in several languages do: by an error without a code, by a crash after a line of its
//! runtime, or by a text that is not Unicode.
//!
//! | handler | input | fails |
//! |---|---|---|
//! | `read` | `{path}` | reads a file, and passes the system's error on |
//! | `unwrap` | `{path}` | panics at that error |
//! | `reserve` | `{bytes, say, path?}` | is refused memory, reads the file if there is one, and returns the error `say` |
//! | `print` | `{stderr, exits}` | prints a text to stderr; then it traps, or ends its process with failure |
//! | `invalid` | `{}` | returns text with a byte that is not UTF-8 |
//! | `spawn` | `{}` | starts a process, and passes the system's error on |
//! | `raise` | `{code, helpUrl}` | returns an error with these |

use std::fs;
use std::process::{self, Command};

use toolhost_guest::{Context, ToolError, Value};

toolhost_guest::handlers! {
    "read" => read,
    "unwrap" => unwrap,
    "reserve" => reserve,
    "print" => print,
    "invalid" => invalid,
    "spawn" => spawn,
    "raise" => raise,
}

fn text<'a>(input: &'a Value, key: &str) -> &'a str {
    input[key].as_str().unwrap_or_default()
}

fn read(_: &Context, input: Value) -> Result<String, ToolError> {
    Ok(fs::read_to_string(text(&input, "path"))?)
}

fn unwrap(_: &Context, input: Value) -> Result<String, ToolError> {
    Ok(fs::read_to_string(text(&input, "path")).unwrap())
}

fn reserve(_: &Context, input: Value) -> Result<String, ToolError> {
    let bytes = input["bytes"].as_u64().unwrap_or_default() as usize;
    if Vec::<u8>::new().try_reserve_exact(bytes).is_ok() {
        return Err(ToolError::new("the memory was not refused").code("NOT_REFUSED"));
    }
    if let Some(path) = input["path"].as_str() {
        fs::read(path)?;
    }
    Err(ToolError::new(text(&input, "say")))
}

fn print(_: &Context, input: Value) -> Result<String, ToolError> {
    eprint!("{}", text(&input, "stderr"));
    if input["exits"] == true {
        process::exit(1);
    }
    core::arch::wasm32::unreachable()
}

fn invalid(_: &Context, _: Value) -> Result<String, ToolError> {
    // SAFETY: unsound on purpose. The text is only copied.
    Ok(unsafe { String::from_utf8_unchecked(b"ab\xff".to_vec()) })
}

fn spawn(_: &Context, _: Value) -> Result<String, ToolError> {
    Command::new("ls").output()?;
    Ok("it started".to_owned())
}

fn raise(_: &Context, input: Value) -> Result<String, ToolError> {
    let error = ToolError::new("raised").code(text(&input, "code"));
    Err(error.help_url(text(&input, "helpUrl")))
}
