//! What the command line accepts.

use std::path::PathBuf;
use std::time::Duration;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand, ValueHint};
use mist::device::Compute;
use mist::networks::Precision;
use mist::proposals::Proposals;
use mist_data::{PackagedImages, Split};
use mist_lab::Result;
use mist_lab::bench::{Side, Workload};
use mist_lab::detections::{DetectionFormat, ShardChoice};
use mist_lab::reproduce::Work;

/// Finds and reads every repeated object in an image, without a single box label.
#[derive(Debug, Parser)]
#[command(name = "mist", version, about, arg_required_else_help = true)]
pub struct Cli {
    /// Say nothing on standard error but errors.
    #[arg(short, long, global = true)]
    pub quiet: bool,
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Train on built-in scenes, or on a photograph of coins, for a few minutes and show what was learnt.
    Demo(Demo),
    /// List, fetch, generate and show data.
    #[command(subcommand)]
    Data(Data),
    /// List the built-in recipes, and show what a recipe says.
    #[command(subcommand)]
    Recipe(Recipe),
    /// Train on your own images, or a recipe.
    Train(Train),
    /// Evaluate a trained model on held-out images.
    Eval(Eval),
    /// Find out which scores of a model are objects, and what its scores mean, on held-out images.
    Calibrate(Calibrate),
    /// Find and read the objects in images.
    Detect(Detect),
    /// Put the results of `mist detect --shard` together.
    Merge(Merge),
    /// Write a run's model as safetensors and JSON, to keep or to share.
    Export(Export),
    /// Write one HTML page about a run: curves, pictures, detections, patches, recipe.
    Report(Report),
    /// The paper's tables and figures: runs what is missing, then shows ours beside the paper's.
    Reproduce(Reproduce),
    /// Measure this machine.
    Bench(Bench),
    /// Print a shell completion script.
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
}

#[derive(Debug, Subcommand)]
pub enum Data {
    /// List the scene kinds and whether what they need is here.
    List {
        #[command(flatten)]
        place: DataPlace,
    },
    /// Fetch a data set by name and check it against its pinned sums.
    Fetch {
        /// The data set: the MNIST digits; a photograph of 24 coins; a micrograph of 125 nuclei.
        #[arg(value_parser = fetchable())]
        name: Fetchable,
        /// Where to put it, instead of the user's cache.
        #[arg(long, value_hint = ValueHint::DirPath)]
        out: Option<PathBuf>,
    },
    /// Write scenes as PNG files with COCO annotations.
    Generate {
        #[command(flatten)]
        part: DatasetPart,
        /// Directory to write; it appears whole or not at all.
        #[arg(long, value_hint = ValueHint::DirPath)]
        out: PathBuf,
        /// How many scenes.
        #[arg(long, default_value_t = 100)]
        count: u64,
        /// Replace a set that was generated there before.
        #[arg(long)]
        overwrite: bool,
    },
    /// Write a contact sheet with boxes and class names.
    Show {
        #[command(flatten)]
        part: DatasetPart,
        /// PNG file to write.
        #[arg(long, value_hint = ValueHint::FilePath)]
        out: PathBuf,
        /// How many images.
        #[arg(long, default_value_t = 12, value_parser = clap::value_parser!(u64).range(1..=400))]
        count: u64,
        /// Images in a row.
        #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u16).range(1..=40))]
        columns: u16,
        /// Screen pixels per image pixel.
        #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u16).range(1..=16))]
        zoom: u16,
    },
}

/// What can be fetched by name.
#[derive(Clone, Copy, Debug)]
pub enum Fetchable {
    Mnist,
    Images(PackagedImages),
}

fn fetchable() -> impl TypedValueParser<Value = Fetchable> {
    let images = PackagedImages::ALL.map(PackagedImages::name);
    PossibleValuesParser::new(["mnist"].into_iter().chain(images)).map(|name| {
        let mut images = PackagedImages::ALL.into_iter();
        let named = images.find(|images| images.name() == name);
        named.map_or(Fetchable::Mnist, Fetchable::Images)
    })
}

/// Which part of a data set.
#[derive(Debug, Args)]
pub struct DatasetPart {
    /// The data set; `mist data list` shows them.
    pub dataset: String,
    /// Seed of the set.
    #[arg(long, default_value_t = 0)]
    pub seed: u64,
    /// Which part: digits of one part never appear in another.
    #[arg(long, default_value = "train", value_parser = split())]
    pub split: Split,
    #[command(flatten)]
    pub place: DataPlace,
}

