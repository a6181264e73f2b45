//! The paper's tables: its numbers beside ours, from the result files.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use crate::results::ResultFile;

/// One table of the paper.
pub struct Table {
    pub name: &'static str,
    title: &'static str,
    /// Metrics: name in result files and heading.
    columns: &'static [(&'static str, &'static str)],
    rows: &'static [Row],
}

struct Row {
    experiment: &'static str,
    label: &'static str,
    /// The paper's numbers in percent, one per column.
    paper: &'static [Option<f64>],
}

const DETECTION: &[(&str, &str)] = &[
    ("iou50", "IoU 50 %"),
    ("classif", "Classif."),
    ("both", "Both"),
];
const NO_NUMBER: &[Option<f64>] = &[None, None, None];

/// Every table that there are recipes for.
pub const TABLES: &[Table] = &[
    Table {
        name: "table2",
        title: "MNIST-hard, weakly supervised (Table 2)",
        columns: DETECTION,
        rows: &[
            Row {
                experiment: "mnist-hard-classify",
                label: "MIST",
                paper: &[Some(97.8), Some(98.8), Some(97.5)],
            },
            Row {
                experiment: "mnist-hard-official",
                label: "MIST, released code's choices",
                paper: NO_NUMBER,
            },
            Row {
                experiment: "mnist-hard-supervised",
                label: "supervised",
                paper: &[Some(99.6), Some(98.7), Some(98.6)],
            },
        ],
    },
    Table {
        name: "table3",
        title: "Fewer digits (Table 3)",
        columns: DETECTION,
        rows: &[Row {
            experiment: "mnist-three-classify",
            label: "MIST, 3 digits",
            paper: &[Some(99.5), Some(96.9), Some(96.6)],
        }],
    },
    Table {
        name: "table5",
        title: "Sensitivity to K (Table 5)",
        columns: &[("ap50", "AP 50 %")],
        rows: &[
            Row {
                experiment: "mnist-k9",
                label: "9 digits, K = 9",
                paper: &[Some(92.2)],
            },
            Row {
                experiment: "mnist-k6to9",
                label: "6 to 9 digits, K = 7",
                paper: &[Some(90.1)],
            },
            Row {
                experiment: "mnist-k3to9",
                label: "3 to 9 digits, K = 6",
                paper: &[Some(90.8)],
            },
        ],
    },
    Table {
        name: "beyond",
        title: "Harder scenes of our own",
        columns: DETECTION,
        rows: &[
            Row {
                experiment: "mnist-uneven-classify",
                label: "clustered digits",
                paper: NO_NUMBER,
            },
            Row {
                experiment: "mnist-crowded-classify",
                label: "digits 16 px apart",
                paper: NO_NUMBER,
            },
        ],
    },
    Table {
        name: "ablations",
        title: "One setting changed, MNIST-hard, short trainings",
        columns: DETECTION,
        rows: &[
            Row {
                experiment: "ablate-base",
                label: "as mnist-hard-classify, 800 steps",
                paper: NO_NUMBER,
            },
            Row {
                experiment: "ablate-paper-start",
                label: "keypoints start from E_K(H(I)) alone",
                paper: NO_NUMBER,
            },
            Row {
                experiment: "ablate-no-competition",
                label: "seeds for 400 steps, then E_K(H(I)) alone",
                paper: NO_NUMBER,
            },
            Row {
                experiment: "ablate-squared",
                label: "squared distance of counts",
                paper: NO_NUMBER,
            },
            Row {
                experiment: "ablate-nms-5",
                label: "suppression in 5 px, not 17",
                paper: NO_NUMBER,
            },
            Row {
                experiment: "ablate-mass-1",
                label: "maxima of single responses",
                paper: NO_NUMBER,
            },
            Row {
                experiment: "ablate-still-keypoints",
                label: "no keypoint step",
                paper: NO_NUMBER,
            },
            Row {
                experiment: "ablate-three-keypoint-steps",
                label: "three keypoint steps",
                paper: NO_NUMBER,
            },
            Row {
                experiment: "ablate-no-limit",
                label: "keypoint steps without limit",
                paper: NO_NUMBER,
            },
            Row {
                experiment: "ablate-lambda",
                label: "lambda = 0.01",
                paper: NO_NUMBER,
            },
            Row {
                experiment: "ablate-task-first",
                label: "the paper's order of stages",
                paper: NO_NUMBER,
            },
            Row {
                experiment: "ablate-unweighted",
                label: "images weighted alike",
                paper: NO_NUMBER,
            },
            Row {
                experiment: "ablate-official-norm",
                label: "norm after convolutions, both networks",
                paper: NO_NUMBER,
            },
            Row {
                experiment: "ablate-four-blocks",
                label: "detector of four blocks (17 px)",
                paper: NO_NUMBER,
            },
            Row {
                experiment: "ablate-soft",
                label: "softmax strength 3, not 10",
                paper: NO_NUMBER,
            },
            Row {
                experiment: "ablate-slow",
                label: "learning rates divided by 3.3",
                paper: NO_NUMBER,
            },
            Row {
                experiment: "ablate-batch-32",
                label: "batch of 32",
                paper: NO_NUMBER,
            },
        ],
    },
];

