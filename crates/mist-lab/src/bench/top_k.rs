//! `mist bench --top-k`: time and memory of a training step as the heatmap grows, for methods that classify every place of it and
//! for MIST, which classifies K.
//!
//! Time is the processor's, on however many threads, where the system tells: large steps take so long that other work on the
//! machine would decide what a clock shows.

use std::fmt;
use std::str::FromStr;
use std::sync::LazyLock;
use std::time::Instant;

use burn::tensor::{Device, Distribution, Tensor};
use mist::soft_top_k::SoftTopK;
use serde::{Deserialize, Serialize};

use super::timing::median;
use super::workloads::{Task, learner_step};
use crate::error::{Error, Result};
use crate::machine::{self, Machine};
use crate::observer::Observer;
use crate::plot::{Chart, Series, figure};
use crate::recipe::Recipe;

/// Sides of the heatmaps.
pub const SIDES: [usize; 5] = [10, 20, 40, 80, 160];
/// K of all of them.
const INSTANCES: usize = 9;
const SOFTNESS: f32 = 0.1;
/// A measurement repeats its task for at least this long: the system counts processor time in steps of some milliseconds.
const LEAST_SECS: f64 = 0.2;

/// A way from heatmap to loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Xie20 by 200 of Sinkhorn's iterations.
    Sinkhorn,
    /// Xie20 in closed form.
    ClosedForm,
    /// Sums of Laplace distributions.
    LapSum,
    /// Algorithm 1: K patches.
    Mist,
}

impl Way {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Sinkhorn, Self::ClosedForm, Self::LapSum, Self::Mist];

    /// The name in results.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sinkhorn => "xie20-sinkhorn",
            Self::ClosedForm => "xie20-closed-form",
            Self::LapSum => "lap-sum",
            Self::Mist => "mist",
        }
    }

    fn title(self) -> &'static str {
        match self {
            Self::Sinkhorn => "Xie20, Sinkhorn",
            Self::ClosedForm => "Xie20, closed form",
            Self::LapSum => "LapSum",
            Self::Mist => "MIST",
        }
    }

    /// The operator, as recipes have it; MIST has none.
    fn operator(self) -> Option<(SoftTopK, &'static str)> {
        match self {
            Self::Sinkhorn => Some((
                SoftTopK::Sinkhorn { iterations: 200 },
                "{ sinkhorn = { iterations = 200 } }",
            )),
            Self::ClosedForm => Some((SoftTopK::ClosedForm, "\"closed_form\"")),
            Self::LapSum => Some((SoftTopK::LapSum, "\"lap_sum\"")),
            Self::Mist => None,
        }
    }

    /// A recipe whose heatmap has a place for every pixel, and patches of 16 px.
    fn recipe(self) -> Result<Recipe> {
        let name = match self {
            Self::Mist => "mnist-hard-paper",
            _ => "mnist-hard-xie20",
        };
        let mut settings = vec![
            "batch=1".to_owned(),
            "model.geometry.patch_px=16".to_owned(),
            "model.task.classifier.encoder={ base_channels = 16, levels = 4, blocks_per_level = 1 }"
                .to_owned(),
        ];
        if let Some((_, operator)) = self.operator() {
            settings.push("method.xie20.regions.levels=0".to_owned());
            settings.push(format!("method.xie20.top_k={operator}"));
        } else {
            settings.push("model.detector={ channels = 16, blocks = 1 }".to_owned());
            settings.push("model.scales=[1.0]".to_owned());
        }
        Recipe::load(name, &settings)
    }
}

/// One measurement, taken in a process of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// What is measured.
    pub way: Way,
    /// Side of the heatmap.
    pub side: usize,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.way.name(), self.side)
    }
}

impl FromStr for Place {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let parsed = text.split_once(':').and_then(|(name, side)| {
            let way = Way::ALL.into_iter().find(|way| way.name() == name)?;
            let side = side.parse().ok()?;
            Some(Self { way, side })
        });
        parsed.ok_or_else(|| "a way and a side, such as `mist:40`".to_owned())
    }
}

/// What one step costs.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Cost {
    /// [`Way::name`].
    pub way: String,
    /// Side of the heatmap.
    pub side: usize,
    /// Median processor time of a step on one image.
    pub step_ms: f64,
    /// Median processor time of the operator and its gradient alone; nothing for MIST.
    pub operator_ms: Option<f64>,
    /// Peak memory of the process.
    pub peak_memory_mb: Option<f64>,
}

/// The whole comparison.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Costs {
    /// Where.
    pub machine: Machine,
    /// Of the program.
    pub commit: Option<String>,
    /// Rounds behind each median.
    pub rounds: u16,
    /// By way, then by side.
    pub costs: Vec<Cost>,
}

/// Measures one place in this process.
///
/// # Errors
/// When the device fails.
pub fn measure_one(place: Place, rounds: u16, device: &Device) -> Result<Cost> {
    let tracked = device.clone().autodiff();
    let operator_ms = match place.way.operator() {
        Some((operator, _)) => Some(time_operator(operator, place.side, rounds, &tracked)?),
        None => None,
    };
    let step = learner_step(&place.way.recipe()?, place.side, &tracked)?;
    let step_ms = median_ms(rounds, step)?;
    Ok(Cost {
        way: place.way.name().to_owned(),
        side: place.side,
        step_ms,
        operator_ms,
        peak_memory_mb: machine::peak_memory_mb(),
    })
}

