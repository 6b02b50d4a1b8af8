//! Fonts and colours of all plots.

use std::error::Error;

use plotters::style::{FontDesc, IntoFont as _, RGBColor};

use crate::peers::rows::{
    BUN, BUN_SPAWNED, ENGINE, EXTISM, EXTISM_KEPT, JAQ_KEPT, NODE, NODE_SPAWNED, OURS,
    PYTHON_SPAWNED, TUNED,
};

pub(super) type Drawn = Result<(), Box<dyn Error>>;

pub(super) const INK: RGBColor = RGBColor(40, 40, 40);
pub(super) const GRID: RGBColor = RGBColor(222, 222, 222);

pub(super) fn font(size: u32) -> FontDesc<'static> {
    ("sans-serif", size).into_font()
}

/// Returns the colour of a row, the same in all plots. Colours of Okabe and Ito, which people who are
/// colour-blind can tell apart, and darker ones for the processes per call.
pub(super) fn colour(row: &str) -> RGBColor {
    match row {
        OURS => RGBColor(0, 114, 178),
        ENGINE => RGBColor(110, 110, 110),
        TUNED => RGBColor(170, 170, 170),
        EXTISM => RGBColor(213, 94, 0),
        EXTISM_KEPT => RGBColor(243, 166, 110),
        BUN => RGBColor(0, 158, 115),
        BUN_SPAWNED => RGBColor(0, 96, 70),
        NODE | JAQ_KEPT => RGBColor(230, 159, 0),
        NODE_SPAWNED => RGBColor(150, 104, 0),
        PYTHON_SPAWNED => RGBColor(130, 64, 102),
        _ => RGBColor(204, 121, 167),
    }
}
