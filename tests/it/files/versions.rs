//! Components built against any WASI 0.2.x meet the same filesystem.

use serde_json::json;
use toolhost_sandbox::PrepareError;
use toolhost_tests::{Work, guest, invocation, sandbox};

use super::probe::{call, output};

/// Number of the section that holds a component's imports.
const IMPORTS: u8 = 10;

/// The component with every import from WASI in another version.
///
/// Sections are copied; in that of the imports each name is written anew, with its length.
fn importing(version: &str, component: &[u8]) -> Vec<u8> {
    let (preamble, mut rest) = component.split_at(8);
    let mut made = preamble.to_vec();
    while let Some((id, after)) = rest.split_first() {
        let (size, contents) = read_leb(after);
        let (section, after) = contents.split_at(size);
        let section = match *id {
            IMPORTS => renamed(version, section),
            _ => section.to_vec(),
        };
        made.push(*id);
        write_leb(&mut made, section.len());
        made.extend(section);
        rest = after;
    }
    made
}

fn renamed(version: &str, section: &[u8]) -> Vec<u8> {
    let mut made = Vec::new();
    let mut at = 0;
    while at < section.len() {
        // A name is its length, in one byte for those of WASI, and its text.
        let length = usize::from(section[at]);
        let name = section
            .get(at + 1..at + 1 + length)
            .and_then(|name| std::str::from_utf8(name).ok());
        match name.and_then(|name| name.split_once("@0.2.")) {
            Some((interface, _)) if interface.starts_with("wasi:") => {
                let name = format!("{interface}@{version}");
                made.push(u8::try_from(name.len()).unwrap());
                made.extend(name.bytes());
                at += 1 + length;
            }
            _ => {
                made.push(section[at]);
                at += 1;
            }
        }
    }
    made
}

fn read_leb(bytes: &[u8]) -> (usize, &[u8]) {
    let mut value = 0;
    for (place, byte) in bytes.iter().enumerate() {
        value |= usize::from(byte & 0x7f) << (7 * place);
        if byte & 0x80 == 0 {
            return (value, &bytes[place + 1..]);
        }
    }
    panic!("a number without an end")
}

fn write_leb(to: &mut Vec<u8>, mut value: usize) {
    while value >= 0x80 {
        to.push((value & 0x7f) as u8 | 0x80);
        value >>= 7;
    }
    to.push(value as u8);
}

#[tokio::test]
async fn components_of_every_wasi_0_2_do_the_same() {
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
async fn a_component_of_another_wasi_is_refused_by_the_name_of_its_import() {
    for version in ["0.3.0", "0.1.0", "1.0.0"] {
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
