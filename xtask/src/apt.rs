//! A private apt: its own suite, lists and cache, signatures checked, nothing installed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use crate::child;

/// Verifies the suites' indexes; part of every Debian.
pub(crate) const KEYRING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";

/// Where packages come from when this machine's own sources name no Debian mirror.
const DEFAULT_MIRROR: &str = "http://deb.debian.org/debian";

/// The packages of one suite, as its signed index lists them.
pub(crate) struct Apt {
    dir: PathBuf,
    /// Packages of this architecture are named `NAME:ARCHITECTURE`.
    foreign: Option<&'static str>,
}

impl Apt {
    /// Fetches the index of `suite` from the mirror that this machine uses anyway.
    pub(crate) fn open(dir: PathBuf, suite: &str) -> Result<Self> {
        Self::open_with(dir, suite, None)
    }

    /// Fetches the index, with the packages of another architecture.
    pub(crate) fn open_with(
        dir: PathBuf,
        suite: &str,
        foreign: Option<&'static str>,
    ) -> Result<Self> {
        for folder in ["lists/partial", "cache/archives/partial", "none"] {
            let folder = dir.join(folder);
            fs::create_dir_all(&folder)
                .with_context(|| format!("cannot make {}", folder.display()))?;
        }
        let mirror = mirror_in(&sources()).unwrap_or(DEFAULT_MIRROR.into());
        let others = foreign.map_or_else(String::new, |foreign| format!(",{foreign}"));
        let line = format!("deb [arch=amd64{others} signed-by={KEYRING}] {mirror} {suite} main\n");
        fs::write(dir.join("sources.list"), line).context("cannot write apt's sources")?;
        let apt = Self { dir, foreign };
        if child::run(apt.command("apt-get").args(["-qq", "update"])).is_err() {
            bail!("`apt-get update` of Debian {suite} from {mirror} failed, apt says above why");
        }
        Ok(apt)
    }

    /// Returns the version of a package, or nothing where the suite has none.
    pub(crate) fn version(&self, package: &str) -> Result<Option<String>> {
        self.field(package, "Version: ")
    }

    /// Returns the first direct dependency whose name begins so.
    pub(crate) fn dependency(&self, package: &str, prefix: &str) -> Result<String> {
        let depends = self.field(package, "Depends: ")?.unwrap_or_default();
        let names = depends
            .split(',')
            .filter_map(|it| it.split_whitespace().next());
        let found = names
            .into_iter()
            .find(|name| name.starts_with(prefix))
            .map(String::from);
        found.with_context(|| format!("package {package} depends on no {prefix}*"))
    }

    /// Returns every package that a package needs in the end, itself among them.
    pub(crate) fn closure(&self, package: &str) -> Result<Vec<String>> {
        const ONLY_DEPENDS: [&str; 8] = [
            "depends",
            "--recurse",
            "--no-recommends",
            "--no-suggests",
            "--no-conflicts",
            "--no-breaks",
            "--no-replaces",
            "--no-enhances",
        ];
        let listing = child::read(self.command("apt-cache").args(ONLY_DEPENDS).arg(package))?;
        // Packages stand at the line's start; their relations are indented, virtual ones in <>.
        let is_name = |line: &&str| line.starts_with(|first: char| first.is_ascii_alphanumeric());
        let mut names: Vec<String> = listing.lines().filter(is_name).map(String::from).collect();
        names.sort();
        names.dedup();
        Ok(names)
    }

    /// Downloads packages and unpacks them into `dest`, documentation left out.
    pub(crate) fn unpack(&self, packages: &[String], dest: &Path) -> Result<()> {
        self.unpack_whole(packages, dest)?;
        let documentation = dest.join("usr/share");
        if documentation.is_dir() {
            fs::remove_dir_all(&documentation)
                .context("cannot remove the packages' documentation")?;
        }
        Ok(())
    }

