//! Replacing values by equal ones.

use tilewright_ir::{Func, Value};

/// For some values, the value to use instead.
pub(super) struct Subst {
    to: Vec<Value>,
    changed: bool,
}

impl Subst {
    /// Nothing replaced yet.
    pub(super) fn new(f: &Func) -> Subst {
        Subst { to: (0..f.values.len() as u32).map(Value).collect(), changed: false }
    }

    /// `from` is `to` from now on.
    pub(super) fn replace(&mut self, from: Value, to: Value) {
        let to = self.get(to);
        if from != to
            && let Some(slot) = self.to.get_mut(from.index())
        {
            *slot = to;
            self.changed = true;
        }
    }

    /// What stands for a value.
    pub(super) fn get(&self, v: Value) -> Value {
        let mut v = v;
        // Chains are short: a replacement is resolved when it is made.
        while let Some(&next) = self.to.get(v.index())
            && next != v
        {
            v = next;
        }
        v
    }

    /// Whether anything was replaced.
    pub(super) fn is_changed(&self) -> bool {
        self.changed
    }

    /// Rewrites every operand.
    pub(super) fn apply(&self, f: &mut Func) {
        if self.changed {
            for inst in &mut f.insts {
                inst.op.map_operands(&mut |v| self.get(v));
            }
        }
    }
}