/// Milliseconds of masks and their gradient.
fn time_operator(operator: SoftTopK, side: usize, rounds: u16, device: &Device) -> Result<f64> {
    let scores = Tensor::<2>::random([1, side * side], Distribution::Default, device);
    let task: Task = Box::new(move || {
        let leaf = scores.clone().require_grad();
        let masks = operator.masks(leaf, INSTANCES, SOFTNESS, 0, 0)?;
        std::hint::black_box(masks.square().sum().backward());
        Ok(())
    });
    median_ms(rounds, task)
}

/// Median milliseconds of processor time, after one run that warms up; of the clock where the system does not tell.
fn median_ms(rounds: u16, mut task: Task) -> Result<f64> {
    task()?;
    let mut times = Vec::with_capacity(rounds.into());
    for _ in 0..rounds {
        let (start, mut runs, mut spent) = (spent_secs(), 0.0, 0.0);
        while spent < LEAST_SECS {
            task()?;
            runs += 1.0;
            spent = spent_secs() - start;
        }
        times.push(spent / runs * 1e3);
    }
    Ok(median(&mut times))
}

fn spent_secs() -> f64 {
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    machine::processor_secs().unwrap_or_else(|| START.elapsed().as_secs_f64())
}

/// Measures every way at every side; `measure` does one in a process of its own.
///
/// # Errors
/// As `measure`.
pub fn measure_all(
    rounds: u16,
    measure: &dyn Fn(Place) -> Result<Cost>,
    observer: &mut dyn Observer,
) -> Result<Costs> {
    let mut costs = Vec::new();
    for way in Way::ALL {
        for side in SIDES {
            let cost = measure(Place { way, side })?;
            observer.message(&line(&cost));
            costs.push(cost);
        }
    }
    Ok(Costs {
        machine: Machine::here(),
        commit: machine::commit(),
        rounds,
        costs,
    })
}

fn line(cost: &Cost) -> String {
    let number = |value: Option<f64>| value.map_or("-".to_owned(), |value| format!("{value:.2}"));
    let (operator, memory) = (number(cost.operator_ms), number(cost.peak_memory_mb));
    let Cost {
        way, side, step_ms, ..
    } = cost;
    format!("{way}\t{side} x {side}\t{step_ms:.1} ms\toperator {operator} ms\t{memory} MB")
}

impl Costs {
    /// A tab-separated line per measurement.
    pub fn to_lines(&self) -> String {
        let lines = self.costs.iter().map(|cost| line(cost) + "\n");
        lines.collect()
    }

    /// Reads what was recorded.
    ///
    /// # Errors
    /// When it is not the JSON of [`Costs`].
    pub fn from_json(text: &str) -> Result<Self> {
        serde_json::from_str(text).map_err(|error| Error::Usage(error.to_string()))
    }

    /// Time, memory and the operator alone, over the number of places.
    pub fn to_svg(&self) -> String {
        let chart = |title: &str, value: &dyn Fn(&Cost) -> Option<f64>| {
            let series = Way::ALL.into_iter().map(|way| {
                let own = self.costs.iter().filter(|cost| cost.way == way.name());
                let point = |cost: &Cost| Some(((cost.side * cost.side) as f64, value(cost)?));
                Series {
                    name: way.title().to_owned(),
                    points: own.filter_map(point).collect(),
                    faint: false,
                }
            });
            Chart {
                title: title.to_owned(),
                x_label: "places of the heatmap".to_owned(),
                y_label: String::new(),
                log_x: true,
                log_y: true,
                series: series.filter(|series| !series.points.is_empty()).collect(),
            }
        };
        let charts = [
            chart("processor ms per step on one image", &|cost| {
                Some(cost.step_ms)
            }),
            chart("peak memory of the process, MB", &|cost| {
                cost.peak_memory_mb
            }),
            chart("processor ms of the operator", &|cost| cost.operator_ms),
        ];
        figure(&charts, charts.len())
    }
}

#[cfg(test)]
mod tests {
    use mist::training::Method;

    use super::*;

    #[test]
    fn every_way_has_a_recipe_with_a_place_per_pixel() {
        for way in Way::ALL {
            let recipe = way.recipe().unwrap();
            assert_eq!((recipe.batch, recipe.model.geometry.patch_px), (1, 16));
            assert_eq!(recipe.model.extractor.instances, INSTANCES);
            let name = recipe.method.method().name();
            assert_eq!(name == "xie20", way.operator().is_some());
            let place = Place { way, side: 40 };
            assert_eq!(place.to_string().parse(), Ok(place));
        }
        assert!("mist".parse::<Place>().is_err());
        let _: &dyn Method = Way::Mist.recipe().unwrap().method.method();
    }

    #[test]
    fn what_is_recorded_is_drawn_again() {
        let cost = |way: Way, side: usize| Cost {
            way: way.name().to_owned(),
            side,
            step_ms: side as f64,
            operator_ms: way.operator().map(|_| 0.5),
            peak_memory_mb: Some(100.0),
        };
        let pairs = Way::ALL
            .iter()
            .flat_map(|&way| SIDES.map(|side| cost(way, side)));
        let costs = Costs {
            machine: Machine::here(),
            commit: None,
            rounds: 1,
            costs: pairs.collect(),
        };
        let read = Costs::from_json(&serde_json::to_string(&costs).unwrap()).unwrap();
        assert_eq!(read.to_svg(), costs.to_svg());
        assert_eq!(read.to_lines().lines().count(), 20);
        assert!(costs.to_svg().contains("LapSum"));
    }
}
