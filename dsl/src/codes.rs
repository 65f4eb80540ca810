//! The codes of the messages about kernels, each with its explanation: `K00xx` are rustc's, from the
//! macros; `K01xx` are staging's.

/// What a code of this crate means, for a user who wants more than the message.
pub fn explain(code: &str) -> Option<&'static str> {
    TABLE.iter().find(|(known, _)| *known == code).map(|(_, text)| *text)
}

const TABLE: &[(&str, &str)] = &[
    (
        "K0001",
        "`#[kernel]` has no arguments. Block sizes, options and the like are ordinary parameters of \
         the function: host values, decided while staging.",
    ),
    (
        "K0002",
        "`#[kernel]` rewrites the body of one function. In an `impl` block it stands on the methods \
         that need it, not on the block.",
    ),
    (
        "K0003",
        "A method that a trait only declares has no body to rewrite. `#[kernel]` goes on the methods \
         that implement it, and on default methods.",
    ),
    ("K0004", "A kernel function runs to its end while staging; there is nothing to wait for."),
    (
        "K0005",
        "A kernel function runs when code is generated and appends to the kernel being recorded, \
         which a `const fn` cannot do.",
    ),
    (
        "K0006",
        "A kernel function only records operations. Which memory accesses are inside their view is \
         stated on the access (`inside`, `limit`), not on the function.",
    ),
    ("K0007", "A kernel is not called by the server: the artifact made from its record is."),
    ("K0008", "The number of a kernel's parameters is fixed; a slice or `Vec` holds more."),
    ("K0009", "A kernel function runs to its end while staging; it cannot be suspended."),
    (
        "K0010",
        "A loop over `range(…)` is a loop of the kernel. Its body is recorded as one region that runs \
         from start to end, so nothing may leave it early. A `while` whose condition says when to \
         stop does the same; a loop over a host range, `for i in 0..4`, is unrolled while staging and \
         may be left at will.",
    ),
    (
        "K0011",
        "A labelled `break` or `continue` goes through a kernel loop on its way out; see K0010.",
    ),
    (
        "K0012",
        "Variables that change in a kernel loop or branch are carried through it, and `#[kernel]` finds \
         them by looking for assignments. A closure that assigns a variable hides it from the place \
         that calls the closure. Let the closure return the new value.",
    ),
    (
        "K0013",
        "`#[kernel]` sees macro calls before they expand, so loops, branches and assignments inside \
         would be missed. The macros of the standard library that kernels use are known.",
    ),
    (
        "K0014",
        "A variable that a kernel branch assigns needs a value before it, since both branches are \
         recorded, one after the other. Write the `if` as the variable's value instead.",
    ),
    (
        "K0015",
        "The condition of a kernel `while` is a region of its own, which yields only whether to go on. \
         What it assigns would be lost.",
    ),
    (
        "K0020",
        "A struct is carried by its fields. Which variant an enum is would have to be decided in the \
         kernel, where there are no enums.",
    ),
    (
        "K0021",
        "`#[carry(host)]` marks a field that is not a kernel value. It is not carried, and staging \
         checks that it does not change in a kernel region.",
    ),
    (
        "K0101",
        "Values made inside a kernel loop or branch exist only there. A variable declared outside and \
         assigned inside is carried out by `#[kernel]`, if the assignment can be seen: not through a \
         `Cell`, a closure, or a function without `#[kernel]` that is given no `&mut`. Loop bodies are \
         staged twice, so that a value left behind by the first pass is noticed in the second.",
    ),
    (
        "K0102",
        "Handles are numbers of values of one kernel. One that was kept from another call of `stage`, \
         or made outside of any, means nothing here.",
    ),
    (
        "K0103",
        "A variable carried through a loop is one value of the kernel for every trip, so its type and \
         shape at the end of the body are those at the start.",
    ),
    (
        "K0104",
        "After a kernel `if`, a variable that a branch assigned, and the value of the `if` itself, is \
         one value of the kernel, whichever branch ran. Both branches give it the same type and shape.",
    ),
    (
        "K0105",
        "A `Vec`, `Option` or other container of kernel values keeps the number of values it holds: \
         the kernel has no containers, only the values.",
    ),
    (
        "K0106",
        "Views and fields marked `#[carry(host)]` are decided while staging. A kernel loop or branch \
         cannot change them, as whether it runs, and how often, is not known yet.",
    ),
    (
        "K0107",
        "`break`, `continue`, `return` and `?` run while staging. Leaving a kernel loop or branch that \
         way would record only half of it. `if` on a `Scalar<Bool>` is such a branch also inside a host \
         loop. See K0010 for what to write.",
    ),
    (
        "K0108",
        "The condition of a kernel `while` is a region of its own, which yields only whether to go on. \
         What it assigns would be lost.",
    ),
    (
        "K0110",
        "Tiles of different shapes do not combine. `v.along(axis, shape)` lays a rank-1 tile along an \
         axis and repeats it along the others; `t.expand(axis)` and `t.broadcast(shape)` are the steps.",
    ),
    (
        "K0111",
        "In `fma`, `select` and the like the first operand decides whether the result is a scalar or a \
         tile, since rustc must know.",
    ),
    (
        "K0112",
        "Integer constants must be values of their element type; float constants are rounded.",
    ),
    ("K0113", "Axes count from 0."),
    (
        "K0114",
        "Folding the only axis of a tile leaves a scalar, which is another Rust type. The methods that \
         end in `_all` fold every axis and give a `Scalar`.",
    ),
    ("K0115", "The shape that the operation needs and the shape it is given differ."),
    (
        "K0116",
        "Facts are about launch parameters and name them as they were declared: declare first, then \
         assume.",
    ),
    ("K0117", "A launch binds its arguments by name, so names are distinct."),
    ("K0118", "A kernel range goes up, in steps of at least 1."),
    (
        "K0119",
        "A tile is stored to a block of its own shape. Axes of extent 1 may be left out: a `[64]` tile \
         fits a `[1, 64]` block.",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_is_explained_and_used() {
        let sources = [include_str!("diag.rs"), include_str!("../macros/src/diag.rs")];
        let mut used = Vec::new();
        for source in sources {
            for piece in source.split('"').filter(|p| p.len() == 5 && p.starts_with("K0")) {
                assert!(explain(piece).is_some(), "{piece}");
                used.push(piece);
            }
        }
        for (code, _) in TABLE {
            assert!(used.contains(code), "{code}");
        }
        assert!(TABLE.windows(2).all(|w| w[0].0 < w[1].0), "in order");
    }
}
