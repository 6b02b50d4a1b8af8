//! The modules of toolhost and of its sandbox that need no engine, compiled from their files, and the
//! [`properties`] that hold for every input.
//!
//! Both crates need the engine, and building it takes longer than most fuzz runs. The fuzzed modules do
//! not need it, so this crate includes their files: a module with a `path` is a folder of a crate, and
//! the modules in it are read from that folder. `crate::` and `toolhost_sandbox::`
//! name this crate.
#![expect(
    dead_code,
    unused_imports,
    reason = "parts of the included modules are used only by other modules of their crates"
)]

pub mod properties;

// In the included files, `toolhost_sandbox::` and `wasmtime::` name this crate.
extern crate self as toolhost_sandbox;
extern crate self as wasmtime;

/// Files of `toolhost`.
#[path = "../../../host/toolhost/src"]
mod toolhost {
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
mod sandbox {
    pub(crate) mod error;

    pub(crate) mod accounting {
        pub(crate) mod output;
    }

    pub(crate) mod component {
        pub(crate) mod inspect;
        pub(crate) mod limits;
        pub(crate) mod served_imports;
    }
}

pub(crate) use sandbox::{accounting, component};
pub(crate) use toolhost::middleware;

pub use sandbox::error::{CacheError, PrepareError, SandboxError, SandboxStartError};
pub use toolhost_contract::{
    AddressBlock, AddressBlockError, DiskLimit, FileId, Grants, HttpCredential,
    HttpCredentialError, HttpGrant, HttpRule, HttpRuleError, Limits, OriginError, Protected,
    WorkdirAccess,
};

/// Replaces the error of the engine.
pub use std::io::Error;
