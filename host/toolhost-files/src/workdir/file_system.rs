//! File systems whose files are interfaces of the kernel: reading or writing one may change the machine. None of them is a workdir, and none is reached from one.

use std::os::fd::AsFd;
use std::sync::OnceLock;

use rustix::fs::{fstat, fstatfs, stat};
use rustix::io::Errno;

use crate::platform::{device, file_system_type, may_hold_devices};

/// The numbers by which the kernel names these file systems (`linux/magic.h`), and their names.
const KERNEL_FILE_SYSTEMS: [(u64, &str); 25] = [
    (0x9fa0, "proc"),
    (0x6265_6572, "sysfs"),
    (0x0027_e0eb, "cgroup"),
    (0x6367_7270, "cgroup2"),
    (0x6462_6720, "debugfs"),
    (0x7472_6163, "tracefs"),
    (0x7363_6673, "securityfs"),
    (0x1cd1, "devpts"),
    (0xcafe_4a11, "bpf"),
    (0x6265_6570, "configfs"),
    (0xf97c_ff8c, "selinuxfs"),
    (0x4341_5d53, "smackfs"),
    (0x5a3c_69f0, "apparmorfs"),
    (0xde5e_81e4, "efivarfs"),
    (0x6165_676c, "pstore"),
    (0x4249_4e4d, "binfmt_misc"),
    (0x6c6f_6f70, "binderfs"),
    (0x1980_0202, "mqueue"),
    (0x6759_6969, "rpc_pipefs"),
    (0x6e66_7364, "nfsd"),
    (0x6573_5543, "fusectl"),
    (0x0765_5821, "resctrl"),
    (0xabba_1974, "xenfs"),
    (0x6e73_6673, "nsfs"),
    (0x5346_544e, "functionfs"),
];

/// Returns the name of the file system of an open file or directory if it is an interface of the kernel.
pub(crate) fn kernel_file_system(file: impl AsFd) -> Result<Option<&'static str>, Errno> {
    let kind = file_system_type(&fstatfs(&file)?);
    let mut known = KERNEL_FILE_SYSTEMS.iter();
    if let Some((_, name)) = known.find(|(number, _)| *number == kind) {
        return Ok(Some(name));
    }
    let is_of_devices = may_hold_devices(kind) && Some(device(&fstat(&file)?)) == devices();
    Ok(is_of_devices.then_some("devtmpfs"))
}

/// Returns the number of the file system that holds the device files, unless they lie in the root directory's.
fn devices() -> Option<u64> {
    static DEVICES: OnceLock<Option<u64>> = OnceLock::new();
    *DEVICES.get_or_init(|| {
        let of = |path: &str| stat(path).ok().map(|found| device(&found));
        of("/dev/null").filter(|device| Some(*device) != of("/"))
    })
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use super::*;

    #[test]
    fn file_systems_of_the_kernel_are_told_from_those_that_hold_files() {
        let of = |path: &str| kernel_file_system(File::open(path).unwrap());
        assert_eq!(of("/proc"), Ok(Some("proc")));
        assert_eq!(of("/proc/self/fd"), Ok(Some("proc")));
        assert_eq!(of("/sys/kernel"), Ok(Some("sysfs")));
        assert_eq!(of("/"), Ok(None));
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(
            kernel_file_system(File::open(dir.path()).unwrap()),
            Ok(None)
        );
        if devices().is_some() {
            assert_eq!(of("/dev"), Ok(Some("devtmpfs")));
        }
    }
}
