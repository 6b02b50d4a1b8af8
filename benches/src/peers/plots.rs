//! Plots as SVG files.

mod latency;
mod palette;
mod throughput;

use std::fs;
use std::path::Path;

use super::tables::Section;
use palette::Drawn;

/// Writes all plots into a folder.
pub(super) fn write(folder: &Path, sections: &[Section]) -> Drawn {
    fs::create_dir_all(folder)?;
    latency::draw(&folder.join("latency.svg"), sections)?;
    throughput::draw(&folder.join("throughput.svg"), sections)
}
