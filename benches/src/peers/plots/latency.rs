//! One call at a time: a bar for the median of each row, and a line to the 99th percentile.

use std::ops::RangeInclusive;
use std::path::Path;

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::palette::{Drawn, GRID, INK, colour, font};
use crate::peers::rounds::Cell;
use crate::peers::spread::micros;
use crate::peers::tables::Section;

const WIDTH: u32 = 900;
const ROW: i32 = 22;
const TITLE: i32 = 40;
/// Where bars begin and where their axis ends.
const BARS: RangeInclusive<i32> = 230..=780;

pub(super) fn draw(path: &Path, sections: &[Section]) -> Drawn {
    let panels: Vec<_> = sections
        .iter()
        .map(|section| (section, measured(section)))
        .collect();
    let height: i32 = panels
        .iter()
        .map(|(_, rows)| TITLE + ROW * rows.len() as i32 + 14)
        .sum();
    let all = panels
        .iter()
        .flat_map(|(_, rows)| rows)
        .map(|(_, cell)| cell);
    let scale = Scale::around(all);
    let area = SVGBackend::new(path, (WIDTH, height as u32 + 10)).into_drawing_area();
    area.fill(&WHITE)?;
    let mut top = 0;
    for (section, rows) in &panels {
        let title = format!(
            "{}: median and 99th percentile of one call",
            section.title.replace('`', "")
        );
        area.draw(&Text::new(title, (10, top + 14), font(15).color(&INK)))?;
        let bottom = top + TITLE + ROW * rows.len() as i32;
        for decade in scale.decades() {
            let x = scale.x(decade);
            area.draw(&PathElement::new([(x, top + TITLE - 4), (x, bottom)], GRID))?;
            let style = font(10)
                .color(&INK)
                .pos(Pos::new(HPos::Center, VPos::Bottom));
            area.draw(&Text::new(micros(decade), (x, top + TITLE - 5), style))?;
        }
        for (index, (name, cell)) in rows.iter().enumerate() {
            let y = top + TITLE + ROW * index as i32;
            bar(&area, &scale, name, cell, y)?;
        }
        top = bottom + 14;
    }
    area.present()?;
    Ok(())
}

fn measured(section: &Section) -> Vec<(&'static str, &Cell)> {
    let rows = section.rows.iter();
    rows.filter_map(|row| Some((row.name, section.cell(row.name, 1)?)))
        .collect()
}

fn bar(
    area: &DrawingArea<SVGBackend<'_>, plotters::coord::Shift>,
    scale: &Scale,
    name: &str,
    cell: &Cell,
    y: i32,
) -> Drawn {
    let (median, late) = (cell.percentile(50), cell.percentile(99));
    let (begin, middle) = (*BARS.start(), y + ROW / 2 - 1);
    let right = font(12)
        .color(&INK)
        .pos(Pos::new(HPos::Right, VPos::Center));
    area.draw(&Text::new(name.to_owned(), (begin - 8, middle), right))?;
    let bar = [(begin, y + 2), (scale.x(median), y + ROW - 4)];
    area.draw(&Rectangle::new(bar, colour(name).filled()))?;
    let whisker = [(scale.x(median), middle), (scale.x(late), middle)];
    area.draw(&PathElement::new(whisker, INK))?;
    let left = font(11).color(&INK).pos(Pos::new(HPos::Left, VPos::Center));
    let label = format!("{}, {}", micros(median), micros(late));
    area.draw(&Text::new(label, (scale.x(late) + 6, middle), left))?;
    Ok(())
}

/// A logarithmic axis of microseconds, in whole decades.
struct Scale {
    first: i32,
    last: i32,
}

impl Scale {
    fn around<'a>(cells: impl Iterator<Item = &'a &'a Cell> + Clone) -> Self {
        let values = cells.flat_map(|cell| [cell.percentile(50), cell.percentile(99)]);
        let lowest = values.clone().fold(f64::MAX, f64::min);
        let highest = values.fold(1.0, f64::max);
        Self {
            first: lowest.log10().floor() as i32,
            last: highest.log10().ceil() as i32,
        }
    }

    fn x(&self, micros: f64) -> i32 {
        let part = (micros.log10() - f64::from(self.first)) / f64::from(self.last - self.first);
        BARS.start() + (f64::from(BARS.end() - BARS.start()) * part) as i32
    }

    fn decades(&self) -> impl Iterator<Item = f64> + use<> {
        (self.first..=self.last).map(|power| 10_f64.powi(power))
    }
}
