//! Experiments with MIST: recipes, training, runs, evaluation and results, for any front end.

#![forbid(unsafe_code)]

pub mod draw;
