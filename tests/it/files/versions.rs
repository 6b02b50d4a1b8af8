//! Components built against any WASI 0.2.x use the same filesystem.

use serde_json::json;
use toolhost_sandbox::PrepareError;
use toolhost_tests::wasi_version::importing;
use toolhost_tests::{Work, guest, invocation, sandbox};

use super::probe::{call, output};

#[tokio::test]
async fn components_of_every_wasi_0_2_release_get_the_same_results() {
    let work = Work::new();
    let usual = call("busy_files", "run", json!({}), &work.workdir, |_| ()).await;
    for version in ["0.2.0", "0.2.6", "0.2.9", "0.2.12", "0.2.100"] {
        let component = importing(version, &guest("busy_files"));
        let (tool, _) = sandbox().prepare(component).await.unwrap();
        let wasi = tool
            .facts()
            .imports
            .iter()
            .filter(|import| import.contains("@0.2."));
        let wasi: Vec<_> = wasi.collect();
        assert!(
            wasi.iter()
                .any(|import| import.starts_with("wasi:filesystem/types@"))
        );
        assert!(
            wasi.iter()
                .all(|import| import.ends_with(&format!("@{version}"))),
            "{wasi:?}"
        );
        let work = Work::new();
        let report = tool.call(invocation("run", &json!({}), Some(&work))).await;
        assert_eq!(output(&report), output(&usual), "{version}");
        assert_eq!(
            report.usage.bytes_written, usual.usage.bytes_written,
            "{version}"
        );
    }
}

#[tokio::test]
async fn a_component_of_another_wasi_version_is_refused_with_the_name_of_its_import() {
    let component = importing("0.3.0", &guest("busy_files"));
    let refused = sandbox().prepare(component).await.unwrap_err();
    let PrepareError::LaterWasi { version, imports } = refused else {
        panic!("{refused:?}");
    };
    assert_eq!(version, "0.3");
    assert!(imports.contains("wasi:filesystem/types@0.3.0"), "{imports}");
    for version in ["0.1.0", "1.0.0"] {
        let component = importing(version, &guest("busy_files"));
        let refused = sandbox().prepare(component).await.unwrap_err();
        let PrepareError::UnservedImport { import } = refused else {
            panic!("{version}: {refused:?}");
        };
        assert!(
            import.starts_with("wasi:") && import.ends_with(&format!("@{version}")),
            "{import}"
        );
    }
}
