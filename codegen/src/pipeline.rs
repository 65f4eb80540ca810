//! The passes, in order.

use crate::pass::{Pass, Stage, Step};
use crate::passes::*;
use crate::target::Family;

/// The pipeline of a family; empty where there is no lowering.
pub(crate) fn pipeline(family: Family) -> &'static [Step] {
    match family {
        Family::Cpu => CPU,
        Family::Nvptx | Family::Amdgcn => &[],
    }
}

const CPU: &[Step] = &[
    Step::Pass(Stage::Tile, Pass { name: "canonicalize", run: canonicalize::run }),
    Step::Pass(Stage::Tile, Pass { name: "cse", run: cse::run }),
    Step::Pass(Stage::Tile, Pass { name: "licm", run: licm::run }),
    Step::Pass(Stage::Tile, Pass { name: "dce", run: dce::run }),
    Step::Pass(Stage::Tile, Pass { name: "axis_info", run: axis_info::run }),
    Step::Pass(Stage::Layout, Pass { name: "select_mma", run: select_mma::run }),
    Step::Pass(Stage::Layout, Pass { name: "assign_layouts", run: assign_layouts::run }),
    Step::Lower,
    Step::Lir("sink_loads", sink_loads::run),
    Step::Print,
];
