//! The files of the page, which are part of the program.

/// A file: its name and its bytes.
pub(crate) struct Asset {
    name: &'static str,
    pub(crate) bytes: &'static [u8],
}

macro_rules! assets {
    ($($name:literal),+ $(,)?) => {
        &[$(Asset { name: $name, bytes: include_bytes!(concat!("../assets/", $name)) }),+]
    };
}

const ASSETS: &[Asset] = assets![
    "agents.js",
    "api.js",
    "app.js",
    "approval.js",
    "approvals.js",
    "budgets.js",
    "call.js",
    "calls.js",
    "charts.js",
    "diff.js",
    "dom.js",
    "form.js",
    "format.js",
    "icon.svg",
    "index.html",
    "json.js",
    "keys.js",
    "route.js",
    "steps.js",
    "style.css",
    "theme.js",
    "waterfall.js",
];

/// The page itself.
pub(crate) const INDEX: &str = "index.html";

pub(crate) fn find(name: &str) -> Option<&'static Asset> {
    ASSETS.iter().find(|asset| asset.name == name)
}

impl Asset {
    /// Returns the type of the file.
    pub(crate) fn kind(&self) -> &'static str {
        match self.name.rsplit_once('.').unwrap_or_default().1 {
            "html" => "text/html; charset=utf-8",
            "css" => "text/css; charset=utf-8",
            "js" => "text/javascript; charset=utf-8",
            "svg" => "image/svg+xml; charset=utf-8",
            _ => "application/octet-stream",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_of_the_folder_is_served_with_its_type() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/assets");
        let mut files: Vec<String> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        let mut names: Vec<&str> = ASSETS.iter().map(|asset| asset.name).collect();
        files.sort();
        names.sort_unstable();
        assert_eq!(names, files);
        assert!(
            ASSETS
                .iter()
                .all(|asset| asset.kind() != "application/octet-stream")
        );
    }
}