fn split() -> impl TypedValueParser<Value = Split> {
    PossibleValuesParser::new(Split::ALL.map(Split::name)).try_map(|name| {
        let named = |split: &Split| split.name() == name;
        let split = Split::ALL.into_iter().find(named);
        split.ok_or("it has no such name")
    })
}

/// One of some values by its name.
fn choice<T: Copy + Send + Sync + 'static>(
    values: &'static [T],
    name: fn(T) -> &'static str,
    description: fn(T) -> &'static str,
) -> impl TypedValueParser<Value = T> {
    let listed = values
        .iter()
        .map(move |&value| PossibleValue::new(name(value)).help(description(value)));
    PossibleValuesParser::new(listed).try_map(move |given| {
        let named = values.iter().find(|&&value| name(value) == given);
        named.copied().ok_or("it has no such name")
    })
}

/// Where downloaded data lies.
#[derive(Debug, Args)]
pub struct DataPlace {
    /// Look for data here only, instead of $MIST_DATA and the user's cache.
    #[arg(long, value_hint = ValueHint::DirPath)]
    pub data: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub enum Recipe {
    /// List the built-in recipes: name, data set, method and steps, tab-separated.
    List,
    /// Print a recipe with all its settings as TOML, and where each of them comes from.
    Show {
        /// A built-in recipe, such as mnist-hard-classify, or a TOML file.
        recipe: String,
        /// Change one setting of the recipe; may be given often.
        #[arg(long = "set", value_name = "KEY=VALUE")]
        settings: Vec<String>,
    },
}

#[derive(Debug, Args)]
pub struct Train {
    /// A built-in recipe, such as mnist-hard-classify, or a TOML file; or train on --images.
    #[arg(conflicts_with = "images")]
    pub recipe: Option<String>,
    /// Train on the images in this folder, at any depth, which hold many objects of the same kinds.
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub images: Option<PathBuf>,
    /// With --images: about how many objects an image has. K, LOW..HIGH or auto; the most counts, and fewer may be there.
    #[arg(long, value_name = "K", requires = "images")]
    pub instances: Option<mist_lab::recipe::Instances>,
    /// With --images: a table of how many objects of each class each image has (file, class, count), instead of --instances.
    #[arg(long, value_name = "CSV", requires = "images", value_hint = ValueHint::FilePath)]
    pub counts: Option<PathBuf>,
    /// With --images: how wide an object is, in pixels, instead of an estimate.
    #[arg(long, value_name = "PX", requires = "images")]
    pub object_px: Option<f32>,
    /// Change one setting of the recipe; may be given often.
    #[arg(long = "set", value_name = "KEY=VALUE", conflicts_with = "resume")]
    pub settings: Vec<String>,
    /// Resume the newest run of this recipe, or with the one in --out.
    #[arg(long)]
    pub resume: bool,
    /// Directory of the run, instead of runs/RECIPE/NUMBER.
    #[arg(long, value_hint = ValueHint::DirPath)]
    pub out: Option<PathBuf>,
    /// Start from the weights of this model or run, instead of random ones.
    #[arg(long, value_name = "MODEL", conflicts_with = "resume", value_hint = ValueHint::DirPath)]
    pub from: Option<PathBuf>,
    /// Seed of everything that is random, instead of the recipe's.
    #[arg(long, conflicts_with = "resume")]
    pub seed: Option<u64>,
    /// auto, cpu, wgpu or cuda.
    #[arg(long, default_value_t = Compute::Cpu)]
    pub device: Compute,
    #[command(flatten)]
    pub precision: PrecisionChoice,
    /// Save and stop after this time, such as 90s, 30m or 2h; --resume continues.
    #[arg(long, value_parser = duration)]
    pub budget: Option<Duration>,
    #[command(flatten)]
    pub place: DataPlace,
}

/// Seconds, minutes or hours.
fn duration(text: &str) -> std::result::Result<Duration, String> {
    let malformed = || format!("`{text}` is no time: write 90s, 30m or 2h");
    let (number, secs) = match text.char_indices().last() {
        Some((at, 's')) => (&text[..at], 1.0),
        Some((at, 'm')) => (&text[..at], 60.0),
        Some((at, 'h')) => (&text[..at], 3600.0),
        _ => return Err(malformed()),
    };
    let number: f64 = number.trim().parse().map_err(|_| malformed())?;
    Duration::try_from_secs_f64(number * secs).map_err(|_| malformed())
}

#[derive(Debug, Args)]
pub struct Eval {
    /// A run directory, or a model directory.
    #[arg(value_hint = ValueHint::DirPath)]
    pub model: PathBuf,
    /// Data set, instead of the one it was trained on; `mist data list` shows them.
    #[arg(long)]
    pub dataset: Option<String>,
    /// Which part.
    #[arg(long, default_value = "test", value_parser = split())]
    pub split: Split,
    /// How many scenes.
    #[arg(long, default_value_t = 2000, value_parser = clap::value_parser!(u64).range(1..))]
    pub count: u64,
    /// Evaluate on images with boxes that people have drawn: a CSV table (file,class,xmin,ymin,xmax,ymax) or a folder of VOC
    /// XML files. What has its centre in a true box is right.
    #[arg(long, value_hint = ValueHint::AnyPath)]
    pub boxes: Option<PathBuf>,
    /// Files, folders or patterns of these images, instead of those that the run has held out.
    #[arg(long, requires = "boxes", num_args = 1.., value_hint = ValueHint::AnyPath)]
    pub images: Vec<PathBuf>,
    /// How many objects are looked for in each of them, or auto; by default as `mist detect` does.
    #[arg(long, requires = "boxes")]
    pub instances: Option<mist_lab::detections::Instances>,
    /// Take the newest weights of a run, not the best on its held-out images.
    #[arg(long)]
    pub last: bool,
    /// Take the weights that a run kept after this many steps (`every.snapshot` of its recipe).
    #[arg(long, conflicts_with = "last")]
    pub step: Option<u64>,
    /// Take keypoints from hand-made proposals, not from the heatmap: what was there before any learning. Recorded under a
    /// name of its own.
    #[arg(long, num_args = 0..=1, default_missing_value = "cover")]
    pub proposals: Option<ProposalKind>,
    /// auto, cpu, wgpu or cuda.
    #[arg(long, default_value_t = Compute::Cpu)]
    pub device: Compute,
    #[command(flatten)]
    pub precision: PrecisionChoice,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
    /// Draw what is found in the first images into this PNG file.
    #[arg(long, value_hint = ValueHint::FilePath)]
    pub sheet: Option<PathBuf>,
    /// Write the result file into this directory.
    #[arg(long, num_args = 0..=1, default_missing_value = "results", value_hint = ValueHint::DirPath)]
    pub record: Option<PathBuf>,
    #[command(flatten)]
    pub place: DataPlace,
}

#[derive(Debug, Args)]
pub struct Calibrate {
    /// A run directory, or a model directory; the calibration is kept in it.
    #[arg(value_hint = ValueHint::DirPath)]
    pub model: PathBuf,
    /// Data set whose true boxes are known, instead of the one it was trained on; its validation images are used.
    #[arg(long)]
    pub dataset: Option<String>,
    /// How many images.
    #[arg(long, default_value_t = 1000, value_parser = clap::value_parser!(u64).range(2..))]
    pub count: u64,
    /// Draw stated probabilities beside shares of right boxes into this SVG file.
    #[arg(long, value_hint = ValueHint::FilePath)]
    pub plot: Option<PathBuf>,
    #[command(flatten)]
    pub precision: PrecisionChoice,
    #[command(flatten)]
    pub place: DataPlace,
}

/// A picture that a demonstration learns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum DemoPicture {
    /// A photograph of 24 ancient coins.
    Coins,
}

