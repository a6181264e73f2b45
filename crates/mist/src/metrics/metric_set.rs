//! The metrics under the names that result files give them.

use serde::{Deserialize, Serialize};

macro_rules! metric_set {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// One value for each metric; absent ones are left out of files.
        ///
        /// `MetricSet<f64>` holds the metrics, `MetricSet<Interval>` their intervals. The suffix
        /// `_official` marks the released evaluator's variant.
        #[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
        pub struct MetricSet<T> {
            $(
                $(#[$doc])*
                #[serde(default = "Option::default", skip_serializing_if = "Option::is_none")]
                pub $name: Option<T>,
            )*
        }

        impl<T> Default for MetricSet<T> {
            fn default() -> Self {
                Self { $($name: None,)* }
            }
        }

        impl<T> MetricSet<T> {
            /// The metrics that are present, with their names.
            pub fn entries(&self) -> impl Iterator<Item = (&'static str, &T)> {
                [$((stringify!($name), self.$name.as_ref()),)*]
                    .into_iter()
                    .filter_map(|(name, value)| Some((name, value?)))
            }

            /// Another set, with each value that is present mapped.
            pub fn filter_map<U>(&self, map: impl Fn(&T) -> Option<U>) -> MetricSet<U> {
                MetricSet { $($name: self.$name.as_ref().and_then(&map),)* }
            }
        }
    };
}

metric_set! {
    /// Root mean square error of reconstructions (Table 1).
    rmse,
    /// Share of truths that some detection covers (Tables 2 and 3).
    iou50,
    /// [`Self::iou50`] over the first K truths of an image.
    iou50_official,
    /// Share of truths accounted for by the counts of classes (Tables 2 and 3).
    classif,
    /// [`Self::classif`] with misses of class 0 free, over the first K truths of an image.
    classif_official,
    /// Share of truths found and classified (Tables 2 and 3).
    both,
    /// [`Self::both`] over the first K truths of an image.
    both_official,
    /// Average precision at IoU .5, mean over classes (Table 5).
    ap50,
    /// Average precision at IoU .5 with all classes taken for one.
    ap50_class_blind,
    /// Precision under the chosen matching rule (Table 4 for natural images).
    precision,
    /// Recall under the chosen matching rule (Table 4 for natural images).
    recall,
    /// F1 under the chosen matching rule (Table 4 for natural images).
    f1,
    /// Precision under the released evaluator's greedy matching, over the first K truths of an
    /// image.
    precision_official,
    /// Recall under the released evaluator's greedy matching, over the first K truths of an image.
    recall_official,
    /// F1 under the released evaluator's greedy matching, over the first K truths of an image.
    f1_official,
    /// Mean absolute error of the counts by class, in instances.
    count_mae,
    /// Mean absolute error of the total count, in instances.
    count_mae_total,
    /// Share of found impulses that are true ones.
    impulse_precision,
    /// Share of true impulses that were found.
    impulse_recall,
    /// F1 of found impulses.
    impulse_f1,
    /// Correlation of the learnt kernel with the true one.
    kernel_corr,
    /// Mean absolute log-ratio of matched boxes' sides, in nats.
    scale_err,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_hold_the_present_metrics_only() {
        let set = MetricSet {
            iou50: Some(0.5),
            f1: Some(0.25),
            ..MetricSet::default()
        };
        let text = serde_json::to_string(&set).unwrap();
        assert_eq!(text, r#"{"iou50":0.5,"f1":0.25}"#);
        assert_eq!(serde_json::from_str::<MetricSet<f64>>(&text).unwrap(), set);
        assert_eq!(
            set.entries().collect::<Vec<_>>(),
            [("iou50", &0.5), ("f1", &0.25)]
        );
    }
}
