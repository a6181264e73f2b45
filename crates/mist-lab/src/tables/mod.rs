//! The paper's tables: its numbers beside ours, from the result files.

mod list;

pub use list::TABLES;

use crate::results::ResultFile;

/// One table of the paper.
#[derive(Debug)]
pub struct Table {
    /// Its name in commands.
    pub name: &'static str,
    title: &'static str,
    columns: &'static [Column],
    rows: &'static [Row],
}

/// A metric by its name in result files.
#[derive(Debug)]
struct Column {
    metric: &'static str,
    heading: &'static str,
    unit: Unit,
}

/// How values are printed.
#[derive(Clone, Copy, Debug)]
enum Unit {
    Percent,
    Thousandths,
}

#[derive(Debug)]
struct Row {
    experiment: &'static str,
    label: &'static str,
    /// The paper's numbers as they are printed, one per column.
    paper: &'static [Option<f64>],
}

impl Column {
    const fn percent(metric: &'static str, heading: &'static str) -> Self {
        Self {
            metric,
            heading,
            unit: Unit::Percent,
        }
    }
}

impl Unit {
    /// A number of the paper, which is in percent already.
    fn of_paper(self, value: f64) -> String {
        match self {
            Self::Percent => format!("{value:.1}"),
            Self::Thousandths => format!("{value:.3}"),
        }
    }

    fn of_result(self, value: f64) -> String {
        match self {
            Self::Percent => format!("{:.1}", value * 100.0),
            Self::Thousandths => format!("{value:.4}"),
        }
    }
}

impl Table {
    /// Whether `tables` and `all` show it: every table but ablations and controls, which scripts train.
    pub fn is_reproduced(&self) -> bool {
        !["ablations", "controls"].contains(&self.name)
    }

    /// The experiments behind it.
    pub fn experiments(&self) -> impl Iterator<Item = &'static str> {
        self.rows.iter().map(|row| row.experiment)
    }

    /// Whether the paper has a number in this column.
    fn beside_paper(&self, column: usize) -> bool {
        self.rows.iter().any(|row| row.of_paper(column).is_some())
    }

    /// The table as Markdown.
    pub fn to_markdown(&self, results: &[ResultFile]) -> String {
        let mut text = format!("**{}**\n\n| |", self.title);
        let mut columns = 3;
        for (index, Column { heading, .. }) in self.columns.iter().enumerate() {
            let beside_paper = self.beside_paper(index);
            columns += 1 + usize::from(beside_paper);
            text += &match beside_paper {
                true => format!(" {heading}: paper | ours |"),
                false => format!(" {heading} |"),
            };
        }
        text += " seeds | test scenes | training |\n|---|";
        text += &"---|".repeat(columns);
        text.push('\n');
        for row in self.rows {
            let ours: Vec<&ResultFile> = results
                .iter()
                .filter(|result| result.experiment == row.experiment)
                .collect();
            // What nobody has measured yet is not worth a line.
            if !(ours.is_empty() && row.paper.is_empty()) {
                text += &self.line(row, &ours);
            }
        }
        text
    }

    fn line(&self, row: &Row, ours: &[&ResultFile]) -> String {
        let mut text = format!("| {} |", row.label);
        for (index, Column { metric, unit, .. }) in self.columns.iter().enumerate() {
            if self.beside_paper(index) {
                let paper = row.of_paper(index);
                let paper = paper.map_or("-".to_owned(), |value| unit.of_paper(value));
                text += &format!(" {paper} |");
            }
            text += &format!(" {} |", mean_of(metric, *unit, ours));
        }
        let minutes = ours.iter().map(|result| result.wall_secs / 60.0);
        let longest = minutes.fold(0.0, f64::max);
        let scenes = ours.iter().map(|result| result.test_images).min();
        text + &match scenes {
            Some(scenes) => format!(" {} | {scenes} | {longest:.0} min |\n", ours.len()),
            None => " - | - | - |\n".to_owned(),
        }
    }
}

impl Row {
    /// A row that the paper has as well.
    const fn beside(
        experiment: &'static str,
        label: &'static str,
        paper: &'static [Option<f64>],
    ) -> Self {
        Self {
            experiment,
            label,
            paper,
        }
    }

    /// A row of our own.
    const fn ours(experiment: &'static str, label: &'static str) -> Self {
        Self::beside(experiment, label, &[])
    }

    fn of_paper(&self, column: usize) -> Option<f64> {
        self.paper.get(column).copied().flatten()
    }
}

/// The mean over seeds, with the half width of a single seed's interval.
fn mean_of(metric: &str, unit: Unit, results: &[&ResultFile]) -> String {
    let values: Vec<(f64, f64)> = results
        .iter()
        .filter_map(|result| {
            let value = result.metrics.get(metric)?;
            let interval = result.intervals.get(metric);
            let half = interval.map_or(0.0, |interval| (interval.high - interval.low) / 2.0);
            Some((value, half))
        })
        .collect();
    if values.is_empty() {
        return "-".to_owned();
    }
    let count = values.len() as f64;
    let mean = values.iter().map(|(value, _)| value).sum::<f64>() / count;
    let half = values.iter().map(|(_, half)| *half).fold(0.0, f64::max);
    format!("{} ± {}", unit.of_result(mean), unit.of_result(half))
}
