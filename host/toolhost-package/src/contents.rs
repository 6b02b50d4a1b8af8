//! What a package consists of: a component, what it imports and exports, and its Tool resource.

use std::collections::BTreeMap;

use bytes::Bytes;
use serde::Deserialize;
use serde_json::json;
use toolhost_contract::{JsonLimits, text};

use crate::registry::{Descriptor, MANIFEST_TYPE, digest_of};

/// The annotation of a package's manifest that has its Tool resource, as JSON. It is no second layer, because other
/// clients expect one layer, and because the digest of the manifest, which a signature names, covers it.
pub const TOOL_ANNOTATION: &str = "ai.goondan.tool";

/// Longest Tool resource in an annotation, in bytes. A whole manifest has at most 1 MiB.
const TOOL_MAX: usize = 512 << 10;

pub(crate) const CONFIG_TYPE: &str = "application/vnd.wasm.config.v0+json";
pub(crate) const COMPONENT_TYPE: &str = "application/wasm";

/// A package that can be written to a registry: the parts of its manifest, which have the same bytes for the same
/// component and Tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackageContents {
    /// The component.
    pub component: Descriptor,
    /// The config, in the format of the CNCF for WebAssembly.
    pub config: Bytes,
    /// The manifest.
    pub manifest: Bytes,
}

/// Why a manifest is no package of a tool.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ContentsError {
    /// It is not an OCI image manifest.
    #[error("it is not a manifest: {0}")]
    NotAManifest(String),
    /// It lists manifests, one for each platform.
    #[error(
        "it is a list of manifests; a component is for all platforms, so name the manifest by its digest"
    )]
    Index,
    /// It has another config than a component.
    #[error("it is not a WebAssembly component: its config is of the type '{0}'")]
    OtherConfig(String),
    /// It has not one layer, of type `application/wasm`.
    #[error("it has {0} instead of one layer application/wasm")]
    Layers(String),
    /// The Tool resource is too long.
    #[error("its Tool resource is longer than {TOOL_MAX} bytes")]
    ToolTooLong,
}

/// A package's manifest.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ImageManifest {
    schema_version: u32,
    #[serde(default)]
    media_type: Option<String>,
    config: Option<Descriptor>,
    #[serde(default)]
    layers: Vec<Descriptor>,
    #[serde(default)]
    manifests: Vec<Descriptor>,
    #[serde(default)]
    annotations: BTreeMap<String, String>,
}

impl PackageContents {
    /// Makes the parts of a package. `tool` is its Tool resource as JSON, `imports` and `exports` are the interfaces of
    /// the component, `annotations` are added to those of the manifest.
    ///
    /// # Errors
    /// [`ContentsError::ToolTooLong`].
    pub fn new(
        component: &[u8],
        tool: &str,
        imports: &[String],
        exports: &[String],
        mut annotations: BTreeMap<String, String>,
    ) -> Result<Self, ContentsError> {
        if tool.len() > TOOL_MAX {
            return Err(ContentsError::ToolTooLong);
        }
        annotations.insert(TOOL_ANNOTATION.to_owned(), tool.to_owned());
        let component = Descriptor::of(COMPONENT_TYPE, component);
        let config = json!({
            "architecture": "wasm",
            "os": "wasip2",
            "layerDigests": [component.digest],
            "component": {"imports": imports, "exports": exports},
        });
        let config = Bytes::from(config.to_string());
        let manifest = json!({
            "schemaVersion": 2,
            "mediaType": MANIFEST_TYPE,
            "config": Descriptor::of(CONFIG_TYPE, &config),
            "layers": [component],
            "annotations": annotations,
        });
        Ok(Self {
            component,
            config,
            manifest: Bytes::from(manifest.to_string()),
        })
    }

