//! The registry of training methods.
//!
//! A new method is a folder of its own, with settings that implement [`Method`], and one line in the list below. Recipes,
//! checkpoints, logs, curves and evaluation then know it.

#[cfg(test)]
mod toy;

use mist::baselines::{
    CamConfig, ChannelwiseConfig, Esl16Config, GridConfig, SupervisedConfig, Xie20Config,
    Zha18Config,
};
use mist::centres::CentresConfig;
use mist::lifted::LiftedConfig;
use mist::training::Method;
use serde::{Deserialize, Serialize};

macro_rules! methods {
    ($($(#[doc = $doc:literal])* $(#[cfg($cfg:meta)])? $name:literal => $variant:ident($config:ty),)+) => {
        /// The settings of a method, under its name in recipes.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[serde(deny_unknown_fields)]
        pub enum MethodConfig {
            $(
                $(#[doc = $doc])*
                $(#[cfg($cfg)])?
                #[serde(rename = $name)]
                $variant($config),
            )+
        }

        impl MethodConfig {
            /// Names of all methods in recipes.
            pub const NAMES: &'static [&'static str] = &[$($(#[cfg($cfg)])? $name,)+];

            /// The method of a name with its default settings.
            pub fn by_name(name: &str) -> Option<Self> {
                match name {
                    $($(#[cfg($cfg)])? $name => Some(Self::$variant(<$config>::default())),)+
                    _ => None,
                }
            }

            /// Its name in recipes.
            pub fn name(&self) -> &'static str {
                match self {
                    $($(#[cfg($cfg)])? Self::$variant(_) => $name,)+
                }
            }

            /// The method itself.
            pub fn method(&self) -> &dyn Method {
                match self {
                    $($(#[cfg($cfg)])? Self::$variant(config) => config,)+
                }
            }
        }
    };
}

methods! {
    /// Algorithm 1 of the paper.
    "lifted" => Lifted(LiftedConfig),
    /// Discs in what stands out, and a detector that tells sizes: for folders of images.
    "centres" => Centres(CentresConfig),
    /// True centres and the class of each patch: the upper bound.
    "supervised" => Supervised(SupervisedConfig),
    /// Differentiable top-k: masks over all places.
    "xie20" => Xie20(Xie20Config),
    /// Cells of a grid, redrawn.
    "grid" => Grid(GridConfig),
    /// One output of the heatmap network for each keypoint.
    "channelwise" => Channelwise(ChannelwiseConfig),
    /// Class activation maps.
    "cam" => Cam(CamConfig),
    /// Attend, infer, repeat: objects one after the other, by a recurrent network.
    "esl16" => Esl16(Esl16Config),
    /// Unsupervised landmarks: one channel each, which follow warps of the image.
    "zha18" => Zha18(Zha18Config),
    /// A method that only tests know.
    #[cfg(test)]
    "toy" => Toy(toy::ToyConfig),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_to_methods_and_back() {
        for name in MethodConfig::NAMES {
            assert_eq!(MethodConfig::by_name(name).unwrap().name(), *name);
        }
        assert!(MethodConfig::by_name("unheard").is_none());
    }
}
