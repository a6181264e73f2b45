//! Every operator against PyTorch, forward and gradients.

#![allow(
    missing_docs,
    dead_code,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic
)]

mod support;

use burn::tensor::{Device, Tensor};
use mist::extract::{Extractor, ScoredKeypoint};
use mist::heatmap::{LocalSoftmax, ScaleLevels, resize, scale_fusion};
use mist::sample::{PatchGeometry, paste, paste_by_operations, sample, sample_by_operations};
use mist::soft_top_k::{SoftTopK, perturbed_masks};
use mist::splat::{GaussianSplat, splat};
use mist::{keypoints, loss};
use support::{Golden, contract, family};

fn device() -> Device {
    Device::flex().autodiff()
}

/// Checks an operator of one tensor: value and gradient.
fn check_unary(golden: &Golden, input: &str, operator: impl Fn(Tensor<4>) -> Tensor<4>) {
    let device = device();
    let x = golden.leaf::<4>(input, &device);
    let output = operator(x.clone());
    golden.expect("output", output.clone());
    let gradients = contract(output, golden.tensor("cotangent", &device)).backward();
    golden.expect(&format!("grad_{input}"), x.grad(&gradients).unwrap());
}

#[test]
fn local_softmax_of_each_kind() {
    let kinds = [
        ("paper", LocalSoftmax::paper()),
        ("official", LocalSoftmax::official()),
        ("lfnet", LocalSoftmax::lf_net()),
    ];
    for (name, softmax) in kinds {
        for golden in family(&format!("local_softmax_{name}"), 2) {
            check_unary(&golden, "logits", |x| softmax.forward(x).unwrap());
        }
    }
}

#[test]
fn resizing() {
    for golden in family("resize_", 4) {
        let [.., height, width] = golden.tensor::<4>("output", &device()).dims();
        check_unary(&golden, "images", |x| resize(x, height, width).unwrap());
    }
}

#[test]
fn fusion_over_scale() {
    for golden in family("scale_fusion", 2) {
        check_unary(&golden, "heatmaps", scale_fusion);
    }
}

fn geometry(golden: &Golden, patch_px: usize) -> PatchGeometry {
    PatchGeometry {
        base_box_px: golden.number("base_box_px") as f32,
        patch_px,
        context_px: 0.0,
    }
}

#[test]
fn sampler() {
    let device = device();
    for operator in [sample, sample_by_operations] {
        for golden in family("sample_", 5) {
            let images = golden.leaf::<4>("images", &device);
            let points = golden.leaf::<3>("keypoints", &device);
            let cotangent = golden.tensor::<5>("cotangent", &device);
            let geometry = geometry(&golden, cotangent.dims()[4]);
            let patches = operator(images.clone(), points.clone(), geometry).unwrap();
            golden.expect("output", patches.clone());
            let gradients = contract(patches, cotangent).backward();
            golden.expect("grad_images", images.grad(&gradients).unwrap());
            golden.expect("grad_keypoints", points.grad(&gradients).unwrap());
        }
    }
}

#[test]
fn inverse_sampler() {
    let device = device();
    for operator in [paste, paste_by_operations] {
        for golden in family("paste_", 5) {
            let patches = golden.leaf::<5>("patches", &device);
            let points = golden.leaf::<3>("keypoints", &device);
            let cotangent = golden.tensor::<4>("cotangent", &device);
            let geometry = geometry(&golden, patches.dims()[4]);
            let [.., height, width] = cotangent.dims();
            let image = operator(patches.clone(), points.clone(), geometry, height, width).unwrap();
            golden.expect("output", image.clone());
            let gradients = contract(image, cotangent).backward();
            golden.expect("grad_patches", patches.grad(&gradients).unwrap());
            golden.expect("grad_keypoints", points.grad(&gradients).unwrap());
        }
    }
}

#[test]
fn reconstruction_loss() {
    let device = device();
    for golden in family("reconstruction_loss", 1) {
        let images = golden.leaf::<4>("images", &device);
        let redrawn = golden.leaf::<4>("reconstruction", &device);
        let output = loss::reconstruction_loss(images.clone(), redrawn.clone()).unwrap();
        golden.expect("output", output.clone());
        let gradients = contract(output, golden.tensor("cotangent", &device)).backward();
        golden.expect("grad_images", images.grad(&gradients).unwrap());
        golden.expect("grad_reconstruction", redrawn.grad(&gradients).unwrap());
    }
}

#[test]
fn multi_instance_loss() {
    let device = device();
    for golden in family("multi_instance_loss", 1) {
        let logits = golden.leaf::<3>("logits", &device);
        let labels = golden.tensor::<2>("mean_labels", &device);
        let output =
            loss::multi_instance_loss(loss::MeanDistance::Squared, labels, logits.clone()).unwrap();
        golden.expect("output", output.clone());
        let gradients = contract(output, golden.tensor("cotangent", &device)).backward();
        golden.expect("grad_logits", logits.grad(&gradients).unwrap());
    }
}

