//! The limits of this process (`ulimit`), and the errors where they are too low.

use std::fs;
use std::panic;

use anyhow::anyhow;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::exit::Exit;
use crate::failure::Failure;
use crate::terminal::Style;

/// Descriptors that a command opens for itself. Each tool needs two more, and each call some.
pub(crate) const FREE_DESCRIPTORS: u64 = 48;

/// Fewest bytes of address space: a memory of a tool reserves 4 GiB of addresses.
pub(crate) const ADDRESS_BYTES: u64 = 8 << 30;

/// Beginning of the panic of tokio where the system starts no further thread.
const NO_THREAD: &str = "OS can't spawn worker thread";

/// Raises the limit of open files as far as this process may: 1,000 tools need 2,000 descriptors.
///
/// # Errors
/// Where a limit is so low that no command can run.
pub(crate) fn prepare() -> Result<(), Failure> {
    let files = getrlimit(Resource::Nofile);
    if files.current != files.maximum {
        let raised = Rlimit {
            current: files.maximum,
            ..files
        };
        // Without it the limit is as before.
        let _ = setrlimit(Resource::Nofile, raised);
    }
    check_descriptors(getrlimit(Resource::Nofile).current)?;
    check_addresses(getrlimit(Resource::As).current)
}

fn check_descriptors(limit: Option<u64>) -> Result<(), Failure> {
    let Some(limit) = limit else { return Ok(()) };
    // Cannot be read where no descriptor is free.
    let open = fs::read_dir("/proc/self/fd").map_or(0, Iterator::count) as u64;
    if limit.saturating_sub(open) >= FREE_DESCRIPTORS {
        return Ok(());
    }
    let error = anyhow!(
        "the limit of open files is {limit}, and {open} are open: toolhost needs \
         {FREE_DESCRIPTORS} more"
    );
    Err(Failure::from(error).hint("Raise the limit first: `ulimit -n 1024`."))
}

fn check_addresses(limit: Option<u64>) -> Result<(), Failure> {
    let Some(limit) = limit.filter(|limit| *limit < ADDRESS_BYTES) else {
        return Ok(());
    };
    let (limit, needed) = (limit >> 20, ADDRESS_BYTES >> 20);
    let error = anyhow!(
        "the limit of address space is {limit} MiB: toolhost needs at least {needed} MiB, \
         because each memory of a tool reserves 4,096 MiB of addresses"
    );
    let hint = "Run `ulimit -v unlimited` first. The memory that tools use has limits of its own.";
    Err(Failure::from(error).hint(hint))
}

/// Reports that the system starts no further thread as an error, not as a panic. Ends the process where the
/// panic is within tokio, which then has too few threads to go on; the host catches its own.
#[expect(
    clippy::disallowed_methods,
    reason = "a runtime without its threads waits for them for ever when it is dropped"
)]
pub(crate) fn report_missing_threads(style: Style) {
    let others = panic::take_hook();
    panic::set_hook(Box::new(move |panic| {
        let message = panic.payload_as_str().unwrap_or_default();
        let Some(reason) = message.strip_prefix(NO_THREAD) else {
            return others(panic);
        };
        no_thread(reason.trim_start_matches(": ")).print(style);
        if panic
            .location()
            .is_some_and(|at| is_file_of_tokio(at.file()))
        {
            std::process::exit(Exit::Unusable.code().into());
        }
    }));
}

fn no_thread(reason: &str) -> Failure {
    let error = anyhow!("the system starts no further thread for toolhost: {reason}");
    Failure::from(error).hint(
        "Raise the limits of processes and of address space (`ulimit -u`, `ulimit -v`, the \
         container's limit of processes), or end other processes.",
    )
}

/// Whether a file of source code is one of tokio's.
fn is_file_of_tokio(path: &str) -> bool {
    path.split('/')
        .any(|part| part == "tokio" || part.starts_with("tokio-"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_that_are_too_low_are_errors_with_the_command_that_raises_them() {
        let error = check_descriptors(Some(6)).unwrap_err();
        assert!(
            error
                .message()
                .starts_with("the limit of open files is 6, ")
        );
        assert!(error.hint.unwrap().contains("`ulimit -n 1024`"));
        check_descriptors(Some(1_000_000)).unwrap();
        check_descriptors(None).unwrap();

        let error = check_addresses(Some(1 << 30)).unwrap_err();
        let message = error.message();
        assert!(
            message.starts_with("the limit of address space is 1024 MiB: "),
            "{message}"
        );
        assert!(error.hint.unwrap().contains("`ulimit -v unlimited`"));
        check_addresses(Some(ADDRESS_BYTES)).unwrap();
        check_addresses(None).unwrap();
    }

    #[test]
    fn files_of_tokio_are_recognized() {
        assert!(is_file_of_tokio(
            "/home/a/.cargo/registry/src/x/tokio-1.54.1/src/a.rs"
        ));
        assert!(is_file_of_tokio("vendor/tokio/src/a.rs"));
        assert!(!is_file_of_tokio(file!()));
    }
}
