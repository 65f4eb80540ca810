//! The error codes of this crate, each with its explanation.

macro_rules! codes {
    ($($(#[doc = $doc:literal])+ $name:ident = $code:literal: $text:literal;)*) => {
        $($(#[doc = $doc])+ pub const $name: &str = $code;)*
        const TABLE: &[(&str, &str)] = &[$(($code, $text)),*];
    };
}

codes! {
    /// Text that is not tile IR.
    SYNTAX = "V0001": "The text is not tile IR. The grammar stands at the head of the parser's module; the message says what was expected at the line and column given.";
    /// A name used before its definition, or defined twice.
    NAME = "V0002": "A name in the text is used without a definition above it, or is defined a second time. Every value of a function has its own name; an operation's results are named on its left.";
    /// Use of a value outside its region.
    VISIBILITY = "V0003": "A value may be used after its definition, in its own region and the regions nested in it. A value made inside a loop or branch does not exist after it: let the region yield it and use the operation's result instead. In a kernel this means that a variable assigned in a loop was not carried through it.";
    /// Ids that do not fit together.
    STRUCTURE = "V0004": "The function's tables contradict each other: an id beyond its table, an instruction or region in two places, a value whose recorded origin is another one. Text and builder cannot make such a function, so a pass did: please report it.";
    /// A region without its `yield`.
    REGION_END = "V0005": "Every region ends in exactly one `yield`, and nothing follows it. The function's own region yields nothing.";
    /// A parameter list that cannot be launched.
    SIGNATURE = "V0006": "A kernel's parameters are views and scalars with distinct names, made of letters, digits and underscores. Tiles live in registers and cannot be passed. Scalars of fewer than 8 bits and of tf32 cannot be passed either.";
    /// An assumption that says nothing.
    ASSUME = "V0007": "An assumption names a parameter and a fact that fits it: extents and strides of an existing axis of a view, a power-of-two alignment of a view, a multiple of an integer scalar. Multiples are at least 1.";
    /// A scalar where a tile belongs, or the like.
    FORM = "V0010": "The operation takes another form of value here: a scalar, a tile or a view. A scalar never turns into a tile by itself: `splat` does that. A view is memory: load from it.";
    /// An element type the operation does not have.
    ELEMENT = "V0011": "The operation is not defined for this element type. Arithmetic is on f64, f32, f16, bf16 and integers of 8 bits and more; exp, ln, sin, cos, tanh and erf are on f32; float sums and products of a tile are on f32 and f64; narrower types are storage: cast to a wider type first.";
    /// Operands of different types.
    OPERANDS = "V0012": "The operands of an element-wise operation have one and the same element type and shape. Use a cast, `splat`, or a broadcast.";
    /// A shape the operation cannot have.
    SHAPE = "V0013": "The shape given does not follow from the operand's shape: a reshape keeps the number of elements, a broadcast repeats only extents of 1, a slice stays inside, a transpose is a permutation, a split takes a last axis of extent 2.";
    /// An axis the operand does not have.
    AXIS = "V0014": "The axis is not one of the operand's axes, which are counted from 0.";
    /// A tile that is too large or empty.
    TILE_SIZE = "V0015": "A tile has 1 to 5 axes, each extent is at least 1, and it has at most 1048576 elements. Views have at most 5 axes.";
    /// A constant its type cannot hold.
    LITERAL = "V0016": "The constant is not a value of its type. Integer constants are in range, float constants are exactly representable, a bool is 0 or 1.";
    /// Results that do not follow from the operands.
    RESULT = "V0017": "The result types of an operation follow from its operands. The types written, or recorded by a pass, are others.";
    /// A bitcast between widths.
    BITCAST = "V0020": "A bitcast keeps the bits of each element, so both types have one width. A bool has no bits of its own to reinterpret, and tf32 has bits that must be zero: neither can be made by a bitcast.";
    /// Coordinates or bounds that do not fit the view.
    ACCESS = "V0021": "A tile access has one coordinate and one bound for each axis of the view, and the tile has the view's rank. A span starts at an i64 scalar; rows are an i32 or i64 tile of one axis, as long as the tile's; a gather is an i32 or i64 tile of the whole shape. A single element is accessed at spans. A limit is an i64 scalar.";
    /// A store to a view that is not mutable.
    READ_ONLY = "V0022": "The view is read-only. Declare the parameter as a mutable view to store to it.";
    /// A view of elements that have no address.
    VIEW_ELEMENT = "V0023": "Memory is addressed in bytes, so a view's elements have at least 8 bits. Packed 4- and 6-bit elements are viewed as u8 and taken apart after the load. tf32 is a way to compute, not to store: view it as f32.";
    /// A value of another type than the view.
    MEMORY_TYPE = "V0024": "What is stored, and what stands for masked elements, has the view's element type.";
    /// An atomic the targets do not have.
    ATOMIC = "V0025": "Atomic add is on i32, u32, i64, u64, f32 and f64; maximum, minimum, and, or, xor and exchange are on 32- and 64-bit integers; exchange is on f32 and f64 too.";
    /// A product of unsupported types.
    MMA_TYPES = "V0030": "`mma` takes two float operands of at most 32 bits with an f32 accumulator, two f64 operands with an f64 accumulator, or two integer operands of 8 or 4 bits with an i32 accumulator. Which pairs a target has an instruction for is decided when the kernel is compiled for it.";
    /// A product of unfitting shapes.
    MMA_SHAPE = "V0031": "`mma` multiplies [M, K] by [K, N] and adds to [M, N].";
    /// Scales that do not fit the operands.
    MMA_SCALES = "V0032": "`mma_scaled` takes scales [M, K/group] and [K/group, N] of f32, e8m0 or f8e4m3, with a group that divides K, on float operands and an f32 accumulator.";
    /// Carried values of different types.
    CARRIED = "V0040": "What a loop carries has one type at its start, in its regions and at each yield. What the branches of an `if` yield has one type too. A variable that changes its type in a loop needs a cast.";
    /// A loop bound or a condition of another type.
    CONTROL = "V0041": "Loop bounds and step are i64 scalars, and a constant step is at least 1. Conditions are bool scalars; the condition of a `while` yields exactly one. Views cannot be carried.";
    /// A grid axis beyond the third.
    GRID_AXIS = "V0050": "A launch grid has the axes 0, 1 and 2.";
}

/// The paragraph on a code of this crate.
pub fn explain(code: &str) -> Option<&'static str> {
    TABLE.iter().find(|(c, _)| *c == code).map(|(_, text)| *text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_sorted_and_distinct() {
        assert!(TABLE.windows(2).all(|w| w[0].0 < w[1].0));
        assert!(explain(SYNTAX).is_some() && explain("V9999").is_none());
    }
}
