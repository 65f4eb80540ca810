//! A batch of prompts from the first token to the last.

use std::ops::Range;

use tilewright::{Args, DType, Tensor};

use super::Model;
use super::buffers::{Buffers, Inputs};
use super::cache::{LayerCache, PageTable, Tables, layer_caches};
use super::forward::{Pass, Rows, Shared, push_layers};
use super::head::Head;
use super::record::{Recorded, Recorder};
use crate::args::Activations;
use crate::error::{Error, Result};
use crate::sampling::Sampling;

/// Most prompt tokens in one pass: enough to keep the kernels busy, few enough that the activations of a
/// pass stay in the caches.
const CHUNK: usize = 256;

/// What a session is asked for.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// Token ids of each prompt.
    pub prompts: &'a [Vec<u32>],
    /// How many tokens each prompt may get at most.
    pub max_tokens: usize,
    /// How tokens are chosen.
    pub sampling: Sampling,
}

/// One sequence of the batch.
struct Sequence {
    prompt: Vec<i32>,
    /// Tokens chosen so far.
    generated: usize,
    /// Tokens it may get.
    limit: usize,
    stopped: bool,
}

/// A batch under way. [`Session::prefill`] first, then [`Session::step`] until nothing is left.
pub struct Session<'m> {
    model: &'m Model,
    sequences: Vec<Sequence>,
    table: PageTable,
    tables: Tables,
    caches: Vec<LayerCache>,
    cos_sin: Tensor,
    head: Head,
    /// The residual stream after each prompt, `[batch, hidden]`.
    last: Tensor,
    first: Recorded,
    decode: Decode,
    /// The last choice of each row.
    chosen: Vec<i32>,
    steps: u64,
}

/// The recorded decode step and the host side of its inputs.
struct Decode {
    inputs: Inputs,
    recorded: Recorded,
    positions: Vec<i32>,
    slots: Vec<i64>,
}

impl Model {
    /// Starts a batch: checks the prompts, allocates the cache, and records the decode step.
    pub fn session(&self, request: Request<'_>) -> Result<Session<'_>> {
        let context = self.config.context_length;
        let sequences = sequences(&request, context, self.config.vocab_size)?;
        let batch = sequences.len();
        // The last token chosen is never fed back, so it needs no place in the cache.
        let max_lens: Vec<usize> =
            sequences.iter().map(|s| (s.prompt.len() + s.limit).saturating_sub(1).max(1)).collect();
        let longest = max_lens.iter().copied().max().unwrap_or(1);
        let table = PageTable::new(&max_lens);
        let caches = layer_caches(&self.rt, &self.config, DType::F32, table.num_pages())?;
        let cos_sin = self.weights.rope_table(&self.rt, &self.stream, &self.config, longest)?;
        let shared = self.shared(&cos_sin, &caches);
        let head = Head::new(&shared, &request.sampling, batch)?;
        let last = Tensor::zeros(&self.rt, DType::F32, &[batch, self.config.hidden_size])?;
        let mut rec = Recorder::new(&self.rt, &self.stream);
        head.push(&mut rec, &shared, &last)?;
        let first = rec.finish()?;
        let decode = Decode::record(&shared, &head, batch, table.num_pages(), longest)?;
        Ok(Session {
            model: self,
            sequences,
            table,
            tables: Tables::default(),
            cos_sin,
            caches,
            head,
            last,
            first,
            decode,
            chosen: vec![0; batch],
            steps: 0,
        })
    }

    fn shared<'a>(&'a self, cos_sin: &'a Tensor, caches: &'a [LayerCache]) -> Shared<'a> {
        Shared {
            rt: &self.rt,
            stream: &self.stream,
            config: &self.config,
            weights: &self.weights,
            cos_sin,
            caches,
            int8: self.activations == Activations::Int8,
        }
    }
}

