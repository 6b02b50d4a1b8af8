//! The kernel's features that the sandbox uses, and the limits of this process.

use std::fs;
use std::path::Path;

use rustix::process::{Resource, getrlimit};
use toolhost::{Sandbox, SandboxConfig, sandbox::KernelFeatures};

use super::finding::Finding;
use crate::process_limits::{ADDRESS_BYTES, FREE_DESCRIPTORS};
use crate::terminal::progress::size;

const AREA: &str = "kernel";

/// Open files that many calls at the same time need.
const FILES_MANY: u64 = 1024;

/// Size of files that compiled components and downloads need, in bytes.
const FILE_BYTES_MIN: u64 = 1 << 30;

/// Memory that compiling a large component needs, in bytes.
const MEMORY_MIN: u64 = 1 << 30;

pub(super) fn examine() -> Vec<Finding> {
    let limit = |resource| getrlimit(resource).current;
    let mut findings = vec![version()];
    findings.extend(features(KernelFeatures::detect()));
    findings.push(sandbox());
    findings.push(addresses(limit(Resource::As)));
    findings.push(open_files(limit(Resource::Nofile)));
    findings.push(file_bytes(limit(Resource::Fsize)));
    findings.push(memory(cgroup_memory(Path::new("/"))));
    findings
}

fn version() -> Finding {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    Finding::ok(AREA, "version", release.trim())
}

fn features(features: KernelFeatures) -> [Finding; 2] {
    let feature = |name, is_there, since: &str, without: &str| {
        let value = if is_there { "available" } else { without };
        let finding = Finding::ok(AREA, name, value);
        if is_there {
            finding
        } else {
            finding.warning(format!(
                "Use Linux {since} or newer; in a container, allow the system call."
            ))
        }
    };
    [
        feature(
            "openat2",
            features.openat2,
            "5.6",
            "missing: tools open files more slowly",
        ),
        feature(
            "PAGEMAP_SCAN",
            features.pagemap_scan,
            "6.7",
            "missing: calls of tools with much memory end more slowly",
        ),
    ]
}

/// Starts a sandbox, without a cache.
fn sandbox() -> Finding {
    match Sandbox::new(SandboxConfig::default()) {
        Ok(_) => Finding::ok(AREA, "sandbox", "starts"),
        Err(error) => {
            let cause = anyhow::Error::new(error);
            let finding = Finding::ok(AREA, "sandbox", format!("does not start: {cause:#}"));
            finding.error("Raise the limits of this process: see `ulimit -a`.")
        }
    }
}

fn addresses(limit: Option<u64>) -> Finding {
    let finding = |value: String| Finding::ok(AREA, "address space", value);
    let next = "ulimit -v unlimited";
    match limit {
        None => finding("unlimited".to_owned()),
        Some(bytes) if bytes < ADDRESS_BYTES => {
            let needed = size(ADDRESS_BYTES);
            let what = format!("{}: commands need {needed} or more", size(bytes));
            finding(what).error(next)
        }
        Some(bytes) => {
            let what = "it limits the calls at the same time";
            finding(format!("{}: {what}", size(bytes))).warning(next)
        }
    }
}

fn open_files(limit: Option<u64>) -> Finding {
    let finding = |value: String| Finding::ok(AREA, "open files", value);
    match limit {
        None => finding("unlimited".to_owned()),
        Some(files) if files < FREE_DESCRIPTORS => {
            let what = format!("{files}: commands need {FREE_DESCRIPTORS} or more");
            finding(what).error("ulimit -n 4096")
        }
        Some(files) if files < FILES_MANY => {
            let what = format!("{files}: it limits the calls at the same time");
            finding(what).warning("ulimit -n 4096")
        }
        Some(files) => finding(files.to_string()),
    }
}

fn file_bytes(limit: Option<u64>) -> Finding {
    let finding = |value: String| Finding::ok(AREA, "file size", value);
    match limit {
        None => finding("unlimited".to_owned()),
        Some(bytes) if bytes < FILE_BYTES_MIN => {
            let what = "large components and the kits do not fit";
            finding(format!("{}: {what}", size(bytes))).warning("ulimit -f unlimited")
        }
        Some(bytes) => finding(size(bytes)),
    }
}

fn memory(limit: Option<u64>) -> Finding {
    let finding = |value: String| Finding::ok(AREA, "memory", value);
    match limit {
        None => finding("no limit of a control group".to_owned()),
        Some(bytes) if bytes < MEMORY_MIN => {
            let what = "limit of the control group: large components cannot be compiled";
            finding(format!("{}, {what}", size(bytes)))
                .warning("Raise the memory of the container, such as `docker run --memory 2g`.")
        }
        Some(bytes) => finding(format!("{}, limit of the control group", size(bytes))),
    }
}

/// Returns the lowest memory limit of the control groups (version 2) of this process. `root` is `/`.
fn cgroup_memory(root: &Path) -> Option<u64> {
    let groups = fs::read_to_string(root.join("proc/self/cgroup")).ok()?;
    let group = groups.lines().find_map(|line| line.strip_prefix("0::/"))?;
    let cgroups = root.join("sys/fs/cgroup");
    let limits = Path::new(group).ancestors().filter_map(|group| {
        let limit = fs::read_to_string(cgroups.join(group).join("memory.max")).ok()?;
        limit.trim().parse::<u64>().ok()
    });
    limits.min()
}

#[cfg(test)]
mod tests {
    use super::super::finding::State;
    use super::*;

    #[test]
    fn a_limit_that_stops_calls_is_an_error_and_one_that_slows_them_is_a_warning() {
        let check = |finding: Finding, state| assert_eq!(finding.state, state, "{finding:?}");
        check(addresses(None), State::Ok);
        check(addresses(Some(64 << 30)), State::Warning);
        check(addresses(Some(2 << 30)), State::Error);
        check(open_files(Some(1_048_576)), State::Ok);
        check(open_files(Some(256)), State::Warning);
        check(open_files(Some(6)), State::Error);
        check(file_bytes(None), State::Ok);
        check(file_bytes(Some(1 << 20)), State::Warning);
        check(memory(None), State::Ok);
        check(memory(Some(4 << 30)), State::Ok);
        check(memory(Some(256 << 20)), State::Warning);
    }

    #[test]
    fn the_lowest_limit_of_the_control_groups_counts() {
        let root = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        assert_eq!(cgroup_memory(root.path()), None);
        write("proc/self/cgroup", "0::/a/b\n");
        write("sys/fs/cgroup/a/b/memory.max", "max\n");
        assert_eq!(cgroup_memory(root.path()), None);
        write("sys/fs/cgroup/a/memory.max", "1073741824\n");
        assert_eq!(cgroup_memory(root.path()), Some(1 << 30));
    }
}
