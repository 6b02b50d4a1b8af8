//! Counts what the modules and components of a file consist of, however often they are instantiated.

use wasmparser::{DataKind, Encoding, Payload};

use super::check::{elements_in, malformed, within};
use crate::PrepareError;
use crate::component::limits::CompileLimits;

#[derive(Default)]
pub(super) struct Count {
    functions: u64,
    types: u64,
    modules: u64,
    globals: u64,
    pub(super) nesting: u64,
    elements: u64,
    segments: u64,
    initialiser_bytes: u64,
}

impl Count {
    pub(super) fn add(
        &mut self,
        payload: &Payload<'_>,
        limits: &CompileLimits,
    ) -> Result<(), PrepareError> {
        match payload {
            Payload::Version { encoding, .. } => {
                self.nesting += 1;
                self.modules += 1;
                if *encoding == Encoding::Component {
                    within("nested components", self.nesting, limits.nesting)?;
                }
                within("modules", self.modules, limits.modules)?;
            }
            Payload::End(_) => self.nesting = self.nesting.saturating_sub(1),
            Payload::FunctionSection(section) => {
                self.functions += u64::from(section.count());
                within("functions", self.functions, limits.functions)?;
            }
            Payload::CodeSectionEntry(body) => {
                let bytes = body.range().len() as u64;
                within("bytes in one function", bytes, limits.function_bytes)?;
            }
            Payload::TypeSection(section) => {
                self.types += u64::from(section.count());
                within("types", self.types, limits.types)?;
            }
            Payload::ComponentTypeSection(section) => {
                self.types += u64::from(section.count());
                within("types", self.types, limits.types)?;
            }
            Payload::GlobalSection(section) => {
                self.globals += u64::from(section.count());
                within("globals", self.globals, limits.globals)?;
                self.add_initialiser(section.range().len(), limits)?;
            }
            Payload::ElementSection(section) => {
                self.segments += u64::from(section.count());
                within("segments", self.segments, limits.segments)?;
                self.add_initialiser(section.range().len(), limits)?;
                self.elements = self.elements.saturating_add(elements_in(section)?);
                within("elements", self.elements, limits.elements)?;
            }
            Payload::DataSection(section) => {
                self.segments += u64::from(section.count());
                within("segments", self.segments, limits.segments)?;
                for data in section.clone() {
                    if let DataKind::Active { offset_expr, .. } = data.map_err(malformed)?.kind {
                        let bytes = offset_expr.get_binary_reader().bytes_remaining();
                        self.add_initialiser(bytes, limits)?;
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn add_initialiser(
        &mut self,
        bytes: usize,
        limits: &CompileLimits,
    ) -> Result<(), PrepareError> {
        self.initialiser_bytes = self.initialiser_bytes.saturating_add(bytes as u64);
        let what = "bytes of initialisers";
        within(what, self.initialiser_bytes, limits.initialiser_bytes)
    }
}
