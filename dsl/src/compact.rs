//! Drops what the discarded passes over loop bodies left in a function's tables.

use tilewright_ir::{
    Def, Func, Inst, InstData, Param, RegionData, RegionId, TileOp, Type, Value, ValueData,
};

/// The same function with only what its body reaches, numbered in order.
///
/// `func` has passed the verifier.
pub(crate) fn compact(func: &Func) -> Func {
    let new = Func { name: func.name.clone(), assumes: func.assumes.clone(), ..Func::default() };
    let mut copy = Copy { old: func, new, values: vec![None; func.values.len()] };
    for (n, param) in func.params.iter().enumerate() {
        let value = copy.value(param.value, Def::Param(n));
        copy.new.params.push(Param { name: param.name.clone(), value });
    }
    copy.region(Func::BODY);
    copy.new
}

struct Copy<'a> {
    old: &'a Func,
    new: Func,
    /// The new number of each old value.
    values: Vec<Option<Value>>,
}

impl Copy<'_> {
    fn region(&mut self, old: RegionId) -> RegionId {
        let data = self.old.region(old);
        let region = RegionId(self.new.regions.len() as u32);
        self.new.regions.push(RegionData::default());
        let params = data.params.iter().enumerate();
        let params = params.map(|(n, &v)| self.value(v, Def::RegionParam(region, n))).collect();
        let insts = data.insts.iter().map(|&i| self.inst(i)).collect();
        self.new.regions[region.index()] = RegionData { params, insts };
        region
    }

    fn inst(&mut self, old: Inst) -> Inst {
        let data = self.old.inst(old);
        let mut op = data.op.clone();
        op.map_operands(&mut |v| self.values[v.index()].unwrap_or(v));
        match &mut op {
            TileOp::For { body, .. } => *body = self.region(*body),
            TileOp::While { cond, body, .. } => {
                *cond = self.region(*cond);
                *body = self.region(*body);
            }
            TileOp::If { then_region, else_region, .. } => {
                *then_region = self.region(*then_region);
                *else_region = self.region(*else_region);
            }
            _ => {}
        }
        let inst = Inst(self.new.insts.len() as u32);
        let results = data.results.iter().enumerate();
        let results = results.map(|(n, &v)| self.value(v, Def::Result(inst, n))).collect();
        self.new.insts.push(InstData { op, results, span: data.span.clone() });
        inst
    }

    fn value(&mut self, old: Value, def: Def) -> Value {
        let ty: Type = self.old.ty(old).clone();
        let value = Value(self.new.values.len() as u32);
        self.new.values.push(ValueData { ty, def });
        self.values[old.index()] = Some(value);
        value
    }
}
