//! Asks a model for logits and tokens.

use std::path::PathBuf;
use std::sync::Arc;

use generate::args::Activations;
use generate::map::ModelFile;
use generate::model::{Model, Request};
use generate::sampling::Sampling;

/// The model in `file` on so many threads.
pub(crate) fn load(file: &Arc<ModelFile>, threads: usize, activations: Activations) -> Model {
    let rt = generate::run::runtime(threads, |_| {}).expect("the CPU");
    Model::load(rt, file, activations, &mut |_| {}).expect("a model")
}

/// The logits after each prompt and after each of the tokens that follow it: `[step][prompt]`. Without
/// tokens to follow, the model's own choices do.
pub(crate) fn logits(
    model: &Model,
    prompts: &[Vec<u32>],
    follow: &[Vec<u32>],
    steps: usize,
) -> Vec<Vec<Vec<f32>>> {
    let request = Request { prompts, max_tokens: steps + 1, sampling: Sampling::GREEDY };
    let mut session = model.session(request).expect("a session");
    assert!(session.prefill(&|| true).expect("a prefill"));
    let mut all = Vec::new();
    for step in 0..=steps {
        let logits = session.logits().expect("logits");
        all.push(logits.chunks(model.config().vocab_size).map(<[f32]>::to_vec).collect());
        if step < steps {
            if !follow.is_empty() {
                let tokens: Vec<i32> = follow.iter().map(|f| f[step] as i32).collect();
                session.force(&tokens).expect("tokens to follow");
            }
            assert!(session.step().expect("a step"));
        }
    }
    all
}

/// The first `n` tokens the model chooses after each prompt, going on after the end.
pub(crate) fn tokens(
    model: &Model,
    prompts: &[Vec<u32>],
    n: usize,
    sampling: Sampling,
) -> Vec<Vec<u32>> {
    let mut session =
        model.session(Request { prompts, max_tokens: n, sampling }).expect("a session");
    assert!(session.prefill(&|| true).expect("a prefill"));
    let mut all = vec![Vec::new(); prompts.len()];
    loop {
        for (row, id) in all.iter_mut().zip(session.chosen()) {
            row.push(*id as u32);
        }
        if !session.step().expect("a step") {
            return all;
        }
    }
}

/// A file of these bytes that goes when it is dropped.
pub(crate) struct TempModel {
    path: PathBuf,
}

impl TempModel {
    pub(crate) fn new(name: &str, bytes: &[u8]) -> TempModel {
        let path =
            std::env::temp_dir().join(format!("generate-{}-{name}.gguf", std::process::id()));
        std::fs::write(&path, bytes).expect("room for a small file");
        TempModel { path }
    }

    pub(crate) fn open(&self) -> Arc<ModelFile> {
        Arc::new(ModelFile::open(&self.path).expect("a sound file"))
    }
}

impl Drop for TempModel {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}
