//! Steps on an open descriptor or listing.

use guest_glue::wasi::filesystem::preopens::get_directories;
use guest_glue::wasi::filesystem::types::{Descriptor, DirectoryEntry, ErrorCode};
use guest_glue::{Value, json};

use crate::Step;
use crate::slots::{Slot, Slots};
use crate::words::{
    advice, contents, flag_names, hash, new_timestamp, number, number_or_zero, read, stat,
    type_name,
};

/// Runs a step, unless its op belongs elsewhere.
pub(crate) fn execute(slots: &mut Slots, op: &str, step: &Value) -> Option<Step> {
    Some(match op {
        "preopens" => Ok(preopens()),
        "read" => read_bytes(slots, step),
        "write" => write_bytes(slots, step),
        "advise" => advise(slots, step),
        "sync" => with(slots, step, |it| it.sync().map(|()| json!({}))),
        "sync-data" => with(slots, step, |it| it.sync_data().map(|()| json!({}))),
        "get-flags" => with(slots, step, |it| {
            it.get_flags()
                .map(|flags| json!({ "flags": flag_names(flags) }))
        }),
        "get-type" => with(slots, step, |it| {
            it.get_type().map(|kind| json!({ "type": type_name(kind) }))
        }),
        "set-size" => set_size(slots, step),
        "set-times" => set_times(slots, step),
        "stat" => with(slots, step, |it| it.stat().map(|found| stat(&found))),
        "metadata-hash" => with(slots, step, |it| {
            it.metadata_hash().map(|value| hash(&value))
        }),
        "is-same-object" => is_same_object(slots, step),
        "read-directory" => read_directory(slots, step),
        "read-directory-entry" => read_directory_entry(slots, step),
        "list" => list(slots, step),
        _ => return None,
    })
}

fn preopens() -> Value {
    let paths: Vec<String> = get_directories()
        .into_iter()
        .map(|(_, path)| path)
        .collect();
    json!({ "paths": paths })
}

fn with(
    slots: &Slots,
    step: &Value,
    call: impl Fn(&Descriptor) -> Result<Value, ErrorCode>,
) -> Step {
    Ok(call(slots.descriptor(step, "on")?)?)
}

fn read_bytes(slots: &Slots, step: &Value) -> Step {
    let file = slots.descriptor(step, "on")?;
    let (bytes, end) = file.read(number(step, "length")?, number_or_zero(step, "offset"))?;
    let mut fields = read(&bytes);
    fields["end"] = json!(end);
    Ok(fields)
}

fn write_bytes(slots: &Slots, step: &Value) -> Step {
    let file = slots.descriptor(step, "on")?;
    let written = file.write(&contents(step)?, number_or_zero(step, "offset"))?;
    Ok(json!({ "written": written }))
}

fn advise(slots: &Slots, step: &Value) -> Step {
    let file = slots.descriptor(step, "on")?;
    file.advise(
        number_or_zero(step, "offset"),
        number_or_zero(step, "length"),
        advice(step)?,
    )?;
    Ok(json!({}))
}

fn set_size(slots: &Slots, step: &Value) -> Step {
    slots
        .descriptor(step, "on")?
        .set_size(number(step, "size")?)?;
    Ok(json!({}))
}

fn set_times(slots: &Slots, step: &Value) -> Step {
    let file = slots.descriptor(step, "on")?;
    file.set_times(
        new_timestamp(step, "accessed"),
        new_timestamp(step, "modified"),
    )?;
    Ok(json!({}))
}

fn is_same_object(slots: &Slots, step: &Value) -> Step {
    let other = slots.descriptor(step, "other")?;
    Ok(json!({ "same": slots.descriptor(step, "on")?.is_same_object(other) }))
}

fn read_directory(slots: &mut Slots, step: &Value) -> Step {
    let listing = slots.descriptor(step, "on")?.read_directory()?;
    Ok(slots.keep(step, Slot::Listing(listing)))
}

fn read_directory_entry(slots: &Slots, step: &Value) -> Step {
    let entry = slots.listing(step)?.read_directory_entry()?;
    Ok(entry.map_or_else(|| json!({ "end": true }), |it| describe(&it)))
}

fn list(slots: &Slots, step: &Value) -> Step {
    let listing = slots.descriptor(step, "on")?.read_directory()?;
    let mut entries = Vec::new();
    while let Some(entry) = listing.read_directory_entry()? {
        entries.push(entry);
    }
    entries.sort_by(|a, b| a.name.cmp(&b.name));
    let entries: Vec<Value> = entries.iter().map(describe).collect();
    Ok(json!({ "entries": entries }))
}

fn describe(entry: &DirectoryEntry) -> Value {
    json!({ "name": entry.name, "type": type_name(entry.type_) })
}
