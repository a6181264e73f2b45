//! Messages for people, on standard error.

use std::fmt::{Arguments, Display};
use std::io::Write;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use mist::metrics::MetricSet;
use mist_lab::{Observer, TrainingProgress};

const BAR: &str = "{bar:30} {pos}/{len} steps  {per_sec}  ETA {eta}  {msg}";

/// Standard error, with a progress bar while a training runs.
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
        match &self.bar {
            _ if self.quiet => {}
            // A bar without a terminal swallows lines.
            Some(bar) if !bar.is_hidden() => bar.println(text.to_string()),
            _ => print_line(format_args!("{text}")),
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

    fn training_started(&mut self, step: u64, steps: u64) {
        if self.quiet {
            return;
        }
        let target = ProgressDrawTarget::stderr();
        let mut bar = ProgressBar::with_draw_target(Some(steps), target).with_position(step);
        // A bar of the default style does as well.
        if let Ok(style) = ProgressStyle::with_template(BAR) {
            bar = bar.with_style(style);
        }
        bar.reset_eta();
        self.bar = Some(bar);
    }

    fn progress(&mut self, progress: &TrainingProgress) {
        if let Some(bar) = &self.bar {
            bar.set_position(progress.step);
            bar.set_message(format!("loss {:.4}", progress.task_loss));
        }
    }

    fn validated(&mut self, step: u64, metrics: &MetricSet<f64>) {
        let task = match metrics.rmse {
            Some(rmse) => format!("RMSE {rmse:.4}"),
            None => format!(
                "Classif. {}, Both {}",
                percent(metrics.classif),
                percent(metrics.both)
            ),
        };
        let iou50 = percent(metrics.iou50);
        self.line(format_args!(
            "step {step}: on held-out scenes IoU50 {iou50}, {task}"
        ));
    }

    fn training_ended(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
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