    /// Downloads packages and unpacks all of them into `dest`.
    pub(crate) fn unpack_whole(&self, packages: &[String], dest: &Path) -> Result<()> {
        let debs = self.dir.join(format!("debs-{}", packages.len()));
        fs::create_dir_all(&debs).context("cannot make a folder for packages")?;
        fs::create_dir_all(dest).with_context(|| format!("cannot make {}", dest.display()))?;
        let mut download = self.command("apt-get");
        download
            .args(["-qq", "download"])
            .args(packages)
            .current_dir(&debs);
        if child::run(&mut download).is_err() {
            bail!("`apt-get download` failed, apt says above why");
        }
        for deb in fs::read_dir(&debs).context("cannot list the packages")? {
            child::run(
                Command::new("dpkg-deb")
                    .arg("-x")
                    .arg(deb?.path())
                    .arg(dest),
            )?;
        }
        fs::remove_dir_all(&debs).context("cannot remove the packages")
    }

    fn field(&self, package: &str, field: &str) -> Result<Option<String>> {
        let shown =
            child::read(
                self.command("apt-cache")
                    .args(["show", "--no-all-versions", package]),
            );
        let Ok(shown) = shown else {
            return Ok(None);
        };
        Ok(shown
            .lines()
            .find_map(|line| line.strip_prefix(field))
            .map(String::from))
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        let at = |name: &str| self.dir.join(name).display().to_string();
        let options = [
            ("Dir::Etc::sourcelist", at("sources.list")),
            ("Dir::Etc::sourceparts", at("none")),
            ("Dir::Etc::preferencesparts", at("none")),
            ("Dir::State::Lists", at("lists")),
            ("Dir::State::status", "/dev/null".into()),
            ("Dir::Cache", at("cache")),
            ("Acquire::Languages", "none".into()),
            ("Acquire::Retries", "3".into()),
            ("APT::Architecture", "amd64".into()),
            ("APT::Architectures", "amd64".into()),
            // A suite that cannot be fetched is an error, not a warning and an empty list.
            ("APT::Update::Error-Mode", "any".into()),
            // For root apt would change to a user who may not write here.
            ("APT::Sandbox::User", "root".into()),
        ];
        for (name, value) in options {
            command.arg("-o").arg(format!("{name}={value}"));
        }
        if let Some(foreign) = self.foreign {
            command
                .arg("-o")
                .arg(format!("APT::Architectures::={foreign}"));
        }
        command
    }
}

/// Returns the text of all of this machine's apt sources.
fn sources() -> String {
    let mut files = vec![PathBuf::from("/etc/apt/sources.list")];
    if let Ok(entries) = fs::read_dir("/etc/apt/sources.list.d") {
        files.extend(entries.filter_map(|entry| Some(entry.ok()?.path())));
    }
    let texts: Vec<String> = files
        .iter()
        .filter_map(|file| fs::read_to_string(file).ok())
        .collect();
    texts.join("\n")
}

/// Returns the first Debian mirror that apt sources name, in either of their two formats.
fn mirror_in(sources: &str) -> Option<String> {
    sources
        .lines()
        .filter(|line| !line.trim_start().starts_with('#'))
        .flat_map(str::split_whitespace)
        .find(|word| word.contains("://") && word.trim_end_matches('/').ends_with("/debian"))
        .map(String::from)
}

#[cfg(test)]
mod tests {
    use super::mirror_in;

    #[test]
    fn finds_the_mirror_in_both_formats() {
        let check = |sources: &str, expected: Option<&str>| {
            assert_eq!(mirror_in(sources).as_deref(), expected)
        };
        check(
            "deb http://a.org/debian bookworm main",
            Some("http://a.org/debian"),
        );
        check(
            "Types: deb\n# http://old/debian\nURIs: https://b.org/debian/\n",
            Some("https://b.org/debian/"),
        );
        check(
            "deb http://a.org/debian-security x main\ndeb http://c/ubuntu y main",
            None,
        );
    }
}
