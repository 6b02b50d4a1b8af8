//! Creates handles and never drops one. Input `{count, kind?}`.
//!
//! Kinds: `pollable` (default; timers), `descriptor` (the root opened again), `stream` (reading
//! `/hoard`, which is made), `listing` (of the root), `preopen` (the root, requested again).
//! Output `{made, error?}`.

use guest_glue::wasi::clocks::monotonic_clock::subscribe_duration;
use guest_glue::wasi::filesystem::preopens::get_directories;
use guest_glue::wasi::filesystem::types::{
    Descriptor, DescriptorFlags, ErrorCode, OpenFlags, PathFlags,
};
use guest_glue::{ToolError, Value, error, json, number, text};

guest_glue::serve!(run);

/// Longer than any test.
const AN_HOUR_NANOS: u64 = 3_600_000_000_000;

fn run(input: Value) -> Result<Value, ToolError> {
    let kind = text(&input, "kind", "pollable");
    let (root, _) = get_directories()
        .pop()
        .ok_or_else(|| error("there is no preopen"))?;
    let count = number(&input, "count").unwrap_or(0);
    let file = match kind {
        "stream" => Some(make_file(&root).map_err(|code| error(format!("{code:?}")))?),
        _ => None,
    };
    for made in 0..count {
        if let Err(code) = hoard(kind, &root, file.as_ref()) {
            return Ok(json!({ "made": made, "error": code.name() }));
        }
    }
    Ok(json!({ "made": count }))
}

fn make_file(root: &Descriptor) -> Result<Descriptor, ErrorCode> {
    let flags = DescriptorFlags::READ | DescriptorFlags::WRITE;
    root.open_at(PathFlags::empty(), "hoard", OpenFlags::CREATE, flags)
}

fn hoard(kind: &str, root: &Descriptor, file: Option<&Descriptor>) -> Result<(), ErrorCode> {
    match (kind, file) {
        ("descriptor", _) => {
            let flags = DescriptorFlags::READ;
            std::mem::forget(root.open_at(PathFlags::empty(), ".", OpenFlags::DIRECTORY, flags)?);
        }
        ("stream", Some(file)) => std::mem::forget(file.read_via_stream(0)?),
        ("listing", _) => std::mem::forget(root.read_directory()?),
        ("preopen", _) => std::mem::forget(get_directories()),
        _ => std::mem::forget(subscribe_duration(AN_HOUR_NANOS)),
    }
    Ok(())
}
