//! Esl16: attend, infer, repeat (Eslami et al., 2016; paper, section 5 and appendix C.2).
//!
//! A recurrent network looks at the whole image and says, object by object, where the next one is and whether there is one; a
//! variational auto-encoder redraws what is there. The loss is the negative evidence lower bound.

mod attend;
mod config;
mod distributions;
mod finder;
mod learner;
mod networks;

pub use config::{Esl16Config, PresencePrior};
pub use distributions::{binary_concrete_kl, gaussian_kl};
pub use finder::Esl16Finder;
pub use learner::Esl16Learner;
pub use networks::lstm_cell;