#[test]
fn heatmap_loss() {
    let device = device();
    for golden in family("heatmap_loss", 1) {
        let heatmap = golden.leaf::<4>("heatmap", &device);
        let target = golden.tensor::<4>("target", &device);
        let output = loss::heatmap_loss(heatmap.clone(), target, 1).unwrap();
        golden.expect("output", output.clone());
        let gradients = contract(output, golden.tensor("cotangent", &device)).backward();
        golden.expect("grad_heatmap", heatmap.grad(&gradients).unwrap());
    }
}

#[test]
fn offset_loss() {
    let device = device();
    for golden in family("offset_loss", 1) {
        let predicted = golden.leaf::<4>("predicted", &device);
        let [target, mask] = ["target", "mask"].map(|name| golden.tensor::<4>(name, &device));
        let output = loss::offset_loss(predicted.clone(), target, mask).unwrap();
        golden.expect("output", output.clone());
        let gradients = contract(output, golden.tensor("cotangent", &device)).backward();
        golden.expect("grad_predicted", predicted.grad(&gradients).unwrap());
    }
}

fn levels(golden: &Golden) -> ScaleLevels {
    if golden.has("levels") {
        ScaleLevels::new(golden.values("levels").to_vec()).unwrap()
    } else {
        ScaleLevels::single()
    }
}

#[test]
fn splat_to_pixels_and_scales() {
    let device = Device::flex();
    for golden in family("splat_s", 2) {
        let points = keypoints::from_tensor(golden.tensor("keypoints", &device)).unwrap();
        let [.., height, width] = golden.tensor::<4>("output", &device).dims();
        let heatmap = splat(&points, &levels(&golden), height, width, &device).unwrap();
        golden.expect("output", heatmap);
    }
}

#[test]
fn splat_of_gaussians_with_offsets() {
    let device = Device::flex();
    for golden in family("splat_gaussian_", 2) {
        let [stride, side] = ["stride_px", "box_px"].map(|name| golden.number(name) as f32);
        let settings = if golden.name.ends_with("paper") {
            GaussianSplat::paper(stride, side)
        } else {
            GaussianSplat::official(stride, side)
        };
        let points = keypoints::from_tensor(golden.tensor("keypoints", &device)).unwrap();
        let [.., height, width] = golden.tensor::<4>("response", &device).dims();
        let target = settings.splat(&points, height, width, &device).unwrap();
        golden.expect("response", target.response);
        golden.expect("offsets", target.offsets);
        golden.expect("mask", target.mask);
    }
}

/// The gradients of optimal transport by Sinkhorn are those of all its iterations, unrolled by autograd.
#[test]
fn soft_top_k() {
    let device = device();
    for golden in family("soft_top_k_", 5) {
        let (k, epsilon) = (golden.number("k") as usize, golden.number("epsilon") as f32);
        let kind = golden.name.trim_start_matches("soft_top_k_");
        let operators: &[Option<SoftTopK>] = match kind.split('_').next() {
            Some("sinkhorn") => {
                let iterations = golden.number("iterations") as usize;
                &[
                    Some(SoftTopK::Sinkhorn { iterations }),
                    Some(SoftTopK::ClosedForm),
                ]
            }
            Some("lap") => &[Some(SoftTopK::LapSum)],
            _ => &[None],
        };
        for operator in operators {
            let scores = golden.leaf::<2>("scores", &device);
            let masks = match operator {
                Some(operator) => operator.masks(scores.clone(), k, epsilon, 0, 0),
                None => {
                    perturbed_masks(scores.clone(), golden.tensor("noise", &device), k, epsilon)
                }
            };
            let masks = masks.unwrap();
            golden.expect("output", masks.clone());
            let gradients = contract(masks, golden.tensor("cotangent", &device)).backward();
            golden.expect("grad_scores", scores.grad(&gradients).unwrap());
        }
    }
}

#[test]
fn extraction() {
    let device = Device::flex();
    for golden in family("extract_", 2) {
        let [_, instances] = golden.tensor::<2>("scores", &device).dims();
        let extractor = Extractor {
            nms_window_px: golden.number("nms_px") as usize,
            ..Extractor::new(instances)
        };
        let heatmaps = golden.tensor::<4>("heatmaps", &device);
        let found = extractor.extract(heatmaps, &levels(&golden)).unwrap();
        let found: Vec<ScoredKeypoint> = found.into_iter().flatten().collect();
        let coordinates = found.iter().map(|found| found.keypoint);
        let coordinates = coordinates.flat_map(|k| [k.x_px, k.y_px, k.scale]);
        golden.expect_values("keypoints", &coordinates.collect::<Vec<f32>>());
        let scores = found.iter().map(|found| found.score);
        golden.expect_values("scores", &scores.collect::<Vec<f32>>());
    }
}
