//! Rules 1 and 2: the tables fit together, so that everything after may index them.

use crate::codes;
use crate::diag::Diagnostic;
use crate::func::*;
use crate::op::TileOp;
use crate::span::Span;

pub(super) fn check(f: &Func) -> Result<(), Vec<Diagnostic>> {
    let mut s = Structure {
        f,
        regions: vec![false; f.regions.len()],
        insts: vec![false; f.insts.len()],
        errors: Vec::new(),
    };
    for (n, p) in f.params.iter().enumerate() {
        s.origin(p.value, Def::Param(n), &Span::default());
    }
    s.region(Func::BODY, &Span::default(), 0);
    if s.errors.is_empty() { Ok(()) } else { Err(s.errors) }
}

struct Structure<'f> {
    f: &'f Func,
    /// Regions and instructions reached so far.
    regions: Vec<bool>,
    insts: Vec<bool>,
    errors: Vec<Diagnostic>,
}

impl Structure<'_> {
    fn fault(&mut self, span: &Span, what: &str) {
        if self.errors.len() < super::MAX_MESSAGES {
            let d = Diagnostic::new(codes::STRUCTURE, format!("malformed function: {what}"));
            self.errors.push(d.at(span).note("a compiler pass made this; please report it"));
        }
    }

    fn origin(&mut self, v: Value, def: Def, span: &Span) {
        match self.f.values.get(v.index()) {
            None => self.fault(span, "a value that is in no table"),
            Some(data) if data.def != def => {
                self.fault(span, "a value whose recorded origin is elsewhere");
            }
            Some(_) => {}
        }
    }

    /// `span` is that of the op around the region.
    fn region(&mut self, r: RegionId, span: &Span, depth: usize) {
        let f = self.f;
        let Some(region) = f.regions.get(r.index()) else {
            return self.fault(span, "a region that is in no table");
        };
        if std::mem::replace(&mut self.regions[r.index()], true) {
            return self.fault(span, "a region in two places");
        }
        if depth > crate::MAX_NESTING {
            let message = format!("regions are nested more than {} deep", crate::MAX_NESTING);
            return self.errors.push(Diagnostic::new(codes::STRUCTURE, message).at(span));
        }
        for (n, v) in region.params.iter().enumerate() {
            self.origin(*v, Def::RegionParam(r, n), span);
        }
        let last = region.insts.len().saturating_sub(1);
        let mut ends = false;
        for (n, i) in region.insts.iter().enumerate() {
            let Some(inst) = f.insts.get(i.index()) else {
                self.fault(span, "an instruction that is in no table");
                continue;
            };
            if std::mem::replace(&mut self.insts[i.index()], true) {
                self.fault(&inst.span, "an instruction in two places");
                continue;
            }
            if inst.op.operands().iter().any(|v| v.index() >= f.values.len()) {
                self.fault(&inst.span, "an operand that is in no table");
            }
            for (n, v) in inst.results.iter().enumerate() {
                self.origin(*v, Def::Result(*i, n), &inst.span);
            }
            match &inst.op {
                TileOp::Yield { .. } if n < last => {
                    self.end(&inst.span, "an instruction follows this `yield`")
                }
                TileOp::Yield { values } => {
                    ends = true;
                    if r == Func::BODY && !values.is_empty() {
                        self.end(&inst.span, "the function's own region yields nothing");
                    }
                }
                _ => {}
            }
            for nested in inst.op.regions() {
                self.region(nested, &inst.span, depth + 1);
            }
        }
        if !ends {
            self.end(span, "a region does not end in `yield`");
        }
    }

    fn end(&mut self, span: &Span, what: &str) {
        self.errors.push(Diagnostic::new(codes::REGION_END, what).at(span));
    }
}
