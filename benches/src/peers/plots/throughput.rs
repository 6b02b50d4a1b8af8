//! Calls per second by the number of calls in flight.

use std::path::Path;

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::palette::{Drawn, GRID, INK, colour, font};
use crate::measure::median;
use crate::peers::rounds::IN_FLIGHT;
use crate::peers::spread::grouped;
use crate::peers::tables::Section;

const PANEL: (u32, u32) = (540, 330);

/// Width of a panel's chart; the names of its rows are beside it.
const CHART: u32 = 390;

pub(super) fn draw(path: &Path, sections: &[Section]) -> Drawn {
    let lines = sections.len().div_ceil(2);
    let size = (PANEL.0 * 2, PANEL.1 * lines as u32);
    let area = SVGBackend::new(path, size).into_drawing_area();
    area.fill(&WHITE)?;
    for (section, panel) in sections.iter().zip(area.split_evenly((lines, 2))) {
        draw_panel(section, &panel)?;
    }
    area.present()?;
    Ok(())
}

fn draw_panel(section: &Section, panel: &DrawingArea<SVGBackend<'_>, Shift>) -> Drawn {
    let rows: Vec<_> = section
        .rows
        .iter()
        .map(|row| (row.name, points(section, row.name)))
        .collect();
    let values = rows
        .iter()
        .flat_map(|(_, points)| points)
        .map(|(_, value)| *value);
    let highest = values.clone().fold(1.0, f64::max) * 2.0;
    let lowest = values.fold(highest, f64::min) / 2.0;
    let in_flight = (0.9..300.0_f64).log_scale();
    let (chart, legend) = panel.split_horizontally(CHART);
    let mut chart = ChartBuilder::on(&chart)
        .caption(section.title.replace('`', ""), font(15).color(&INK))
        .margin(8)
        .x_label_area_size(32)
        .y_label_area_size(66)
        .build_cartesian_2d(in_flight, (lowest..highest).log_scale())?;
    chart
        .configure_mesh()
        .bold_line_style(GRID)
        .light_line_style(TRANSPARENT)
        .x_desc("calls in flight")
        .y_desc("calls per second")
        .y_labels(6)
        .y_label_formatter(&|value| grouped(*value))
        .x_label_formatter(&|value| grouped(*value))
        .label_style(font(10).color(&INK))
        .draw()?;
    let measured = rows.into_iter().filter(|(_, points)| !points.is_empty());
    for (y, (name, points)) in (40..).step_by(15).zip(measured) {
        let style = colour(name).stroke_width(2);
        let marks = points
            .clone()
            .into_iter()
            .map(move |at| Circle::new(at, 3, colour(name).filled()));
        chart.draw_series(LineSeries::new(points, style))?;
        chart.draw_series(marks)?;
        legend.draw(&PathElement::new([(4, y), (18, y)], style))?;
        let left = font(10).color(&INK).pos(Pos::new(HPos::Left, VPos::Center));
        legend.draw(&Text::new(name, (22, y), left))?;
    }
    Ok(())
}

fn points(section: &Section, name: &str) -> Vec<(f64, f64)> {
    let point = |in_flight: usize| {
        let cell = section.cell(name, in_flight)?;
        Some((in_flight as f64, median(cell.per_second.clone())))
    };
    IN_FLIGHT.into_iter().filter_map(point).collect()
}