#[derive(Debug, Args)]
pub struct Demo {
    /// Learn this picture, which is fetched if it is not here, instead of built-in scenes.
    #[arg(conflicts_with = "count")]
    pub picture: Option<DemoPicture>,
    /// Directory of the run, instead of a numbered one below runs/.
    #[arg(long, value_hint = ValueHint::DirPath)]
    pub out: Option<PathBuf>,
    /// Change one setting of the recipe; may be given often.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub settings: Vec<String>,
    /// Held-out scenes to evaluate on.
    #[arg(long, default_value_t = 500, value_parser = clap::value_parser!(u64).range(1..))]
    pub count: u64,
}

#[derive(Debug, Args)]
pub struct Detect {
    /// A run directory, or a model directory.
    #[arg(value_hint = ValueHint::DirPath)]
    pub model: PathBuf,
    /// Image files, folders of them at any depth, patterns such as `'scans/**/*.tif'`, or `-`: paths from standard input,
    /// one per line.
    #[arg(required = true, value_hint = ValueHint::AnyPath)]
    pub images: Vec<PathBuf>,
    /// How many objects each image has, instead of the model's K, whatever its size; `auto`: those that the model's
    /// calibration (`mist calibrate`) takes for objects, with probabilities as scores. `auto` is the default of models
    /// that were calibrated on images of varying counts.
    #[arg(long, value_name = "K|auto")]
    pub instances: Option<mist_lab::detections::Instances>,
    /// Side of tiles: images of more than four such squares are searched tile by tile, in bounded memory; up to 16
    /// megapixels with the boxes of the whole image, beyond that nearly so.
    #[arg(long, default_value_t = 512, value_name = "PX")]
    pub tile_px: usize,
    /// Take the weights that a run kept after this many steps (`every.snapshot` of its recipe).
    #[arg(long)]
    pub step: Option<u64>,
    /// How results are written.
    #[arg(long, default_value = "json")]
    #[arg(value_parser = choice(&DetectionFormat::ALL, DetectionFormat::name, DetectionFormat::description))]
    pub format: DetectionFormat,
    /// The file of results, which appears when it is whole, instead of standard output; a directory for voc and yolo.
    #[arg(long, value_hint = ValueHint::AnyPath)]
    pub out: Option<PathBuf>,
    /// Write how many objects of each class each image has to a table: file, class, count.
    #[arg(long, value_name = "CSV", value_hint = ValueHint::FilePath)]
    pub counts: Option<PathBuf>,
    /// Cut each box out into a PNG file in this directory.
    #[arg(long, value_hint = ValueHint::DirPath)]
    pub crops: Option<PathBuf>,
    /// Write each image's heatmap into a PNG file in this directory.
    #[arg(long, value_hint = ValueHint::DirPath)]
    pub heatmap: Option<PathBuf>,
    /// Draw boxes and labels into PNG files in this directory.
    #[arg(long, value_hint = ValueHint::DirPath)]
    pub overlay: Option<PathBuf>,
    /// Write each image as the model redraws it into this directory; for models trained by reconstruction.
    #[arg(long, value_hint = ValueHint::DirPath)]
    pub redrawn: Option<PathBuf>,
    /// Do part I of N, from 1/N to N/N, for `mist merge`; 1/1 is everything.
    ///
    /// Without it, the part is that of the environment: of a Slurm array, an MPI launcher, or $RANK and $WORLD_SIZE.
    /// Indexed jobs of Kubernetes do not know how many they are: `auto/N` says it. Files belong to parts by a hash of
    /// their paths. A part goes to the file `OUT.shard-I-of-N`; one that is there already is not done again.
    #[arg(long, value_name = "I/N")]
    pub shard: Option<ShardChoice>,
    /// auto, cpu, wgpu or cuda.
    #[arg(long, default_value_t = Compute::Cpu)]
    pub device: Compute,
    #[command(flatten)]
    pub precision: PrecisionChoice,
}

