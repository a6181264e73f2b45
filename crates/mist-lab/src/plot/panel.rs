//! One chart of a figure.

use super::axis::{Axis, place};
use super::legend::Legend;
use super::text::{escaped, shortened};
use super::{Chart, Series};

/// The size of a chart without its legend, in pixels like all lengths here.
pub(super) const WIDTH: f64 = 440.0;
pub(super) const HEIGHT: f64 = 316.0;

/// The frame within the chart.
pub(super) const PLOT_LEFT: f64 = 66.0;
pub(super) const PLOT_WIDTH: f64 = 356.0;
const PLOT_TOP: f64 = 32.0;
const PLOT_HEIGHT: f64 = 230.0;
const PLOT_BOTTOM: f64 = PLOT_TOP + PLOT_HEIGHT;

/// Lines of no more points than this show them.
const MAX_MARKERS: usize = 24;

const MAX_TITLE_LETTERS: usize = 52;
const MAX_LABEL_LETTERS: usize = 40;

/// A chart with its axes, and each line as places along them.
pub(super) struct Panel<'a> {
    chart: &'a Chart,
    x: Axis,
    y: Axis,
    lines: Vec<(&'a Series, Vec<(f64, f64)>)>,
}

impl<'a> Panel<'a> {
    /// Fits axes to the points that can be shown.
    pub fn of(chart: &'a Chart) -> Self {
        let shown = |&(x, y): &(f64, f64)| place(x, chart.log_x).zip(place(y, chart.log_y));
        let series = chart.series.iter();
        let mut lines: Vec<(&Series, Vec<(f64, f64)>)> = series
            .map(|series| (series, series.points.iter().filter_map(shown).collect()))
            .collect();
        lines.sort_by_key(|(series, _)| !series.faint);
        let points = || lines.iter().flat_map(|(_, points)| points);
        let x = Axis::around(points().map(|&(x, _)| x), chart.log_x);
        let y = Axis::around(points().map(|&(_, y)| y), chart.log_y);
        Self { chart, x, y, lines }
    }

    /// The chart without its legend, which says what the lines look like.
    pub fn to_svg(&self, legend: &Legend) -> String {
        self.axes() + &self.labels() + &self.curves(legend)
    }

    fn axes(&self) -> String {
        let mut svg = String::new();
        for tick in self.x.ticks() {
            let x = PLOT_LEFT + tick.share * PLOT_WIDTH;
            svg += &format!(
                "<path d=\"M{x:.1} {PLOT_TOP}v{PLOT_HEIGHT}\" stroke=\"#e4e4e4\"/>\
                 <text x=\"{x:.1}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n",
                PLOT_BOTTOM + 15.0,
                tick.label
            );
        }
        for tick in self.y.ticks() {
            let y = PLOT_BOTTOM - tick.share * PLOT_HEIGHT;
            svg += &format!(
                "<path d=\"M{PLOT_LEFT} {y:.1}h{PLOT_WIDTH}\" stroke=\"#e4e4e4\"/>\
                 <text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>\n",
                PLOT_LEFT - 6.0,
                y + 4.0,
                tick.label
            );
        }
        svg + &format!(
            "<rect x=\"{PLOT_LEFT}\" y=\"{PLOT_TOP}\" width=\"{PLOT_WIDTH}\" height=\"{PLOT_HEIGHT}\" \
             fill=\"none\" stroke=\"#999\"/>\n"
        )
    }

    fn labels(&self) -> String {
        let middle_x = PLOT_LEFT + PLOT_WIDTH / 2.0;
        let middle_y = PLOT_TOP + PLOT_HEIGHT / 2.0;
        format!(
            "<text x=\"{middle_x}\" y=\"{}\" text-anchor=\"middle\" font-size=\"13\" font-weight=\"bold\">{}</text>\n\
             <text x=\"{middle_x}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n\
             <text transform=\"translate(16,{middle_y}) rotate(-90)\" text-anchor=\"middle\">{}</text>\n",
            PLOT_TOP - 12.0,
            escaped(&shortened(&self.chart.title, MAX_TITLE_LETTERS)),
            PLOT_BOTTOM + 34.0,
            escaped(&shortened(&self.chart.x_label, MAX_LABEL_LETTERS)),
            escaped(&shortened(&self.chart.y_label, MAX_LABEL_LETTERS)),
        )
    }

    fn curves(&self, legend: &Legend) -> String {
        let mut svg = String::new();
        for (series, points) in &self.lines {
            let position = |&(x, y): &(f64, f64)| {
                let x = PLOT_LEFT + self.x.share(x) * PLOT_WIDTH;
                (x, PLOT_BOTTOM - self.y.share(y) * PLOT_HEIGHT)
            };
            let positions: Vec<(f64, f64)> = points.iter().map(position).collect();
            let corners = positions.iter().map(|(x, y)| format!("{x:.1},{y:.1}"));
            svg += &format!(
                "<polyline points=\"{}\" {}/>\n",
                corners.collect::<Vec<_>>().join(" "),
                legend.stroke(&series.name, series.faint)
            );
            if !series.faint && positions.len() <= MAX_MARKERS {
                let colour = legend.colour(&series.name);
                for (x, y) in positions {
                    svg += &format!(
                        "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"2.5\" fill=\"{colour}\"/>\n"
                    );
                }
            }
        }
        svg
    }
}
