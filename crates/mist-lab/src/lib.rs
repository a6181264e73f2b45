//! Experiments with MIST: recipes, training, runs, evaluation and results, for any front end.
//!
//! Nothing here prints or listens for signals: functions that take long tell an [`Observer`] what they do, and ask a
//! function of the caller whether to stop. Every failure is an [`Error`], which says whose [`Fault`] it is.
//!
//! - [`recipe::Recipe`] decides a training; [`training::train`] runs it in a [`run::directory::RunDirectory`].
//! - [`models`] reads and writes trained models; [`evaluation`] and [`detections`] use them.
//! - [`results`], [`tables`], [`figures`] and [`report`] show what was reached; [`reproduce`] does all of it.
//! - [`mod@bench`] measures this machine.

#![forbid(unsafe_code)]

pub mod backbones;
pub mod batches;
pub mod bench;
pub mod calibration;
pub mod detections;
pub mod dictionary;
pub mod draw;
mod error;
pub mod evaluation;
pub mod features;
pub mod figures;
mod logger;
pub mod machine;
pub mod methods;
pub mod models;
pub mod mpi;
mod observer;
pub mod plot;
pub mod recipe;
pub mod report;
pub mod reproduce;
pub mod results;
pub mod run;
pub mod sheets;
pub mod tables;
pub mod training;

pub use error::{Error, Fault, Result};
pub use observer::{Observer, Silent, TrainingProgress};