#[derive(Debug, Args)]
pub struct Merge {
    /// The files of all shards, `OUT.shard-I-of-N`.
    #[arg(required = true, value_hint = ValueHint::FilePath)]
    pub shards: Vec<PathBuf>,
    /// The file of results instead of standard output; a directory for voc and yolo.
    #[arg(long, value_hint = ValueHint::AnyPath)]
    pub out: Option<PathBuf>,
    /// Write how many objects of each class each image has to a table: file, class, count.
    #[arg(long, value_name = "CSV", value_hint = ValueHint::FilePath)]
    pub counts: Option<PathBuf>,
}

/// How proposals are computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum ProposalKind {
    /// Boxes that hold much contrast and are surrounded by little.
    Cover,
    /// Local maxima of contrast.
    Peaks,
}

impl From<ProposalKind> for Proposals {
    fn from(kind: ProposalKind) -> Self {
        match kind {
            ProposalKind::Cover => Self::Cover,
            ProposalKind::Peaks => Self::Peaks,
        }
    }
}

#[derive(Debug, Args)]
pub struct Report {
    /// A run directory.
    #[arg(value_hint = ValueHint::DirPath)]
    pub run: PathBuf,
    /// The page, instead of report.html in the run.
    #[arg(long, value_hint = ValueHint::FilePath)]
    pub out: Option<PathBuf>,
    #[command(flatten)]
    pub place: DataPlace,
}

#[derive(Debug, Args)]
pub struct Reproduce {
    /// Which part of the paper.
    #[arg(value_parser = choice(&Work::ALL, Work::name, Work::description))]
    pub work: Work,
    /// Show what is recorded; train nothing.
    #[arg(long)]
    pub recorded: bool,
    /// Where result files are.
    #[arg(long, default_value = "results", value_hint = ValueHint::DirPath)]
    pub results: PathBuf,
    /// Where figures go.
    #[arg(long, default_value = "docs/images", value_hint = ValueHint::DirPath)]
    pub figures: PathBuf,
    /// Test scenes of an experiment.
    #[arg(long, default_value_t = 2000, value_parser = clap::value_parser!(u64).range(1..))]
    pub count: u64,
    /// Stop each training after this time; the next call continues.
    #[arg(long, value_parser = duration)]
    pub budget: Option<Duration>,
    /// auto, cpu, wgpu or cuda.
    #[arg(long, default_value_t = Compute::Cpu)]
    pub device: Compute,
    #[command(flatten)]
    pub precision: PrecisionChoice,
    #[command(flatten)]
    pub place: DataPlace,
}

