//! Line charts as SVG, for convergence figures and scaling plots.

mod axis;
mod legend;
mod panel;
mod text;

use legend::Legend;
use panel::Panel;

/// A line.
#[derive(Clone, Debug, Default)]
pub struct Series {
    /// For the legend; an empty name is not listed. Lines of one name share a colour and an entry.
    pub name: String,
    /// In the order in which the line connects them.
    pub points: Vec<(f64, f64)>,
    /// Drawn lightly and behind the others: raw values under a smoothed line of the same name.
    pub faint: bool,
}

/// Lines over one pair of axes.
///
/// Points that are not finite, or not positive on a logarithmic axis, are left out.
#[derive(Clone, Debug, Default)]
pub struct Chart {
    /// Above the chart.
    pub title: String,
    /// Below the horizontal axis.
    pub x_label: String,
    /// Beside the vertical axis.
    pub y_label: String,
    /// Whether equal ways along the horizontal axis are equal factors.
    pub log_x: bool,
    /// Whether equal ways along the vertical axis are equal factors.
    pub log_y: bool,
    /// The first has the first colour.
    pub series: Vec<Series>,
}

/// An SVG document with the charts in rows of `columns`.
pub fn figure(charts: &[Chart], columns: usize) -> String {
    let legends: Vec<Legend> = charts
        .iter()
        .map(|chart| Legend::of(&chart.series))
        .collect();
    let legend_rows = legends.iter().map(Legend::rows).max().unwrap_or(0);
    let cell_height = panel::HEIGHT + legend_rows as f64 * legend::ROW_HEIGHT;
    let columns = columns.clamp(1, charts.len().max(1));
    let width = panel::WIDTH * columns as f64;
    let height = cell_height * charts.len().div_ceil(columns) as f64;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\" font-family=\"sans-serif\" font-size=\"11\" fill=\"#333\">\n\
         <rect width=\"{width}\" height=\"{height}\" fill=\"white\"/>\n"
    );
    for (place, (chart, legend)) in charts.iter().zip(&legends).enumerate() {
        let left = (place % columns) as f64 * panel::WIDTH;
        let top = (place / columns) as f64 * cell_height;
        svg += &format!("<g transform=\"translate({left},{top})\">\n");
        svg += &Panel::of(chart).to_svg(legend);
        svg += &legend.to_svg(panel::PLOT_LEFT, panel::HEIGHT);
        svg += "</g>\n";
    }
    svg + "</svg>\n"
}

/// The mean of up to `window` points around each, fewer at the ends; points that are not finite are
/// left out.
pub fn smoothed(points: &[(f64, f64)], window: usize) -> Vec<(f64, f64)> {
    let finite = |&(x, y): &(f64, f64)| x.is_finite() && y.is_finite();
    let points: Vec<(f64, f64)> = points.iter().copied().filter(finite).collect();
    let (before, after) = (window.saturating_sub(1) / 2, window / 2);
    let mean = |(place, &(x, _)): (usize, &(f64, f64))| {
        let end = place.saturating_add(after).min(points.len() - 1);
        let near = &points[place.saturating_sub(before)..=end];
        let sum: f64 = near.iter().map(|&(_, y)| y).sum();
        (x, sum / near.len() as f64)
    };
    points.iter().enumerate().map(mean).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(name: &str, points: &[(f64, f64)]) -> Series {
        Series {
            name: name.to_owned(),
            points: points.to_vec(),
            faint: false,
        }
    }

    fn chart(series: Vec<Series>) -> Chart {
        Chart {
            series,
            ..Chart::default()
        }
    }

    #[test]
    fn charts_stand_in_rows() {
        let charts = vec![chart(vec![line("a", &[(0.0, 0.0), (1.0, 1.0)])]); 3];
        let svg = figure(&charts, 2);
        assert!(svg.contains("viewBox=\"0 0 880 664\""));
        for corner in ["(0,0)", "(440,0)", "(0,332)"] {
            assert!(svg.contains(&format!("<g transform=\"translate{corner}\">")));
        }
        assert!(figure(&charts, 0).contains("viewBox=\"0 0 440 996\""));
        assert!(figure(&[], 2).ends_with("</svg>\n"));
    }

    #[test]
    fn lines_go_from_corner_to_corner() {
        let svg = figure(&[chart(vec![line("", &[(0.0, 0.0), (1.0, 1.0)])])], 1);
        assert!(
            svg.contains("<polyline points=\"79.2,253.5 408.8,40.5\""),
            "{svg}"
        );
    }

    #[test]
    fn points_that_no_axis_can_show_are_left_out() {
        let points = [
            (f64::NAN, 1.0),
            (1.0, f64::INFINITY),
            (0.0, 1.0),
            (1.0, -1.0),
            (10.0, 100.0),
        ];
        let logarithmic = Chart {
            log_x: true,
            log_y: true,
            ..chart(vec![line("", &points)])
        };
        let svg = figure(&[logarithmic, chart(Vec::new())], 2);
        assert!(svg.contains("<polyline points=\"244.0,147.0\""), "{svg}");
        assert!(!svg.contains("NaN") && !svg.contains("inf"));
    }

    #[test]
    fn lines_of_one_name_share_an_entry_and_a_colour() {
        let points = [(0.0, 0.0), (1.0, 1.0)];
        let raw = Series {
            faint: true,
            ..line("loss", &points)
        };
        let svg = figure(
            &[chart(vec![line("loss", &points), line("b", &points), raw])],
            1,
        );
        assert_eq!(svg.matches(">loss</text>").count(), 1);
        assert_eq!(svg.matches("stroke=\"#1f6fb4\"").count(), 3);
        let faint = svg.find("stroke-opacity").unwrap();
        assert!(
            faint < svg.find("stroke-width=\"1.5\"").unwrap(),
            "behind the others"
        );
    }

    #[test]
    fn text_is_escaped() {
        let titled = Chart {
            title: "a<b & \"c\"\0".to_owned(),
            ..chart(vec![line("<script>", &[(0.0, 0.0)])])
        };
        let svg = figure(&[titled], 1);
        assert!(svg.contains(">a&lt;b &amp; &quot;c&quot; </text>"));
        assert!(svg.contains(">&lt;script&gt;</text>"));
    }

    #[test]
    fn smoothing_is_the_mean_of_neighbours() {
        let points = [
            (0.0, 0.0),
            (1.0, 3.0),
            (1.5, f64::NAN),
            (2.0, 6.0),
            (3.0, 0.0),
        ];
        let finite = [(0.0, 0.0), (1.0, 3.0), (2.0, 6.0), (3.0, 0.0)];
        assert_eq!(smoothed(&points, 0), finite);
        assert_eq!(smoothed(&points, 1), finite);
        let expected = [(0.0, 1.5), (1.0, 3.0), (2.0, 3.0), (3.0, 3.0)];
        assert_eq!(smoothed(&points, 3), expected);
        assert_eq!(
            smoothed(&points, usize::MAX),
            finite.map(|(x, _)| (x, 2.25))
        );
        assert!(smoothed(&[], 5).is_empty());
    }
}
