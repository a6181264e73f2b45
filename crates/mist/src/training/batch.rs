//! What a training step sees.

use burn::tensor::{Tensor, TensorData};

use crate::Error;
use crate::geometry::Truth;

/// Some images and what is known about them; a method takes what it may see.
#[derive(Clone, Debug)]
pub struct Batch {
    /// `[batch, channels, height, width]`
    pub images: Tensor<4>,
    /// Features of the images, as a backbone gave them, where they are known: `[batch, channels, height, width]`.
    pub features: Option<Tensor<4>>,
    /// How often each class occurs in each image, where that is known.
    pub class_counts: Option<Vec<Vec<usize>>>,
    /// The true boxes of each image, where they are known: for evaluation and the supervised bound.
    pub truths: Option<Vec<Vec<Truth>>>,
}

impl Batch {
    /// Share of each class among an image's objects, `[batch, classes]`: the only label that MIST sees. Images without
    /// objects have zeros.
    ///
    /// # Errors
    /// When the counts are not known or are not of that many classes.
    pub fn mean_labels(&self, classes: usize) -> Result<Tensor<2>, Error> {
        let what = "class counts";
        let counts = self.class_counts.as_ref().ok_or(Error::NotKnown { what })?;
        let mut shares = Vec::with_capacity(counts.len() * classes);
        for image in counts {
            if image.len() != classes {
                return Err(Error::Mismatch {
                    what: "classes of an image's counts",
                    expected: vec![classes],
                    actual: vec![image.len()],
                });
            }
            let total = image.iter().sum::<usize>().max(1) as f32;
            shares.extend(image.iter().map(|&count| count as f32 / total));
        }
        let data = TensorData::new(shares, [counts.len(), classes]);
        Ok(Tensor::from_data(data, &self.images.device()))
    }

    /// The labels of each image's objects, `K` of them: what is missing is filled up with the last class, the background.
    ///
    /// # Errors
    /// When the counts are not known, are not of that many classes, or an image has more than `instances` objects.
    pub fn labels(&self, classes: usize, instances: usize) -> Result<Vec<Vec<usize>>, Error> {
        let what = "class counts";
        let counts = self.class_counts.as_ref().ok_or(Error::NotKnown { what })?;
        let of_image = |counts: &Vec<usize>| {
            let objects = counts.iter().take(classes.saturating_sub(1)).enumerate();
            let mut labels: Vec<usize> = objects
                .flat_map(|(label, &count)| std::iter::repeat_n(label, count))
                .collect();
            if counts.len() != classes || labels.len() > instances {
                return Err(Error::Mismatch {
                    what: "classes of an image's counts, and its objects",
                    expected: vec![classes, instances],
                    actual: vec![counts.len(), labels.len()],
                });
            }
            labels.resize(instances, classes - 1);
            Ok(labels)
        };
        counts.iter().map(of_image).collect()
    }

    /// The true boxes.
    ///
    /// # Errors
    /// When they are not known.
    pub fn truths(&self) -> Result<&[Vec<Truth>], Error> {
        let what = "true boxes";
        self.truths.as_deref().ok_or(Error::NotKnown { what })
    }
}

#[cfg(test)]
mod tests {
    use burn::tensor::Device;

    use super::*;

    #[test]
    fn shares_sum_to_one_and_what_is_not_known_is_an_error() {
        let mut batch = Batch {
            images: Tensor::zeros([2, 1, 4, 4], &Device::flex()),
            features: None,
            class_counts: Some(vec![vec![3, 1], vec![0, 0]]),
            truths: None,
        };
        let shares = batch.mean_labels(2).unwrap().try_into_vec_as::<f32>();
        assert_eq!(shares.unwrap(), [0.75, 0.25, 0.0, 0.0]);
        assert!(batch.mean_labels(3).is_err());
        assert!(matches!(batch.truths(), Err(Error::NotKnown { .. })));
        batch.class_counts = None;
        let message = batch.mean_labels(2).unwrap_err().to_string();
        assert!(message.contains("class counts"), "{message}");
    }
}
