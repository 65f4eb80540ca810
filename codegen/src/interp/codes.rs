//! The error codes of execution, each with its explanation.

macro_rules! codes {
    ($($(#[doc = $doc:literal])+ $name:ident = $code:literal: $text:literal;)*) => {
        $($(#[doc = $doc])+ pub const $name: &str = $code;)*
        const TABLE: &[(&str, &str)] = &[$(($code, $text)),*];
    };
}

codes! {
    /// A broken promise about a coordinate.
    INSIDE = "X0001": "An access marked `inside` promises that every coordinate lies in the view, and compiled code does not check it. This one does not: it would touch memory that is not the view's.";
    /// Dims and strides reach past the data.
    OUTSIDE_BUFFER = "X0002": "The element lies inside the view by its extents, but outside the memory given for the argument. The dims, strides or offset of the argument are wrong.";
    /// Arguments that are not the kernel's.
    ARGUMENTS = "X0003": "The arguments of the launch do not match the kernel's parameters in number, form, element type or rank.";
    /// A loop that does not count upwards.
    STEP = "X0004": "The step of a loop is at least 1. This one was computed by the kernel and is not.";
    /// A result that depends on the order of programs.
    RACE = "X0005": "The programs of a launch run in any order and at the same time. A program must not read or write an element that another one writes, except by atomics on both sides, and one store must not write an address twice.";
    /// The step limit.
    STOPPED = "X0006": "The interpreter was given a limit of steps and stopped there.";
}

/// The paragraph on a code of execution.
pub fn explain(code: &str) -> Option<&'static str> {
    TABLE.iter().find(|(c, _)| *c == code).map(|(_, text)| *text)
}
