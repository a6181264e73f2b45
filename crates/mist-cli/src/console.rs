//! Messages for people, on standard error.

use std::fmt::{Arguments, Display};
use std::io::Write;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use mist::measurements::Measurements;
use mist_lab::figures::HEADLINE_METRICS;
use mist_lab::{Observer, TrainingProgress};

const STEPS: &str = "{bar:30} {pos}/{len} steps  {per_sec}  ETA {eta}  {msg}";
const IMAGES: &str = "{bar:30} {pos}/{len} images  {per_sec}  ETA {eta}";

/// Standard error, with a progress bar while something takes long.
pub struct Console {
    quiet: bool,
    bar: Option<ProgressBar>,
}

impl Console {
    /// With `quiet`, nothing but errors is printed.
    pub fn new(quiet: bool) -> Self {
        Self { quiet, bar: None }
    }

    /// Prints one line unless `--quiet`, above the progress bar if there is one.
    pub fn line(&self, text: impl Display) {
        if !self.quiet {
            self.print(text);
        }
    }

    fn print(&self, text: impl Display) {
        match &self.bar {
            // A bar without a terminal swallows lines.
            Some(bar) if !bar.is_hidden() => bar.println(text.to_string()),
            _ => print_line(format_args!("{text}")),
        }
    }

    fn start_bar(&mut self, style: &str, position: u64, length: u64) {
        if self.quiet {
            return;
        }
        let target = ProgressDrawTarget::stderr();
        let mut bar = ProgressBar::with_draw_target(Some(length), target).with_position(position);
        // A bar of the default style does as well.
        if let Ok(style) = ProgressStyle::with_template(style) {
            bar = bar.with_style(style);
        }
        bar.reset_eta();
        self.bar = Some(bar);
    }

    fn end_bar(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }
}

impl Observer for Console {
    fn message(&mut self, text: &str) {
        self.line(text);
    }

    fn warning(&mut self, text: &str) {
        self.line(format_args!("warning: {text}"));
    }

    fn failure(&mut self, text: &str) {
        self.print(format_args!("error: {text}"));
    }

    fn training_started(&mut self, step: u64, steps: u64) {
        self.start_bar(STEPS, step, steps);
    }

    fn progress(&mut self, progress: &TrainingProgress) {
        if let Some(bar) = &self.bar {
            bar.set_position(progress.step);
            let mut losses = progress.measurements.iter();
            if let Some((name, value)) = losses.next() {
                bar.set_message(format!("{} {value:.4}", name.replace('_', " ")));
            }
        }
    }

    fn validated(&mut self, step: u64, metrics: &Measurements) {
        let mut values: Vec<String> = HEADLINE_METRICS
            .iter()
            .filter_map(|(name, title)| Some(format!("{title} {:.4}", metrics.get(name)?)))
            .collect();
        if values.is_empty() {
            let all = metrics.iter();
            values.extend(all.map(|(name, value)| format!("{name} {value:.4}")));
        }
        self.line(format_args!(
            "step {step}: on held-out images {}",
            values.join(", ")
        ));
    }

    fn training_ended(&mut self) {
        self.end_bar();
    }

    fn images_started(&mut self, images: u64) {
        self.start_bar(IMAGES, 0, images);
    }

    fn images_done(&mut self, done: u64) {
        if let Some(bar) = &self.bar {
            bar.set_position(done);
        }
    }

    fn images_ended(&mut self) {
        self.end_bar();
    }
}

/// A share in percent, or a dash for what was not measured.
pub fn percent(share: Option<f64>) -> String {
    share.map_or("-".to_owned(), |share| format!("{:.1} %", share * 100.0))
}

/// Prints one line.
pub fn print_line(text: Arguments) {
    // Whoever closed standard error does not want to hear; `eprintln!` would panic.
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}
