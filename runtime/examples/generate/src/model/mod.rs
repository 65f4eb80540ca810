//! A Llama model on the runtime: loaded once, then asked through sessions.
//!
//! In: a checked file and a runtime. Out: next tokens. Everything a step needs is planned, bound and
//! recorded before the first step; a step writes a few words of tables and replays one graph.

mod buffers;
mod cache;
mod check;
mod forward;
mod head;
mod linear;
mod record;
mod session;
mod weights;

use std::sync::Arc;

use tilewright::{Runtime, Stream};

use crate::args::Activations;
use crate::config::LlamaConfig;
use crate::error::Result;
use crate::map::ModelFile;
use weights::Weights;

pub use session::{Request, Session};

/// A loaded model.
pub struct Model {
    rt: Runtime,
    stream: Stream,
    config: LlamaConfig,
    weights: Weights,
    activations: Activations,
}

impl Model {
    /// Checks the file against its metadata, then packs the weights. `progress` hears how many bytes of
    /// [`Model::bytes_to_pack`] are done.
    pub fn load(
        rt: Runtime,
        file: &Arc<ModelFile>,
        activations: Activations,
        progress: &mut dyn FnMut(usize),
    ) -> Result<Model> {
        let config = LlamaConfig::from_gguf(file.gguf())?;
        check::check_tensors(file.gguf(), &config)?;
        let stream = rt.stream()?;
        let weights = Weights::pack(&rt, &stream, file, &config, progress)?;
        Ok(Model { rt, stream, config, weights, activations })
    }

    /// How many bytes of weights loading packs.
    pub fn bytes_to_pack(file: &ModelFile) -> usize {
        Weights::bytes_to_pack(file)
    }

    /// The hyper-parameters.
    pub fn config(&self) -> &LlamaConfig {
        &self.config
    }

    /// Bytes of packed weights, which a decode step streams once.
    pub fn weight_bytes(&self) -> usize {
        self.weights.bytes()
    }
}
