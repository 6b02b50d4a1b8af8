//! The files of the workdir as resources, if the operator turned it on.

use std::io;

use cap_std::fs::Dir;
use rmcp::model::{
    ErrorData, ListResourceTemplatesResult, ListResourcesResult, ReadResourceResponse,
    ReadResourceResult, ResourceTemplate,
};
use serde_json::json;
use toolhost::Instance;

use super::approval;
use crate::config::McpConfig;
use crate::files::{FileContent, Files, URI_PREFIX, contents, mime_of, path_of, resource};
use crate::shared::ServedState;
use crate::tool::CARD_URI;

/// Files that are listed. Further ones can be read but are not listed.
const LISTED_MAX: usize = 1000;

/// Entries of directories that are looked at for one list.
const ENTRIES_MAX: usize = 20_000;

/// Answers `resources/list`: the card of approvals for clients that show it, and the files of the workdir, in the order of
/// their paths.
pub(super) async fn list(
    shared: &ServedState,
    instance: &Instance,
    has_card: bool,
) -> Result<ListResourcesResult, ErrorData> {
    let card = has_card.then(approval::card_item);
    if has_resources_but_files(&shared.config) {
        return Ok(ListResourcesResult::with_all_items(
            card.into_iter().collect(),
        ));
    }
    allowed(&shared.config)?;
    let files = Files::of(instance.workdir());
    let listing = shared.read_files(move || {
        let mut paths = Vec::new();
        walk(&files.directory()?, &mut paths);
        paths.sort();
        io::Result::Ok(paths)
    });
    let Some(Ok(paths)) = listing.await else {
        let message = "the workdir cannot be read";
        return Err(ErrorData::internal_error(message, None));
    };
    let resources = paths.into_iter();
    let resources = resources.map(|(path, bytes)| resource(&path, mime_of(&path), bytes));
    let all = card.into_iter().chain(resources);
    Ok(ListResourcesResult::with_all_items(all.collect()))
}

/// Answers `resources/templates/list`: any file may be read by its path, also one that is not listed.
pub(super) fn templates(config: &McpConfig) -> Result<ListResourceTemplatesResult, ErrorData> {
    if has_resources_but_files(config) {
        return Ok(ListResourceTemplatesResult::default());
    }
    allowed(config)?;
    let template = ResourceTemplate::new(format!("{URI_PREFIX}{{+path}}"), "workdir")
        .with_description("A file of the workdir");
    Ok(ListResourceTemplatesResult::with_all_items(vec![template]))
}

/// Answers `resources/read`.
pub(super) async fn read(
    shared: &ServedState,
    instance: &Instance,
    uri: &str,
) -> Result<ReadResourceResponse, ErrorData> {
    if uri == CARD_URI && shared.config.approvals_url.is_some() {
        return Ok(approval::card().into());
    }
    allowed(&shared.config)?;
    let not_found = || {
        let data = json!({ "uri": uri });
        ErrorData::resource_not_found(format!("there is no file {uri}"), Some(data))
    };
    let path = path_of(uri).ok_or_else(not_found)?;
    let (files, limit) = (Files::of(instance.workdir()), shared.config.resource_bytes);
    let to_read = path.clone();
    let content = shared.read_files(move || files.read(&to_read, limit)).await;
    match content {
        Some(Ok(FileContent::Whole(bytes))) => {
            let contents = contents(&path, mime_of(&path), bytes);
            Ok(ReadResourceResult::new(vec![contents]).into())
        }
        Some(Ok(FileContent::TooLarge(bytes))) => {
            let message = format!("{uri} has {bytes} bytes, more than the limit of {limit}");
            Err(ErrorData::invalid_params(message, None))
        }
        Some(Err(_)) | None => Err(not_found()),
    }
}

/// Whether the server has the card of approvals, and no files.
fn has_resources_but_files(config: &McpConfig) -> bool {
    config.approvals_url.is_some() && !config.serve_workdir
}

pub(super) fn allowed(config: &McpConfig) -> Result<(), ErrorData> {
    if config.serve_workdir {
        return Ok(());
    }
    Err(ErrorData::invalid_request(
        "this server does not serve the files of workdirs",
        None,
    ))
}

/// Finds the path and the size of regular files beneath a directory. Links are not followed, and what
/// cannot be read is left out.
fn walk(root: &Dir, files: &mut Vec<(String, u64)>) {
    let mut folders = vec![String::new()];
    let mut visited = 0;
    while let Some(folder) = folders.pop() {
        let Ok(entries) = (match folder.as_str() {
            "" => root.entries(),
            folder => root.read_dir(folder),
        }) else {
            continue;
        };
        for entry in entries.flatten() {
            visited += 1;
            if visited > ENTRIES_MAX {
                return;
            }
            let Ok(name) = entry.file_name().into_string() else {
                continue;
            };
            let path = match folder.as_str() {
                "" => name,
                folder => format!("{folder}/{name}"),
            };
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => folders.push(path),
                Ok(kind) if kind.is_file() && files.len() < LISTED_MAX => {
                    let bytes = entry.metadata().map_or(0, |metadata| metadata.len());
                    files.push((path, bytes));
                }
                _ => {}
            }
        }
    }
}
