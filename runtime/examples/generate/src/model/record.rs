//! Recording: ops are planned in order, then bound to one shared workspace and recorded as a graph.

use tilewright::{Args, Call, Graph, Plan, Runtime, Stream};

use crate::error::Result;

/// Ops in the order they will run.
pub(super) struct Recorder<'a> {
    rt: &'a Runtime,
    stream: &'a Stream,
    steps: Vec<(Plan, Args)>,
}

impl<'a> Recorder<'a> {
    pub(super) fn new(rt: &'a Runtime, stream: &'a Stream) -> Self {
        Self { rt, stream, steps: Vec::new() }
    }

    /// Adds an op.
    pub(super) fn push(&mut self, op: &str, args: Args) -> Result<()> {
        let plan = self.rt.plan(op, &args)?;
        self.steps.push((plan, args));
        Ok(())
    }

    /// Binds and records them all.
    pub(super) fn finish(self) -> Result<Recorded> {
        let bytes = self.steps.iter().map(|(plan, _)| plan.workspace_bytes()).max().unwrap_or(0);
        let workspace = self.rt.workspace(bytes)?;
        let calls = self
            .steps
            .iter()
            .map(|(plan, args)| Ok(plan.bind_with(args, &workspace)?))
            .collect::<Result<Vec<Call>>>()?;
        let graph = Graph::record(self.rt, self.stream, |stream| {
            calls.iter().try_for_each(|call| call.run(stream))
        })?;
        Ok(Recorded { graph, num_ops: calls.len() })
    }
}

/// A recorded sequence of ops; inputs change in place between replays.
pub(super) struct Recorded {
    graph: Graph,
    num_ops: usize,
}

impl Recorded {
    /// Runs the whole once more.
    pub(super) fn replay(&self, stream: &Stream) -> Result<()> {
        Ok(self.graph.replay(stream)?)
    }

    /// How many ops it holds.
    pub(super) fn num_ops(&self) -> usize {
        self.num_ops
    }
}