fn sequences(request: &Request<'_>, context: usize, vocab: usize) -> Result<Vec<Sequence>> {
    if request.prompts.is_empty() {
        return Err(Error::usage("no prompt was given"));
    }
    let sequence = |(i, prompt): (usize, &Vec<u32>)| {
        let len = prompt.len();
        if len == 0 {
            return Err(Error::usage(format!("prompt {} has no tokens", i + 1)));
        }
        if len > context {
            return Err(Error::usage(format!(
                "prompt {} has {len} tokens, but the model's context has {context}",
                i + 1
            )));
        }
        if let Some(id) = prompt.iter().find(|id| **id as usize >= vocab) {
            return Err(Error::usage(format!("token {id} is not in the vocabulary of {vocab}")));
        }
        Ok(Sequence {
            prompt: prompt.iter().map(|id| *id as i32).collect(),
            generated: 0,
            limit: request.max_tokens.min(context - len + 1),
            stopped: request.max_tokens == 0,
        })
    };
    request.prompts.iter().enumerate().map(sequence).collect()
}

impl Decode {
    fn record(
        s: &Shared<'_>,
        head: &Head,
        batch: usize,
        num_pages: usize,
        max_kv_len: usize,
    ) -> Result<Decode> {
        let mut inputs = Inputs::new(s.rt, batch, batch, num_pages)?;
        inputs.ids = head.ids.clone();
        let buffers = Buffers::new(s.rt, s.config, batch, s.int8)?;
        let mut rec = Recorder::new(s.rt, s.stream);
        push_layers(&mut rec, s, &inputs, &buffers, Rows::Decode { max_kv_len })?;
        head.push(&mut rec, s, &buffers.x)?;
        let recorded = rec.finish()?;
        Ok(Decode { inputs, recorded, positions: vec![0; batch], slots: vec![-1; batch] })
    }
}

