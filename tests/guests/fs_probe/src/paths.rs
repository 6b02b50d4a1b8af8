//! Steps on a path beneath an open descriptor.

use guest_glue::goondan::tool::modes;
use guest_glue::{Value, json};

use crate::Step;
use crate::slots::{Slot, Slots};
use crate::words::{
    descriptor_flags, hash, new_timestamp, number, open_flags, path_flags, stat, text,
};

/// Runs a step, unless its op belongs elsewhere.
pub(crate) fn execute(slots: &mut Slots, op: &str, step: &Value) -> Option<Step> {
    Some(match op {
        "open-at" => open(slots, step),
        "stat-at" | "metadata-hash-at" | "readlink-at" => look(slots, op, step),
        "create-directory-at"
        | "remove-directory-at"
        | "unlink-file-at"
        | "symlink-at"
        | "set-times-at"
        | "rename-at"
        | "link-at" => change(slots, op, step),
        "get-mode" => mode(step),
        "set-mode" => set_mode(step),
        _ => return None,
    })
}

fn open(slots: &mut Slots, step: &Value) -> Step {
    let folder = slots.descriptor(step, "on")?;
    let (path, how) = (text(step, "path")?, open_flags(step)?);
    let opened = folder.open_at(path_flags(step), path, how, descriptor_flags(step)?)?;
    Ok(slots.keep(step, Slot::Descriptor(opened)))
}

fn look(slots: &Slots, op: &str, step: &Value) -> Step {
    let folder = slots.descriptor(step, "on")?;
    let path = text(step, "path")?;
    Ok(match op {
        "stat-at" => stat(&folder.stat_at(path_flags(step), path)?),
        "metadata-hash-at" => hash(&folder.metadata_hash_at(path_flags(step), path)?),
        _ => json!({ "target": folder.readlink_at(path)? }),
    })
}

fn mode(step: &Value) -> Step {
    let mode = modes::get_mode(text(step, "path")?, step["follow"] == true)?;
    Ok(json!({ "mode": mode }))
}

fn set_mode(step: &Value) -> Step {
    let mode = u32::try_from(number(step, "mode")?).unwrap_or(u32::MAX);
    modes::set_mode(text(step, "path")?, mode)?;
    Ok(json!({}))
}

fn change(slots: &Slots, op: &str, step: &Value) -> Step {
    let folder = slots.descriptor(step, "on")?;
    let path = text(step, "path")?;
    match op {
        "create-directory-at" => folder.create_directory_at(path)?,
        "remove-directory-at" => folder.remove_directory_at(path)?,
        "unlink-file-at" => folder.unlink_file_at(path)?,
        "symlink-at" => folder.symlink_at(text(step, "target")?, path)?,
        "set-times-at" => {
            let (accessed, modified) = (
                new_timestamp(step, "accessed"),
                new_timestamp(step, "modified"),
            );
            folder.set_times_at(path_flags(step), path, accessed, modified)?;
        }
        "rename-at" => {
            folder.rename_at(path, slots.descriptor(step, "toOn")?, text(step, "to")?)?
        }
        _ => {
            let to = slots.descriptor(step, "toOn")?;
            folder.link_at(path_flags(step), path, to, text(step, "to")?)?;
        }
    }
    Ok(json!({}))
}
