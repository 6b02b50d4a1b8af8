//! `toolhost component`: makes a component of a core module.

use anyhow::Context;

use crate::args::ComponentArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::files;
use crate::terminal::progress::size;
use crate::terminal::{stdout, text};
use crate::toolchains::core_module;

/// Largest core module, in bytes. Larger than any component that a host loads by default.
const MAX_BYTES: u64 = 256 << 20;

pub(crate) async fn component(args: &ComponentArgs) -> Result<Exit, Failure> {
    let name = text::path(&args.file);
    let module = files::read_async("the core module", &args.file, MAX_BYTES).await?;
    let encoded = files::spawn_blocking(move || Ok(core_module::to_component(&module))).await?;
    let component = encoded.map_err(|refusal| {
        let error = refusal
            .why
            .context(format!("{name} cannot be made a component"));
        Failure::from(error).hint(refusal.next_move).refused()
    })?;
    let output = text::path(&args.output);
    files::replace(&args.output, &component)
        .with_context(|| format!("{output} cannot be written"))?;
    stdout::write(&format!(
        "wrote {output} ({})",
        size(component.len() as u64)
    ))?;
    Ok(Exit::Done)
}
