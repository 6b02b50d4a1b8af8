//! Checks what function bodies cost the compiler beyond their size.

use wasmparser::{FunctionBody, Operator, Parser, Payload};

use super::check::{malformed, within};
use crate::PrepareError;
use crate::component::limits::CompileLimits;

/// Reads every instruction, which takes some 50 ms for 10 MB. Called only before compiling.
pub(crate) fn check_function_cost(
    component: &[u8],
    limits: &CompileLimits,
) -> Result<(), PrepareError> {
    for payload in Parser::new(0).parse_all(component) {
        if let Payload::CodeSectionEntry(body) = payload.map_err(malformed)? {
            let body = Body::read(&body).map_err(malformed)?;
            let what = "locals times blocks in one function";
            let local_blocks = body.locals.saturating_mul(body.blocks);
            within(what, local_blocks, limits.local_blocks)?;
            let what = "loops within each other in one function";
            within(what, body.nested_loops, limits.nested_loops)?;
        }
    }
    Ok(())
}

/// What makes compiling a function take time or memory beyond its size.
#[derive(Default)]
struct Body {
    locals: u64,
    /// For each block the compiler keeps the values of the locals that are set in or before it.
    blocks: u64,
    /// The compiler visits each loop once for each loop around it.
    nested_loops: u64,
}

impl Body {
    fn read(body: &FunctionBody<'_>) -> wasmparser::Result<Self> {
        let mut read = Self::default();
        for declared in body.get_locals_reader()? {
            read.locals = read.locals.saturating_add(declared?.0.into());
        }
        // For each open block, whether it is a loop.
        let mut open = Vec::new();
        let mut loops = 0;
        for operator in body.get_operators_reader()? {
            match operator? {
                Operator::Loop { .. } => {
                    read.blocks += 1;
                    loops += 1;
                    read.nested_loops = read.nested_loops.max(loops);
                    open.push(true);
                }
                Operator::Block { .. } | Operator::If { .. } | Operator::TryTable { .. } => {
                    read.blocks += 1;
                    open.push(false);
                }
                Operator::Else | Operator::BrIf { .. } | Operator::BrTable { .. } => {
                    read.blocks += 1;
                }
                Operator::End => loops -= u64::from(open.pop() == Some(true)),
                _ => {}
            }
        }
        Ok(read)
    }
}