impl Table {
    /// Whether it belongs to the paper's tables or beside them.
    pub fn is_of_the_paper(&self) -> bool {
        self.name != "ablations"
    }

    /// The experiments behind it.
    pub fn experiments(&self) -> impl Iterator<Item = &'static str> {
        self.rows.iter().map(|row| row.experiment)
    }

    /// The table as Markdown.
    pub fn to_markdown(&self, results: &[ResultFile]) -> String {
        let beside_paper = self
            .rows
            .iter()
            .any(|row| row.paper.iter().any(Option::is_some));
        let mut text = format!("**{}**\n\n| |", self.title);
        for (_, heading) in self.columns {
            // Writing to a string cannot fail.
            let _ = match beside_paper {
                true => write!(text, " {heading}: paper | ours |"),
                false => write!(text, " {heading} |"),
            };
        }
        text += " seeds | test scenes | training |\n|---|";
        let columns = self.columns.len() * (1 + usize::from(beside_paper)) + 3;
        text += &"---|".repeat(columns);
        text.push('\n');
        for row in self.rows {
            let ours: Vec<&ResultFile> = results
                .iter()
                .filter(|result| result.experiment == row.experiment)
                .collect();
            text += &row.to_markdown(self.columns, &ours, beside_paper);
        }
        text
    }
}

impl Row {
    fn to_markdown(
        &self,
        columns: &[(&str, &str)],
        ours: &[&ResultFile],
        beside_paper: bool,
    ) -> String {
        let mut text = format!("| {} |", self.label);
        for ((metric, _), paper) in columns.iter().zip(self.paper) {
            if beside_paper {
                let paper = paper.map_or("-".to_owned(), |value| format!("{value:.1}"));
                let _ = write!(text, " {paper} |");
            }
            let _ = write!(text, " {} |", mean_of(metric, ours));
        }
        let minutes = ours.iter().map(|result| result.wall_secs / 60.0);
        let longest = minutes.fold(0.0, f64::max);
        let scenes = ours.iter().map(|result| result.test_images).min();
        let _ = match scenes {
            Some(scenes) => writeln!(text, " {} | {scenes} | {longest:.0} min |", ours.len()),
            None => writeln!(text, " - | - | - |"),
        };
        text
    }
}

/// The mean over seeds in percent, with the half width of a single seed's interval.
fn mean_of(metric: &str, results: &[&ResultFile]) -> String {
    let values: Vec<(f64, f64)> = results
        .iter()
        .filter_map(|result| {
            let (_, value) = result.metrics.entries().find(|(name, _)| *name == metric)?;
            let interval = result.intervals.entries().find(|(name, _)| *name == metric);
            let half = interval.map_or(0.0, |(_, interval)| (interval.high - interval.low) / 2.0);
            Some((value * 100.0, half * 100.0))
        })
        .collect();
    if values.is_empty() {
        return "-".to_owned();
    }
    let count = values.len() as f64;
    let mean = values.iter().map(|(value, _)| value).sum::<f64>() / count;
    let half = values.iter().map(|(_, half)| *half).fold(0.0, f64::max);
    format!("{mean:.1} ± {half:.1}")
}

/// Every result file of a directory, in order of their names.
pub fn read_results(directory: &Path) -> Result<Vec<ResultFile>> {
    if !directory.is_dir() {
        return Ok(Vec::new());
    }
    let entries =
        fs::read_dir(directory).with_context(|| format!("cannot read {}", directory.display()))?;
    let mut paths = entries
        .map(|entry| Ok(entry?.path()))
        .collect::<std::io::Result<Vec<_>>>()?;
    let is_result = |path: &Path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.contains(".seed") && name.ends_with(".json")
    };
    paths.retain(|path| is_result(path));
    paths.sort();
    paths
        .iter()
        .map(|path| {
            let text = fs::read_to_string(path)
                .with_context(|| format!("cannot read {}", path.display()))?;
            serde_json::from_str(&text).with_context(|| path.display().to_string())
        })
        .collect()
}
