//! Many calls at once, many tools, many workdirs: each in a process of its own, so that its memory is
//! counted alone.

mod calls;
mod row;
mod tools;
mod workdirs;

use std::process::Command;

use tokio::runtime::Runtime;

pub(super) use row::ScaleRow;

/// The argument of such a process; the name of what it measures follows.
pub(crate) const ARGUMENT: &str = "scale";

/// What is measured, in this order. `compile` fills the cache from which `tools` loads.
const ALL: [&str; 4] = ["calls", "compile", "tools", "workdirs"];

/// Measures all.
pub(super) fn rows() -> Vec<ScaleRow> {
    ALL.into_iter().flat_map(rows_of).collect()
}

fn rows_of(name: &str) -> Vec<ScaleRow> {
    println!("scale: {name}");
    let program = std::env::current_exe().unwrap();
    let ended = Command::new(program)
        .args([ARGUMENT, name])
        .output()
        .unwrap();
    if !ended.status.success() {
        let errors = String::from_utf8_lossy(&ended.stderr);
        let last = errors
            .lines()
            .rfind(|line| !line.is_empty())
            .unwrap_or_default();
        return vec![ScaleRow {
            name: name.to_owned(),
            result: format!("not measured: {}, {last}", ended.status),
        }];
    }
    let printed = String::from_utf8_lossy(&ended.stdout);
    let row = |line: &str| {
        let (name, result) = line.split_once('\t')?;
        Some(ScaleRow {
            name: name.to_owned(),
            result: result.to_owned(),
        })
    };
    printed.lines().filter_map(row).collect()
}

/// Measures one of them in this process and prints its rows: a name, a tab and a result on each line.
///
/// # Errors
/// There is none of this name.
pub(crate) fn print(runtime: &Runtime, name: Option<&String>) -> Result<(), String> {
    let rows = match name.map(String::as_str) {
        Some("calls") => calls::measure(runtime),
        Some("compile") => tools::compile(runtime),
        Some("tools") => tools::measure(runtime),
        Some("workdirs") => workdirs::measure(runtime),
        _ => return Err(format!("`{ARGUMENT}` takes one of {}", ALL.join(", "))),
    };
    for row in rows {
        println!("{}\t{}", row.name, row.result);
    }
    Ok(())
}
