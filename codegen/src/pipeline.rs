//! The passes, in order.

use crate::pass::{Pass, Stage, Step};
use crate::passes::{assign_layouts, axis_info, select_mma, sink_loads};
use crate::target::Family;

/// The pipeline of a family.
pub(crate) fn pipeline(family: Family) -> &'static [Step] {
    match family {
        Family::Cpu => CPU,
        Family::Nvptx | Family::Amdgcn => &[],
    }
}

const CPU: &[Step] = &[
    Step::Pass(Stage::Tile, Pass { name: "axis_info", run: axis_info::run }),
    Step::Pass(Stage::Layout, Pass { name: "select_mma", run: select_mma::run }),
    Step::Pass(Stage::Layout, Pass { name: "assign_layouts", run: assign_layouts::run }),
    Step::Lower,
    Step::Lir("sink_loads", sink_loads::run),
    Step::Print,
];
