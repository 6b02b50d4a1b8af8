//! `basename` and `dirname`.

use super::names::{base, folder};
use crate::commands::Command;
use crate::commands::call::{Call, Failure};
use crate::commands::options::{Line, Spec, flag, value};

pub(super) const BASENAME: Command = Command::new(
    "basename",
    Spec::new(&[
        flag('a', "multiple"),
        value('s', "suffix"),
        flag('z', "zero"),
    ])
    .ends_at_operand(),
    basename,
);

pub(super) const DIRNAME: Command =
    Command::new("dirname", Spec::new(&[flag('z', "zero")]), dirname);

fn basename(call: &mut Call, line: &Line) -> Result<i32, Failure> {
    let end = if line.has("zero") { "\0" } else { "\n" };
    let many = line.has("multiple") || line.has("suffix");
    let (names, suffix) = match line.operands.as_slice() {
        [] => return Err(call.misuse("missing operand")),
        names if many => (names, line.value("suffix").unwrap_or_default()),
        [name] => (std::slice::from_ref(name), ""),
        [name, suffix] => (std::slice::from_ref(name), suffix.as_str()),
        [_, _, extra, ..] => {
            return Err(call.misuse(format_args!("extra operand {}", call.quoted(extra))));
        }
    };
    for name in names {
        let name = base(name);
        let stem = name.strip_suffix(suffix).filter(|stem| !stem.is_empty());
        call.print(stem.unwrap_or(name));
        call.print(end);
    }
    Ok(0)
}

fn dirname(call: &mut Call, line: &Line) -> Result<i32, Failure> {
    if line.operands.is_empty() {
        return Err(call.misuse("missing operand"));
    }
    for name in &line.operands {
        call.print(folder(name));
        call.print(if line.has("zero") { "\0" } else { "\n" });
    }
    Ok(0)
}
