//! The recipes that come with the program: the files under `configs/`.

macro_rules! recipes {
    ($($name:literal),+ $(,)?) => {
        const RECIPES: &[(&str, &str)] = &[$((
            $name,
            include_str!(concat!("../../../../configs/", $name, ".toml")),
        )),+];
    };
}

recipes!(
    "glyphs-demo",
    "mnist-hard-classify",
    "mnist-hard-paper",
    "mnist-hard-official",
    "mnist-hard-supervised",
    "mnist-three-classify",
    "mnist-uneven-classify",
    "mnist-crowded-classify",
    "mnist-cluttered-classify",
    "mnist-cluttered-supervised",
    "mnist-textured-classify",
    "mnist-textured-supervised",
    "mnist-k9",
    "mnist-k6to9",
    "mnist-k3to9",
    "mnist-easy-reconstruct",
    "mnist-hard-reconstruct",
    "mnist-scale-reconstruct",
    "mnist-scale-single",
    "gabor-reconstruct",
    "mnist-easy-grid",
    "mnist-hard-grid",
    "mnist-easy-channelwise",
    "mnist-hard-channelwise",
    "mnist-hard-channelwise-classify",
    "mnist-three-xie20",
    "mnist-hard-xie20",
    "mnist-hard-xie20-sinkhorn",
    "mnist-hard-lapsum",
    "mnist-hard-perturbed",
    "mnist-hard-classify-proposals",
    "mnist-three-classify-proposals",
    "mnist-uneven-classify-proposals",
    "mnist-crowded-classify-proposals",
    "mnist-k9-proposals",
    "mnist-k6to9-proposals",
    "mnist-k3to9-proposals",
    "mnist-easy-reconstruct-proposals",
    "mnist-hard-reconstruct-proposals",
    "mnist-scale-reconstruct-proposals",
    "mnist-scale-single-proposals",
    "gabor-reconstruct-proposals",
    "gabor64-reconstruct",
    "gabor256-reconstruct",
    "mnist-easy-esl16",
    "mnist-hard-esl16",
    "upto2-esl16",
    "mnist-easy-zha18",
    "mnist-hard-zha18",
    "voc-mist-resnet18",
    "voc-mist-mobilenetv2",
    "voc-mist-paper-resnet18",
    "voc-xie20-resnet18",
    "voc-cam-resnet18",
    "voc-supervised-resnet18",
    "folder-reconstruct",
    "folder-classify",
    "folder-count",
);

/// The TOML of a recipe.
pub fn text(name: &str) -> Option<&'static str> {
    let found = RECIPES.iter().find(|(known, _)| *known == name);
    found.map(|(_, text)| *text)
}

/// All names.
pub fn names() -> impl Iterator<Item = &'static str> {
    RECIPES.iter().map(|(name, _)| *name)
}
