//! Shared by the tests of this crate: where the demo model is, reference data, and a model in f64.

pub(crate) mod dequant;
mod knobs;
pub(crate) mod npy;
pub(crate) mod oracle;
pub(crate) mod run;
pub(crate) mod small;
pub(crate) mod writer;

use std::path::{Path, PathBuf};

/// The demo model: `$TILEWRIGHT_MODEL`, or where the test command puts it.
pub(crate) fn model_path() -> PathBuf {
    knobs::model()
        .unwrap_or_else(|| workspace().join("target/demo/SmolLM2-135M-Instruct.Q4_1.gguf"))
}

/// The demo model, opened; says how to get it when it is not there.
pub(crate) fn open_model() -> generate::map::ModelFile {
    let path = model_path();
    assert!(
        path.exists(),
        "the demo model is not at {}; `cargo xtask test` fetches it, or set TILEWRIGHT_MODEL",
        path.display()
    );
    generate::map::ModelFile::open(&path).expect("the demo model opens")
}

fn workspace() -> &'static Path {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(3).expect("the crate lies three folders deep")
}

/// Where the reference data of the demo model is.
pub(crate) fn data(file: &str) -> PathBuf {
    workspace().join("tests/data/smollm2").join(file)
}

/// One prompt of `reference.json`.
pub(crate) struct Reference {
    pub(crate) prompt: String,
    pub(crate) ids: Vec<u32>,
    pub(crate) mean_nll: f64,
    pub(crate) greedy: Vec<u32>,
    pub(crate) margins: Vec<f64>,
    pub(crate) text: String,
    /// Logits after the last prompt token.
    pub(crate) logits: Vec<f32>,
}

/// The reference data, prompt by prompt.
pub(crate) fn references() -> Vec<Reference> {
    let text = std::fs::read_to_string(data("reference.json")).expect("reference.json is there");
    let json: serde_json::Value = serde_json::from_str(&text).expect("reference.json is JSON");
    let ids = |v: &serde_json::Value| -> Vec<u32> {
        v.as_array().expect("ids").iter().map(|x| x.as_u64().expect("an id") as u32).collect()
    };
    let list = json.as_array().expect("a list of prompts");
    list.iter()
        .enumerate()
        .map(|(i, r)| Reference {
            prompt: r["prompt"].as_str().expect("a prompt").to_owned(),
            ids: ids(&r["ids"]),
            mean_nll: r["mean_nll"].as_f64().expect("a number"),
            greedy: ids(&r["greedy24"]),
            margins: r["greedy_margins"]
                .as_array()
                .expect("margins")
                .iter()
                .map(|x| x.as_f64().expect("a margin"))
                .collect(),
            text: r["text"].as_str().expect("a text").to_owned(),
            logits: npy::read_f32(&data(&format!("logits_{i}.npy"))),
        })
        .collect()
}

/// `‖got − want‖ / ‖want‖`; NaN anywhere gives infinity.
pub(crate) fn relative_error(got: &[f32], want: &[f32]) -> f64 {
    assert_eq!(got.len(), want.len(), "lengths differ");
    let diff: f64 =
        got.iter().zip(want).map(|(g, w)| (f64::from(*g) - f64::from(*w)).powi(2)).sum();
    let norm: f64 = want.iter().map(|w| f64::from(*w).powi(2)).sum();
    let error = (diff / norm).sqrt();
    if error.is_nan() { f64::INFINITY } else { error }
}

/// The index of the largest element, the lowest among equals.
pub(crate) fn argmax(row: &[f32]) -> u32 {
    let mut best = 0;
    for (i, v) in row.iter().enumerate() {
        if *v > row[best] {
            best = i;
        }
    }
    best as u32
}