#[derive(Debug, Args)]
pub struct Export {
    /// A run directory.
    #[arg(value_hint = ValueHint::DirPath)]
    pub run: PathBuf,
    /// Directory to write.
    #[arg(long, value_hint = ValueHint::DirPath)]
    pub out: PathBuf,
    /// Take the newest weights of the run, not the best on its held-out images.
    #[arg(long)]
    pub last: bool,
    /// Replace a model that is there already.
    #[arg(long)]
    pub overwrite: bool,
}

/// How convolutions are computed on the CPU.
#[derive(Clone, Copy, Debug, Args)]
pub struct PrecisionChoice {
    /// auto, bf16 or f32, instead of $MIST_PRECISION; auto is bf16 where the processor has AMX.
    #[arg(long)]
    precision: Option<Precision>,
}

impl PrecisionChoice {
    /// Makes it the choice of this process.
    pub fn select(self) -> Result<()> {
        if let Some(precision) = self.precision {
            precision.select().map_err(mist::Error::from)?;
        }
        Ok(())
    }
}

#[derive(Debug, Args)]
pub struct Bench {
    /// What to measure; all by default.
    #[arg(value_parser = choice(&Workload::ALL, Workload::name, Workload::description))]
    pub workloads: Vec<Workload>,
    /// Measure the drawing of scenes only.
    #[arg(long, conflicts_with_all = ["workloads", "against_pytorch"])]
    pub scenes: bool,
    /// Rounds; the median is reported.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub rounds: u16,
    /// auto, cpu, wgpu or cuda.
    #[arg(long, default_value_t = Compute::Cpu)]
    pub device: Compute,
    #[command(flatten)]
    pub precision: PrecisionChoice,
    /// Run PyTorch beside, round by round; `scripts/setup-python.sh` sets it up.
    #[arg(long)]
    pub against_pytorch: bool,
    /// Measure how detection time grows with K, the image's side and the batch.
    #[arg(long, conflicts_with_all = ["workloads", "against_pytorch", "scenes"])]
    pub scaling: bool,
    /// With --scaling: draw the curves into an SVG file.
    #[arg(long, requires = "scaling", value_hint = ValueHint::FilePath)]
    pub plot: Option<PathBuf>,
    /// Measure the official training step shared by the ranks that an MPI launcher started, and what sums over them take; without
    /// a launcher the step of one process.
    #[arg(long, conflicts_with_all = ["workloads", "against_pytorch", "scenes", "scaling"])]
    pub ranks: bool,
    /// Measure how long trainings take from nothing to each --target on held-out scenes; the sides take turns.
    #[arg(long, conflicts_with_all = ["workloads", "against_pytorch", "scenes", "scaling"])]
    pub time_to_accuracy: bool,
    /// With --time-to-accuracy: who trains.
    #[arg(
        long,
        value_delimiter = ',',
        default_value = "open",
        requires = "time_to_accuracy"
    )]
    #[arg(value_parser = choice(&Side::ALL, Side::name, Side::description))]
    pub sides: Vec<Side>,
    /// With --time-to-accuracy: seeds 1 to this.
    #[arg(long, default_value_t = 5, requires = "time_to_accuracy")]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=1000))]
    pub seeds: u64,
    /// With --time-to-accuracy: shares of digits found and read.
    #[arg(long, value_delimiter = ',', default_values_t = [0.84, 0.975], requires = "time_to_accuracy")]
    pub target: Vec<f64>,
    /// With --time-to-accuracy: a training that takes longer has failed.
    #[arg(long, default_value = "3h", value_parser = duration, requires = "time_to_accuracy")]
    pub limit: Duration,
    /// With --time-to-accuracy: how PyTorch runs.
    #[arg(
        long,
        default_value = "compile-f32-lean",
        requires = "time_to_accuracy"
    )]
    pub setting: String,
    /// The Python that has PyTorch.
    #[arg(long, default_value = ".venv/bin/python", env = "MIST_PYTHON", value_hint = ValueHint::FilePath)]
    pub python: PathBuf,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
    /// Write the JSON to a file too.
    #[arg(long, value_hint = ValueHint::FilePath)]
    pub record: Option<PathBuf>,
    #[command(flatten)]
    pub place: DataPlace,
}
