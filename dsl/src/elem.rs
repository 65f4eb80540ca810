//! Element types as Rust types: `Tile<F32>` and `Scalar<I64>` are checked by rustc.

use tilewright_abi::DType;

/// An element type of tiles, scalars and views.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an element type",
    label = "expected `F32`, `BF16`, `I32` or another element type of the DSL"
)]
pub trait Elem: Copy + 'static {
    /// The same type in tile IR.
    const DTYPE: DType;
}

/// A floating-point element type.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a floating-point element type",
    label = "this operation is for floats",
    note = "convert first, for example with `.cast::<F32>()`; a generic kernel says `E: Float`"
)]
pub trait Float: Number {}

/// An integer element type.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an integer element type",
    label = "this operation is for integers",
    note = "convert first, for example with `.cast::<I32>()`; a generic kernel says `E: Int`"
)]
pub trait Int: Number + Bits {}

/// An element type with arithmetic: a [`Float`] or an [`Int`], not [`Bool`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no arithmetic",
    label = "this operation is for numbers",
    note = "a generic kernel says `E: Number`, `E: Float` or `E: Int`"
)]
pub trait Number: Elem {}

/// An element type with `&`, `|`, `^` and `!`: an [`Int`] or [`Bool`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no bitwise operations",
    label = "this operation is for integers and `Bool`"
)]
pub trait Bits: Elem {}

/// An element type of index tiles: [`I32`] or [`I64`].
#[diagnostic::on_unimplemented(
    message = "a tile of `{Self}` cannot be an index tile",
    label = "index tiles are of `I32` or `I64`"
)]
pub trait IndexElem: Int {}

macro_rules! elems {
    ($($name:ident: $($kind:ident)*, $doc:literal;)*) => { $(
        #[doc = $doc]
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct $name;
        impl Elem for $name {
            const DTYPE: DType = DType::$name;
        }
        $(impl $kind for $name {})*
    )* };
}

elems! {
    F64: Float Number, "IEEE binary64.";
    F32: Float Number, "IEEE binary32.";
    F16: Float Number, "IEEE binary16.";
    BF16: Float Number, "bfloat16: the upper half of binary32.";
    F8E4M3: Float Number, "OCP e4m3 without infinity; maximum 448.";
    F8E5M2: Float Number, "OCP e5m2.";
    I4: Int Number Bits, "4-bit two's complement; only in tiles.";
    U4: Int Number Bits, "4-bit unsigned; only in tiles.";
    I8: Int Number Bits, "8-bit two's complement.";
    U8: Int Number Bits, "8-bit unsigned.";
    I16: Int Number Bits, "16-bit two's complement.";
    U16: Int Number Bits, "16-bit unsigned.";
    I32: Int Number Bits IndexElem, "32-bit two's complement.";
    U32: Int Number Bits, "32-bit unsigned.";
    I64: Int Number Bits IndexElem, "64-bit two's complement; the type of indices.";
    U64: Int Number Bits, "64-bit unsigned.";
    Bool: Bits, "A truth value.";
}
