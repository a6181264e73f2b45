//! Lifted training behind the interface of all methods.

use burn::tensor::Device;

use super::exploration::Verdict;
use super::{
    AssignedClassification, Classification, Evidence, LabelLoss, LiftedConfig, LiftedStep, Moment,
    Reconstruction,
};
use crate::Error;
use crate::finder::Finder;
use crate::model::{ModelConfig, TaskNetwork};
use crate::networks::FeatureClassifier;
use crate::training::{
    Batch, Learner, LearnerState, Method, Optimisers, Progress, Setup, Step, TrainedModel,
};

/// A model that learns by Algorithm 1.
#[derive(Debug)]
pub struct LiftedLearner {
    config: LiftedConfig,
    trained: TrainedModel,
    optimisers: Optimisers,
    seed: u64,
    evidence: Evidence,
}

impl LiftedLearner {
    /// One step with everything that it computed on the way; [`Learner::step`] reports it.
    ///
    /// # Errors
    /// As [`Learner::step`].
    pub fn lifted_step(&mut self, batch: &Batch, progress: Progress) -> Result<LiftedStep, Error> {
        let source = self.trained.model.source_of(batch)?;
        let exploration = &self.config.exploration;
        let moment = Moment {
            seed: self.seed,
            progress,
            released_at: self.evidence.released_at(&exploration.release),
            search_frac: exploration.settle.from_frac,
        };
        if moment.is_settled() {
            self.trained.settle_detector()?;
        }
        let model = self.trained.model.config();
        let step = match model.task {
            TaskNetwork::FeatureClassifier(FeatureClassifier { classes, .. })
                if self.config.label_loss == LabelLoss::Assigned =>
            {
                let labels = batch.labels(classes, model.extractor.instances)?;
                let task = AssignedClassification { labels };
                self.config.step(&mut self.trained, source, &task, moment)?
            }
            TaskNetwork::Classifier { classes, .. }
            | TaskNetwork::FeatureClassifier(FeatureClassifier { classes, .. }) => {
                let task = Classification {
                    mean_labels: batch.mean_labels(classes)?,
                    distance: self.config.mean_distance,
                };
                self.config.step(&mut self.trained, source, &task, moment)?
            }
            TaskNetwork::Autoencoder { .. } => {
                let geometry = model.geometry;
                let task = Reconstruction { geometry };
                self.config.step(&mut self.trained, source, &task, moment)?
            }
        };
        let verdict = self
            .evidence
            .observe(exploration, progress.step, step.task_loss);
        if verdict == Verdict::Restart {
            let features = self.trained.model.features().cloned();
            let ranks = self.trained.ranks().clone();
            self.trained = TrainedModel::new(Setup {
                model: self.trained.model.config(),
                optimisers: &self.optimisers,
                seed: self.evidence.seed_of_weights(self.seed),
                weights: None,
                features: features.as_ref(),
                device: &batch.images.device(),
                ranks: &ranks,
            })?;
        }
        Ok(step)
    }
}

impl Method for LiftedConfig {
    fn name(&self) -> &'static str {
        "mist"
    }

    fn networks(&self) -> &'static [&'static str] {
        TrainedModel::NETWORKS
    }

    fn check(&self, model: &ModelConfig) -> Result<(), Error> {
        Self::check(self, model)
    }

    fn learner(&self, setup: Setup<'_>) -> Result<Box<dyn Learner>, Error> {
        Ok(Box::new(self.start(setup)?))
    }
}

impl LiftedConfig {
    /// Starts a training.
    ///
    /// # Errors
    /// When a setting is impossible.
    pub fn start(&self, setup: Setup<'_>) -> Result<LiftedLearner, Error> {
        self.check(setup.model)?;
        Ok(LiftedLearner {
            config: *self,
            trained: TrainedModel::new(setup)?,
            optimisers: setup.optimisers.clone(),
            seed: setup.seed,
            evidence: Evidence::new(&self.exploration, setup.weights.is_some()),
        })
    }
}

impl Learner for LiftedLearner {
    fn step(&mut self, batch: &Batch, progress: Progress) -> Result<Step, Error> {
        let base_box_px = self.trained.model.config().geometry.base_box_px;
        let step = self.lifted_step(batch, progress)?;
        let ranks = self.trained.ranks();
        let images = (step.start.len() * ranks.size()).max(1);
        let exchanges = step.exchanges;
        let mut report = step.report(base_box_px);
        if self.config.exploration.searches() {
            let exchanges = ranks.total(&[exchanges as f32])?;
            let per_image = exchanges / images as f64;
            report.measurements.insert("exchanges", per_image);
        }
        Ok(report)
    }

    fn state(&self) -> Result<LearnerState, Error> {
        let mut state = self.trained.state()?;
        if self.evidence != Evidence::default() {
            state.memory = serde_json::to_value(&self.evidence).map_err(Error::Memory)?;
        }
        Ok(state)
    }

    fn restore(&mut self, mut state: LearnerState) -> Result<(), Error> {
        self.trained.restore(&mut state)?;
        self.evidence = match state.memory {
            serde_json::Value::Null => Evidence::default(),
            memory => serde_json::from_value(memory).map_err(Error::Memory)?,
        };
        Ok(())
    }

    fn finder(&self, device: &Device) -> Result<Box<dyn Finder>, Error> {
        Ok(Box::new(self.trained.averaged(device)?))
    }
}
