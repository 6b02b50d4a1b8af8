//! Settings of the sandbox, its cache of compiled components, and what it reports of a component.

pub use crate::call::failure::{prepare_error_code, prepare_error_help};
pub use crate::inspect::{DescribeFault, Inspection, inspect};
pub use toolhost_sandbox::{
    CacheConfig, CacheEntry, CacheError, CacheVerdict, CodeOrigin, Compiler, ComponentFacts,
    FileIo, Grants, HandlerSpec, KernelFeatures, Limits, LogLevel, PrepareError, PrepareStage,
    PreparedCount, SandboxStartError,
};
