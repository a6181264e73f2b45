//! What the tables hold: experiments, and the paper's numbers.

use super::{Column, Row, Table, Unit};

const DETECTION: &[Column] = &[
    Column::percent("iou50", "IoU 50 %"),
    Column::percent("classif", "Classif."),
    Column::percent("both", "Both"),
];
const RMSE: Column = Column {
    metric: "rmse",
    heading: "RMSE",
    unit: Unit::Thousandths,
};

/// Every table that there are recipes for.
pub const TABLES: &[Table] = &[
    Table {
        name: "table1",
        title: "Reconstruction (Table 1)",
        columns: &[RMSE, Column::percent("iou50", "IoU 50 %")],
        rows: &[
            Row::beside("mnist-easy-reconstruct", "MNIST easy", &[Some(0.038), None]),
            Row::ours(
                "mnist-easy-reconstruct-proposals",
                "MNIST easy, from proposals",
            ),
            Row::beside("mnist-easy-grid", "MNIST easy, grid", &[Some(0.039), None]),
            Row::beside(
                "mnist-easy-channelwise",
                "MNIST easy, channel-wise",
                &[Some(0.042), None],
            ),
            Row::beside("mnist-hard-reconstruct", "MNIST hard", &[Some(0.053), None]),
            Row::ours(
                "mnist-hard-reconstruct-proposals",
                "MNIST hard, from proposals",
            ),
            Row::beside(
                "mnist-easy-esl16",
                "MNIST easy, Esl16",
                &[Some(0.100), None],
            ),
            Row::beside(
                "mnist-easy-zha18",
                "MNIST easy, Zha18",
                &[Some(0.169), None],
            ),
            Row::beside("mnist-hard-grid", "MNIST hard, grid", &[Some(0.062), None]),
            Row::beside(
                "mnist-hard-channelwise",
                "MNIST hard, channel-wise",
                &[Some(0.128), None],
            ),
            Row::beside(
                "mnist-hard-esl16",
                "MNIST hard, Esl16",
                &[Some(0.154), None],
            ),
            Row::beside(
                "mnist-hard-zha18",
                "MNIST hard, Zha18",
                &[Some(0.191), None],
            ),
            Row::beside("gabor-reconstruct", "Gabor noise", &[Some(0.095), None]),
            Row::ours("gabor-reconstruct-proposals", "Gabor noise, from proposals"),
        ],
    },
    Table {
        name: "scales",
        title: "Digits of 14 to 28 px, reconstruction",
        columns: &[
            RMSE,
            Column::percent("iou50", "IoU 50 %"),
            Column {
                metric: "scale_err",
                heading: "log-ratio of sides",
                unit: Unit::Thousandths,
            },
        ],
        rows: &[
            Row::ours("mnist-scale-reconstruct", "five scales"),
            Row::ours(
                "mnist-scale-reconstruct-proposals",
                "five scales, from proposals",
            ),
            Row::ours("mnist-scale-single", "one scale"),
            Row::ours("mnist-scale-single-proposals", "one scale, from proposals"),
        ],
    },
    Table {
        name: "gabor",
        title: "Gabor noise: impulses within 2 px and the learnt kernel",
        columns: &[
            RMSE,
            Column::percent("impulse_precision", "precision"),
            Column::percent("impulse_recall", "recall"),
            Column {
                metric: "kernel_corr",
                heading: "correlation of kernels",
                unit: Unit::Thousandths,
            },
        ],
        rows: &[
            Row::ours("gabor-reconstruct", "16 impulses"),
            Row::ours("gabor-reconstruct-proposals", "16 impulses, from proposals"),
            Row::ours("gabor64-reconstruct", "64 impulses, from proposals"),
            Row::ours("gabor256-reconstruct", "256 impulses, from proposals"),
        ],
    },
    Table {
        name: "table2",
        title: "MNIST-hard, weakly supervised (Table 2)",
        columns: DETECTION,
        rows: &[
            Row::beside(
                "mnist-hard-classify",
                "MIST",
                &[Some(97.8), Some(98.8), Some(97.5)],
            ),
            Row::ours("mnist-hard-classify-proposals", "MIST, from proposals"),
            Row::ours("mnist-hard-official", "MIST, released code's choices"),
            Row::ours("mnist-hard-paper", "MIST, the paper's text to the letter"),
            Row::beside(
                "mnist-hard-channelwise-classify",
                "channel-wise",
                &[Some(25.4), Some(75.5), Some(24.8)],
            ),
            Row::beside(
                "mnist-hard-supervised",
                "supervised",
                &[Some(99.6), Some(98.7), Some(98.6)],
            ),
        ],
    },
    Table {
        name: "table3",
        title: "Beside differentiable top-k (Table 3)",
        columns: DETECTION,
        rows: &[
            Row::beside(
                "mnist-three-classify",
                "MIST, 3 digits",
                &[Some(99.5), Some(96.9), Some(96.6)],
            ),
            Row::ours(
                "mnist-three-classify-proposals",
                "MIST, 3 digits, from proposals",
            ),
            Row::beside(
                "mnist-three-xie20",
                "Xie20, 3 digits",
                &[Some(95.4), Some(97.4), Some(92.2)],
            ),
            Row::beside(
                "mnist-hard-classify",
                "MIST, 9 digits",
                &[Some(97.8), Some(98.8), Some(97.5)],
            ),
            Row::beside(
                "mnist-hard-xie20",
                "Xie20, 9 digits",
                &[Some(72.7), Some(93.1), Some(71.3)],
            ),
            Row::ours("mnist-hard-xie20-sinkhorn", "Xie20 by Sinkhorn, 9 digits"),
            Row::ours("mnist-hard-lapsum", "LapSum, 9 digits"),
            Row::ours("mnist-hard-perturbed", "perturbed top-k, 9 digits"),
        ],
    },
    Table {
        name: "table4",
        title: "Photographs (Table 4); the paper trains on four times as many images and a ResNet34, ours are VOC 2007 crops",
        columns: &[
            Column::percent("precision", "Precision"),
            Column::percent("recall", "Recall"),
            Column::percent("f1", "F1"),
        ],
        rows: &[
            Row::beside(
                "voc-mist-resnet18",
                "MIST, our best recipe, ResNet18",
                &[Some(87.4), Some(55.5), Some(67.9)],
            ),
            Row::ours("voc-mist-mobilenetv2", "MIST, our best recipe, MobileNetV2"),
            Row::ours(
                "voc-mist-paper-resnet18",
                "MIST, the paper's loss, ResNet18",
            ),
            Row::beside(
                "voc-xie20-resnet18",
                "Xie20, the paper's loss, ResNet18",
                &[Some(72.7), Some(51.0), Some(60.0)],
            ),
            Row::ours("voc-cam-resnet18", "CAM, ResNet18"),
            Row::ours("voc-supervised-resnet18", "supervised, ResNet18"),
        ],
    },
    Table {
        name: "table5",
        title: "Sensitivity to K (Table 5)",
        columns: &[Column::percent("ap50", "AP 50 %")],
        rows: &[
            Row::beside("mnist-k9", "9 digits, K = 9", &[Some(92.2)]),
            Row::beside("mnist-k6to9", "6 to 9 digits, K = 7", &[Some(90.1)]),
            Row::beside("mnist-k3to9", "3 to 9 digits, K = 6", &[Some(90.8)]),
            Row::ours("mnist-k9-proposals", "9 digits, K = 9, from proposals"),
            Row::ours(
                "mnist-k6to9-proposals",
                "6 to 9 digits, K = 7, from proposals",
            ),
            Row::ours(
                "mnist-k3to9-proposals",
                "3 to 9 digits, K = 6, from proposals",
            ),
        ],
    },
    Table {
        name: "beyond",
        title: "Harder scenes of our own",
        columns: DETECTION,
        rows: &[
            Row::ours("mnist-uneven-classify", "clustered digits"),
            Row::ours(
                "mnist-uneven-classify-proposals",
                "clustered digits, from proposals",
            ),
            Row::ours("mnist-crowded-classify", "digits 16 px apart"),
            Row::ours(
                "mnist-crowded-classify-proposals",
                "digits 16 px apart, from proposals",
            ),
            Row::ours("mnist-cluttered-classify", "fragments between the digits"),
            Row::ours(
                "mnist-cluttered-classify-proposals-alone",
                "fragments, proposals instead of the detector",
            ),
            Row::ours("mnist-cluttered-supervised", "fragments, supervised"),
            Row::ours("mnist-textured-classify", "low contrast over a texture"),
            Row::ours(
                "mnist-textured-classify-proposals-alone",
                "texture, proposals instead of the detector",
            ),
            Row::ours("mnist-textured-supervised", "texture, supervised"),
        ],
    },
    Table {
        name: "controls",
        title: "What is learnt from counts, and what is not (MNIST-hard)",
        columns: DETECTION,
        rows: &[
            Row::ours("control-random", "no training: the random detector"),
            Row::ours("control-short", "mnist-hard-classify, 1,200 steps"),
            Row::ours(
                "control-short-proposals-alone",
                "its reader, hand-made proposals instead of its detector",
            ),
            Row::ours(
                "control-shuffled",
                "1,200 steps, counts shuffled between images",
            ),
            Row::ours(
                "control-shuffled-released",
                "the same, detector never frozen: what self-training alone does",
            ),
            Row::ours("control-no-waiting", "1,200 steps, detector never frozen"),
            Row::ours("control-no-search", "1,200 steps, no exchanges"),
            Row::ours("control-no-draws", "1,200 steps, no draws from the heatmap"),
            Row::ours("control-no-moves", "1,200 steps, no moved copies"),
            Row::ours(
                "control-no-jitter",
                "1,200 steps, jitter of 1 px throughout",
            ),
        ],
    },
    Table {
        name: "ablations",
        title: "One setting changed, MNIST-hard, short trainings",
        columns: DETECTION,
        rows: &[
            Row::ours(
                "ablate-base",
                "mnist-hard-classify-proposals, patches of 16 px, 300 steps, 150 of them from proposals",
            ),
            Row::ours("ablate-paper-start", "keypoints start from E_K(H(I)) alone"),
            Row::ours(
                "ablate-no-competition",
                "proposals for 150 steps, then E_K(H(I)) alone",
            ),
            Row::ours("ablate-squared", "squared distance of counts"),
            Row::ours("ablate-nms-5", "suppression in 5 px, not 17"),
            Row::ours("ablate-greedy", "greedy suppression"),
            Row::ours("ablate-mass-1", "maxima of single responses"),
            Row::ours("ablate-still-keypoints", "no keypoint step"),
            Row::ours("ablate-three-keypoint-steps", "three keypoint steps"),
            Row::ours("ablate-lambda", "three keypoint steps, lambda = 0.01"),
            Row::ours("ablate-task-first", "the paper's order of stages"),
            Row::ours("ablate-unweighted", "images weighted alike"),
            Row::ours(
                "ablate-official-norm",
                "norm after convolutions, both networks",
            ),
            Row::ours("ablate-four-blocks", "detector of four blocks (17 px)"),
            Row::ours("ablate-soft", "softmax strength 3, not 5"),
            Row::ours("ablate-slow", "learning rates divided by 3.3"),
            Row::ours("ablate-batch-32", "batch of 32"),
            Row::ours("ablate-patch-24", "patches of 24 px"),
            Row::ours("ablate-window-5", "heatmaps compared over 5 px"),
            Row::ours(
                "ablate-window-5-no-competition",
                "over 5 px; proposals for 150 steps, then E_K(H(I)) alone",
            ),
            Row::ours(
                "ablate-window-5-paper-start",
                "over 5 px; keypoints start from E_K(H(I)) alone",
            ),
        ],
    },
    Table {
        name: "ablations",
        title: "One setting changed, reconstruction, short trainings",
        columns: &[RMSE, Column::percent("iou50", "IoU 50 %")],
        rows: &[
            Row::ours(
                "ablate-redraw-base",
                "mnist-hard-reconstruct-proposals, batch of 8, 300 steps, 150 of them from proposals",
            ),
            Row::ours("ablate-redraw-box", "patches show the box alone"),
            Row::ours(
                "ablate-redraw-small-seeds",
                "proposals cover three quarters of a box",
            ),
            Row::ours(
                "ablate-redraw-three-levels",
                "auto-encoder of three levels, a quarter of the code",
            ),
            Row::ours("ablate-redraw-no-momentum", "three keypoint steps"),
            Row::ours("ablate-redraw-lambda", "three keypoint steps, lambda = 1"),
            Row::ours(
                "ablate-redraw-lambda-warm",
                "three keypoint steps, lambda growing to 1",
            ),
            Row::ours(
                "ablate-redraw-momentum",
                "three keypoint steps with momentum .9",
            ),
            Row::ours(
                "ablate-redraw-no-competition",
                "proposals for 150 steps, then E_K(H(I)) alone",
            ),
            Row::ours(
                "ablate-redraw-reseed",
                "the same, empty keypoints on free proposals",
            ),
            Row::ours(
                "ablate-sizes-base",
                "mnist-scale-reconstruct-proposals, batch of 4, 300 steps, 150 of them from proposals",
            ),
            Row::ours(
                "ablate-sizes-coarse",
                "the same, large scales first, over 200 steps",
            ),
        ],
    },
];