impl Session<'_> {
    /// Reads the prompts and chooses the first token of each. `go_on` is asked between passes; when it
    /// says no, nothing is chosen and the session is over.
    pub fn prefill(&mut self, go_on: &dyn Fn() -> bool) -> Result<bool> {
        let total: usize = self.sequences.iter().map(|s| s.prompt.len()).sum();
        let mut pass: Option<Pass> = None;
        let mut start = 0;
        while start < total {
            if !go_on() {
                return Ok(false);
            }
            let rows = CHUNK.min(total - start);
            let ready = match pass.take().filter(|p| p.inputs.ids.len() == rows) {
                Some(pass) => pass,
                None => self.record_pass(rows)?,
            };
            let ended = self.fill(&ready.inputs, start..start + rows)?;
            ready.recorded.replay(&self.model.stream)?;
            self.keep_last(&ready, &ended)?;
            pass = Some(ready);
            start += rows;
        }
        self.head.set_offset(0)?;
        self.first.replay(&self.model.stream)?;
        self.took_step()?;
        Ok(true)
    }

    fn record_pass(&self, rows: usize) -> Result<Pass> {
        let shared = self.model.shared(&self.cos_sin, &self.caches);
        let batch = self.sequences.len();
        let inputs = Inputs::new(&self.model.rt, rows, batch, self.table.num_pages())?;
        Pass::record(&shared, inputs, Rows::Prefill)
    }

    /// Writes the inputs of a pass over `range` of all prompt tokens, laid end to end. Returns the
    /// sequences that end in it, each with the row of its last token.
    fn fill(&mut self, inputs: &Inputs, range: Range<usize>) -> Result<Vec<(usize, i32)>> {
        let (mut ids, mut positions, mut slots) = (Vec::<i32>::new(), Vec::new(), Vec::new());
        let mut indptr = vec![0];
        let mut ended = Vec::new();
        let mut before = 0;
        for (seq, sequence) in self.sequences.iter().enumerate() {
            let len = sequence.prompt.len();
            let from = range.start.saturating_sub(before).min(len);
            let to = range.end.saturating_sub(before).min(len);
            for position in from..to {
                positions.push(position as i32);
                slots.push(self.table.append(seq));
            }
            ids.extend(sequence.prompt.get(from..to).unwrap_or_default());
            if from < to && to == len {
                ended.push((seq, ids.len() as i32 - 1));
            }
            indptr.push(ids.len() as i32);
            before += len;
        }
        inputs.ids.write_slice(&ids)?;
        inputs.positions.write_slice(&positions)?;
        inputs.slots.write_slice(&slots)?;
        inputs.qo_indptr.write_slice(&indptr)?;
        self.table.tables(&|_| false, &mut self.tables);
        write_tables(inputs, &self.tables)?;
        Ok(ended)
    }

    /// Copies the rows of the sequences that ended in a pass to where the head reads them.
    fn keep_last(&self, pass: &Pass, ended: &[(usize, i32)]) -> Result<()> {
        let Some((first, _)) = ended.first() else { return Ok(()) };
        let model = self.model;
        let rows: Vec<i32> = ended.iter().map(|(_, row)| *row).collect();
        let ids = Tensor::from_slice(&model.rt, &rows, &[rows.len()])?;
        // Prompts lie in order, so those that end in one pass are neighbours.
        let out = self.last.slice(0, *first, rows.len())?;
        let args = Args::new().tensor("ids", &ids).tensor("table", &pass.buffers.x);
        Ok(model.rt.run("embedding.gather", &args.tensor("out", &out), &model.stream)?)
    }

    /// Feeds the chosen tokens back and chooses the next. Returns whether any sequence went on.
    pub fn step(&mut self) -> Result<bool> {
        let mut any = false;
        let d = &mut self.decode;
        let rows = self.sequences.iter().zip(d.positions.iter_mut().zip(&mut d.slots));
        for (seq, (sequence, (position, slot))) in rows.enumerate() {
            let active = sequence.is_active();
            any |= active;
            *position = if active { self.table.len(seq) as i32 } else { 0 };
            *slot = if active { self.table.append(seq) } else { -1 };
        }
        if !any {
            return Ok(false);
        }
        d.inputs.positions.write_slice(&d.positions)?;
        d.inputs.slots.write_slice(&d.slots)?;
        let sequences = &self.sequences;
        let idle = |seq: usize| !sequences.get(seq).is_some_and(Sequence::is_active);
        self.table.tables(&idle, &mut self.tables);
        write_tables(&d.inputs, &self.tables)?;
        self.head.set_offset(self.steps)?;
        d.recorded.replay(&self.model.stream)?;
        self.took_step()?;
        Ok(true)
    }

    fn took_step(&mut self) -> Result<()> {
        self.model.stream.sync()?;
        self.head.read(&mut self.chosen)?;
        self.steps += 1;
        for sequence in self.sequences.iter_mut().filter(|s| s.is_active()) {
            sequence.generated += 1;
        }
        Ok(())
    }

    /// The last choice of each sequence that was going on when it was made.
    pub fn chosen(&self) -> &[i32] {
        &self.chosen
    }

    /// How many tokens sequence `seq` has got.
    pub fn generated(&self, seq: usize) -> usize {
        self.sequences.get(seq).map_or(0, |s| s.generated)
    }

    /// Whether sequence `seq` will go on with the next step.
    pub fn is_active(&self, seq: usize) -> bool {
        self.sequences.get(seq).is_some_and(Sequence::is_active)
    }

    /// Ends sequence `seq`.
    pub fn stop(&mut self, seq: usize) {
        if let Some(sequence) = self.sequences.get_mut(seq) {
            sequence.stopped = true;
        }
    }

    /// Puts other tokens in the place of the chosen ones, one a sequence.
    pub fn force(&mut self, tokens: &[i32]) -> Result<()> {
        self.head.ids.write_slice(tokens)?;
        self.chosen.copy_from_slice(tokens);
        Ok(())
    }

    /// The logits behind the last choice, `[batch, vocab]`.
    pub fn logits(&self) -> Result<Vec<f32>> {
        Ok(self.head.logits.to_vec()?)
    }

    /// How many ops one decode step runs.
    pub fn ops_per_step(&self) -> usize {
        self.decode.recorded.num_ops()
    }
}

impl Sequence {
    fn is_active(&self) -> bool {
        !self.stopped && self.generated < self.limit
    }
}

fn write_tables(inputs: &Inputs, tables: &Tables) -> Result<()> {
    inputs.kv_indptr.write_slice(&tables.indptr)?;
    inputs.kv_indices.write_slice(&tables.indices)?;
    inputs.kv_last_page_len.write_slice(&tables.last_page_len)?;
    Ok(())
}
