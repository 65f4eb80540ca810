//! Which accesses need no bounds check.

use std::collections::BTreeSet;
use tilewright_ir::Inst;

/// Accesses proved to lie inside their view, by instruction and axis.
#[derive(Clone, Debug, Default)]
pub(crate) struct AxisInfo {
    inside: BTreeSet<(Inst, usize)>,
}

impl AxisInfo {
    /// Whether every coordinate of the access on this axis is inside.
    pub(crate) fn is_inside(&self, inst: Inst, axis: usize) -> bool {
        self.inside.contains(&(inst, axis))
    }
}
