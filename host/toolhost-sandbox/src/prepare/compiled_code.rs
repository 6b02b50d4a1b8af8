//! Compiles a component, and takes the initial data of its memory out of it.

use std::io;

use wasmtime::Engine;
use wasmtime::component::Component;

use super::describe::reason;
use crate::PrepareError;
use crate::component::code::load;
use crate::component::digest::ComponentDigest;
use crate::component::initial_data::take_out;
use crate::component::inspect::check_function_cost;
use crate::engine::memory::image::{Image, InitialData};
use crate::sandbox::SandboxInner;
/// A component that was compiled.
pub(super) struct CompiledCode {
    pub(super) component: Component,
    /// The initial data of a memory, if the code does not contain it.
    pub(super) image: Option<Image>,
    /// False where the code contains the data only because no image could be made this time.
    pub(super) is_cacheable: bool,
    /// Digest of what was compiled, if that is the component without the initial data.
    pub(super) code: Option<String>,
}

/// Compiles a component, if possible without the initial data of its largest memory.
pub(super) fn compile(
    sandbox: &SandboxInner,
    bytes: Vec<u8>,
    is_awaited: impl Fn() -> bool,
) -> Result<CompiledCode, PrepareError> {
    let limits = &sandbox.config.compile;
    let time = limits.time_for(bytes.len());
    check_function_cost(&bytes, limits)?;
    let TakenOut {
        bytes,
        image,
        is_cacheable,
    } = take_out_image(bytes, Image::copy_with_retries);
    let code = image.as_ref().map(|_| ComponentDigest::of(&bytes).to_hex());
    let same = code.as_ref().zip(sandbox.cache.as_ref());
    let same = same.and_then(|(code, cache)| cache.load_code(&sandbox.engine, code));
    let component = match (same, &sandbox.config.compiler) {
        (Some(component), _) => component,
        (None, Some(compiler)) => {
            let artifact = compiler.compile(&bytes, time, is_awaited)?;
            deserialize(&sandbox.engine, &artifact)?
        }
        (None, None) => deserialize(&sandbox.engine, &precompile(&sandbox.engine, &bytes)?)?,
    };
    Ok(CompiledCode {
        component,
        image,
        is_cacheable,
        code,
    })
}

/// A component, and the image that was taken out of it.
struct TakenOut {
    bytes: Vec<u8>,
    image: Option<Image>,
    is_cacheable: bool,
}

/// Takes the initial data of a memory out of a component. Where the system has no room for its image, the data
/// stays in the component, and the engine copies it into each instance.
fn take_out_image(
    bytes: Vec<u8>,
    copy: impl FnOnce(&InitialData) -> io::Result<Image>,
) -> TakenOut {
    let Some((without, data)) = take_out(&bytes) else {
        return TakenOut {
            bytes,
            image: None,
            is_cacheable: true,
        };
    };
    match copy(&data) {
        Ok(image) => TakenOut {
            bytes: without,
            image: Some(image),
            is_cacheable: true,
        },
        Err(error) => {
            tracing::warn!(%error, "cannot make an image of initial data: each instance copies it");
            TakenOut {
                bytes,
                image: None,
                is_cacheable: false,
            }
        }
    }
}

fn deserialize(engine: &Engine, artifact: &[u8]) -> Result<Component, PrepareError> {
    // It was compiled, so what fails here is the machine: it has no memory for the code, for example.
    load(engine, artifact).map_err(|error| {
        let reason = reason(&error);
        PrepareError::Host(format!("the compiled artifact is refused: {reason}"))
    })
}

fn precompile(engine: &Engine, component: &[u8]) -> Result<Vec<u8>, PrepareError> {
    let compiled = engine.precompile_component(component);
    compiled.map_err(|error| PrepareError::Compile {
        reason: reason(&error),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_stays_in_a_component_where_the_system_has_no_room_for_its_image() {
        // A component around a module with one memory, and a segment of one byte at 0.
        let memory = [5, 3, 1, 0, 2];
        let data = [11, 7, 1, 0, 0x41, 0, 0x0b, 1, b'x'];
        let module = [b"\0asm\x01\0\0\0".as_slice(), &memory, &data].concat();
        let length = u8::try_from(module.len()).unwrap();
        let section = [&[1, length], module.as_slice()].concat();
        let component = [b"\0asm\x0d\0\x01\0".as_slice(), &section].concat();

        let taken = take_out_image(component.clone(), Image::copy_with_retries);
        assert!(
            taken
                .image
                .is_some_and(|image| image.bytes().starts_with(b"x"))
        );
        assert!(taken.is_cacheable && taken.bytes != component);
        let refused = |_: &InitialData| Err(rustix::io::Errno::MFILE.into());
        let taken = take_out_image(component.clone(), refused);
        assert!(taken.image.is_none() && !taken.is_cacheable);
        assert_eq!(taken.bytes, component);
    }
}
