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
    "mnist-hard-scratch",
    "mnist-hard-official",
    "mnist-hard-supervised",
    "mnist-three-classify",
    "mnist-uneven-classify",
    "mnist-crowded-classify",
    "mnist-k9",
    "mnist-k6to9",
    "mnist-k3to9",
    "mnist-easy-reconstruct",
    "mnist-hard-reconstruct",
    "mnist-scale-reconstruct",
    "mnist-scale-single",
    "gabor-reconstruct",
    "gabor64-reconstruct",
    "gabor256-reconstruct",
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
