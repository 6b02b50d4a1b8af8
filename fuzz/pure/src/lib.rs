//! The pure modules of toolhost and of its sandbox, compiled from their own files, and the
//! [`properties`] that hold of them whatever a stranger sends.
//!
//! Both crates need the engine, whose build is longer than most fuzz runs. What is fuzzed here does
//! not, so this crate takes the files themselves: a module with a `path` is a folder of theirs, and
//! the modules in it are found where they lie, with their tests. `crate::` and `toolhost_sandbox::`
//! mean this crate.
#![expect(
    dead_code,
    unused_imports,
    reason = "of the modules included, not everything is used without the rest of their crates"
)]
#![cfg_attr(
    test,
    expect(
        clippy::wildcard_enum_match_arm,
        reason = "the tests of the modules included are linted by their own crates"
    )
)]

pub mod properties;

// Where the files included say `toolhost_sandbox::` or `wasmtime::`, they mean what is below.
extern crate self as toolhost_sandbox;
extern crate self as wasmtime;

/// Files of `toolhost`.
#[path = "../../../host/toolhost/src"]
mod house {
    pub(crate) mod workspace;

    pub(crate) mod call {
        pub(crate) mod hints;
    }

    pub(crate) mod middleware {
        pub(crate) mod progress;
    }
}

/// Files of `toolhost-sandbox`.
#[path = "../../../host/toolhost-sandbox/src"]
mod cell {
    pub(crate) mod error;

    pub(crate) mod accounting {
        pub(crate) mod output;
    }

    pub(crate) mod component {
        pub(crate) mod inspect;
        pub(crate) mod limits;
        pub(crate) mod served_imports;

        pub(crate) mod cache {
            pub(crate) mod error;
        }
    }
}

pub(crate) use cell::{accounting, component};
pub(crate) use house::middleware;

pub use cell::error::{PrepareError, SandboxError, SandboxStartError};
pub use toolhost_contract::{
    AddressBlock, AddressBlockError, DiskLimit, FileId, Grants, HttpCredential,
    HttpCredentialError, HttpGrant, HttpRule, HttpRuleError, Limits, OriginError, Protected,
    WorkdirAccess,
};

/// Stands for the error of the engine, which is not here.
pub use std::io::Error;