    /// Returns the media type of the config.
    pub fn config_type(&self) -> &'static str {
        CONFIG_TYPE
    }

    /// Returns the digest of the manifest.
    pub fn digest(&self) -> String {
        digest_of(&self.manifest)
    }

    /// Reads the manifest of a package. Returns the descriptor of the component, and its Tool resource if it has one.
    ///
    /// # Errors
    /// [`ContentsError`].
    pub fn read(manifest: &[u8]) -> Result<(Descriptor, Option<String>), ContentsError> {
        let mut manifest: ImageManifest = JsonLimits::ANSWER
            .parse_bytes(manifest)
            .map_err(|error| ContentsError::NotAManifest(text::shorten(&error.to_string(), 100)))?;
        let media_type = manifest.media_type.as_deref().unwrap_or(MANIFEST_TYPE);
        if media_type != MANIFEST_TYPE || !manifest.manifests.is_empty() {
            return Err(ContentsError::Index);
        }
        if manifest.schema_version != 2 {
            return Err(ContentsError::NotAManifest(format!(
                "schemaVersion {}",
                manifest.schema_version
            )));
        }
        let config = manifest
            .config
            .map(|config| config.media_type)
            .unwrap_or_default();
        if config != CONFIG_TYPE {
            return Err(ContentsError::OtherConfig(text::shorten(&config, 100)));
        }
        let component = match (manifest.layers.pop(), manifest.layers.len()) {
            (Some(layer), 0) if layer.media_type == COMPONENT_TYPE => layer,
            (Some(layer), 0) => {
                let other = text::shorten(&layer.media_type, 100);
                return Err(ContentsError::Layers(format!("a layer {other}")));
            }
            (None, _) => return Err(ContentsError::Layers("no layer".to_owned())),
            (Some(_), others) => {
                return Err(ContentsError::Layers(format!("{} layers", others + 1)));
            }
        };
        let tool = manifest.annotations.remove(TOOL_ANNOTATION);
        if tool.as_ref().is_some_and(|tool| tool.len() > TOOL_MAX) {
            Err(ContentsError::ToolTooLong)
        } else {
            Ok((component, tool))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contents() -> PackageContents {
        let names = |names: &[&str]| {
            names
                .iter()
                .map(|&name| name.to_owned())
                .collect::<Vec<_>>()
        };
        let imports = names(&["wasi:http/types@0.2.9"]);
        let exports = names(&["goondan:tool/handlers@2.0.0"]);
        PackageContents::new(
            b"component",
            "kind: Tool",
            &imports,
            &exports,
            BTreeMap::new(),
        )
        .unwrap()
    }

    #[test]
    fn a_package_has_one_layer_and_the_config_of_the_cncf() {
        let contents = contents();
        assert_eq!(contents, self::contents());
        let (component, tool) = PackageContents::read(&contents.manifest).unwrap();
        assert_eq!(component, contents.component);
        assert_eq!(component.digest, digest_of(b"component"));
        assert_eq!(tool.unwrap(), "kind: Tool");
        let config: serde_json::Value = serde_json::from_slice(&contents.config).unwrap();
        assert_eq!(config["architecture"], "wasm");
        assert_eq!(config["os"], "wasip2");
        assert_eq!(config["layerDigests"], json!([component.digest]));
        assert_eq!(
            config["component"]["imports"],
            json!(["wasi:http/types@0.2.9"])
        );
    }

    #[test]
    fn what_is_no_package_of_a_tool_is_refused_with_its_reason() {
        let manifest: serde_json::Value = serde_json::from_slice(&contents().manifest).unwrap();
        let with = |name: &str, value: serde_json::Value| {
            let mut changed = manifest.clone();
            changed[name] = value;
            PackageContents::read(changed.to_string().as_bytes())
                .unwrap_err()
                .to_string()
        };
        let layer = &manifest["layers"][0];
        assert!(with("layers", json!([layer, layer])).contains("2 layers"));
        assert!(with("layers", json!([])).contains("no layer"));
        let mut tar = layer.clone();
        tar["mediaType"] = json!("application/x-tar");
        assert!(with("layers", json!([tar])).contains("application/x-tar"));
        assert!(with("config", json!(tar)).contains("application/x-tar"));
        assert!(
            with(
                "mediaType",
                json!("application/vnd.oci.image.index.v1+json")
            )
            .contains("list of manifests")
        );
        assert!(with("manifests", json!([layer])).contains("list of manifests"));
        assert!(with("schemaVersion", json!(1)).contains("schemaVersion"));
        let long = json!({TOOL_ANNOTATION: "x".repeat(TOOL_MAX + 1)});
        assert!(with("annotations", long).contains("longer"));
        assert!(PackageContents::read(b"[").is_err());
    }
}
