//! The kits that `toolhost build` downloads.

use std::path::Path;

use toolhost::text::shell_word;

use super::finding::Finding;
use crate::settings::Settings;
use crate::terminal::progress::{folder_bytes, size};
use crate::terminal::text;
use crate::toolchains::{InstalledKit, KitCache, KitState, installed_kits, outdated_kits};

const AREA: &str = "kits";

pub(super) fn examine(settings: &Settings) -> Vec<Finding> {
    let Some(cache) = settings.dirs.cache.as_deref().map(KitCache::new) else {
        return Vec::new();
    };
    let mut findings: Vec<_> = refusal("directory", cache.dir()).into_iter().collect();
    findings.extend(installed_kits(&cache).into_iter().map(finding));
    let outdated = outdated_kits(&cache);
    if !outdated.is_empty() {
        let bytes = outdated.iter().map(|folder| folder_bytes(folder)).sum();
        let folders = outdated.iter().map(|folder| folder.to_string_lossy());
        let folders: Vec<_> = folders.map(|path| shell_word(&path).into_owned()).collect();
        let count = text::counted(outdated.len(), "folder");
        let value = format!(
            "{count}, {}, which this toolhost does not use; to remove: rm -r {}",
            size(bytes),
            folders.join(" ")
        );
        findings.push(Finding::ok(AREA, "other versions", value));
    }
    findings
}

/// The finding about a folder that builds refuse.
fn refusal(name: &'static str, folder: &Path) -> Option<Finding> {
    let refusal = KitCache::refusal(folder)?;
    let finding = Finding::ok(AREA, name, refusal);
    let next = format!("rm -r {}", shell_word(&folder.to_string_lossy()));
    Some(finding.error(next))
}

fn finding(kit: InstalledKit) -> Finding {
    let InstalledKit {
        name,
        needed_for,
        folder,
        state,
    } = kit;
    if let Some(refusal) = refusal(name, &folder) {
        return refusal.needed_for(needed_for);
    }
    let display = folder.display();
    let finding = |value| Finding::ok(AREA, name, value).needed_for(needed_for);
    match state {
        KitState::Embedded => finding("in this program".to_owned()),
        KitState::Missing => {
            finding("not installed: the first build that needs it downloads it".to_owned())
        }
        KitState::Installed => {
            let size = size(folder_bytes(&folder));
            finding(format!("installed and up to date, {size}, {display}"))
        }
        KitState::Broken => {
            let next = format!("rm -r {}", shell_word(&folder.to_string_lossy()));
            finding(format!("its Python was removed or replaced, {display}")).error(next)
        }
    }
}
