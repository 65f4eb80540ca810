//! Element types, shared by the compiler, the tuner and the runtime.

/// The type of one element of a tensor, tile or scalar.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(
    missing_docs,
    reason = "each variant is named by the type it stands for; `name` gives the text form"
)]
pub enum DType {
    Bool,
    I4,
    U4,
    I8,
    U8,
    I16,
    U16,
    I32,
    U32,
    I64,
    U64,
    F64,
    F32,
    TF32,
    F16,
    BF16,
    /// OCP e4m3 ("fn"): no infinity, NaN is `S.1111.111`, maximum 448.
    F8E4M3,
    /// OCP e5m2: IEEE-like, infinity exists, maximum 57344.
    F8E5M2,
    /// AMD CDNA3 form of e4m3: bias 8, no negative zero, NaN is 0x80, maximum 240.
    F8E4M3Fnuz,
    /// AMD CDNA3 form of e5m2: bias 16, no infinity, NaN is 0x80, maximum 57344.
    F8E5M2Fnuz,
    F6E2M3,
    F6E3M2,
    F4E2M1,
    /// An unsigned power of two, 2^(byte - 127); 255 is NaN. Block scales only.
    E8M0,
}

/// What kind of number a [`DType`] holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A truth value.
    Bool,
    /// A two's complement integer.
    Signed,
    /// An unsigned integer.
    Unsigned,
    /// A floating-point number.
    Float,
}

struct Row {
    dtype: DType,
    name: &'static str,
    bits: u32,
    kind: Kind,
}

const ROWS: &[Row] = {
    use DType::*;
    const fn row(dtype: DType, name: &'static str, bits: u32, kind: Kind) -> Row {
        Row { dtype, name, bits, kind }
    }
    &[
        row(Bool, "bool", 8, Kind::Bool),
        row(I4, "i4", 4, Kind::Signed),
        row(U4, "u4", 4, Kind::Unsigned),
        row(I8, "i8", 8, Kind::Signed),
        row(U8, "u8", 8, Kind::Unsigned),
        row(I16, "i16", 16, Kind::Signed),
        row(U16, "u16", 16, Kind::Unsigned),
        row(I32, "i32", 32, Kind::Signed),
        row(U32, "u32", 32, Kind::Unsigned),
        row(I64, "i64", 64, Kind::Signed),
        row(U64, "u64", 64, Kind::Unsigned),
        row(F64, "f64", 64, Kind::Float),
        row(F32, "f32", 32, Kind::Float),
        row(TF32, "tf32", 32, Kind::Float),
        row(F16, "f16", 16, Kind::Float),
        row(BF16, "bf16", 16, Kind::Float),
        row(F8E4M3, "f8e4m3", 8, Kind::Float),
        row(F8E5M2, "f8e5m2", 8, Kind::Float),
        row(F8E4M3Fnuz, "f8e4m3fnuz", 8, Kind::Float),
        row(F8E5M2Fnuz, "f8e5m2fnuz", 8, Kind::Float),
        row(F6E2M3, "f6e2m3", 6, Kind::Float),
        row(F6E3M2, "f6e3m2", 6, Kind::Float),
        row(F4E2M1, "f4e2m1", 4, Kind::Float),
        row(E8M0, "e8m0", 8, Kind::Float),
    ]
};

impl DType {
    /// Every dtype, in declaration order.
    pub fn all() -> impl Iterator<Item = DType> {
        ROWS.iter().map(|r| r.dtype)
    }

    fn row(self) -> &'static Row {
        &ROWS[self as usize]
    }

    /// The text form, as written in tile IR, manifests and messages.
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// The dtype of a text form.
    pub fn from_name(name: &str) -> Option<DType> {
        ROWS.iter().find(|r| r.name == name).map(|r| r.dtype)
    }

    /// Bits of one element in memory. A bool takes a byte.
    pub fn bits(self) -> u32 {
        self.row().bits
    }

    /// What kind of number this is.
    pub fn kind(self) -> Kind {
        self.row().kind
    }

    /// Whether this is a floating-point type.
    pub fn is_float(self) -> bool {
        self.kind() == Kind::Float
    }

    /// Whether this is a signed or unsigned integer.
    pub fn is_int(self) -> bool {
        matches!(self.kind(), Kind::Signed | Kind::Unsigned)
    }

    /// Bytes that `n` packed elements occupy; sub-byte types round up to a whole byte.
    pub fn bytes_for(self, n: usize) -> usize {
        (n * self.bits() as usize).div_ceil(8)
    }
}

impl std::fmt::Display for DType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_stand_in_declaration_order() {
        for (i, r) in ROWS.iter().enumerate() {
            assert_eq!(r.dtype as usize, i, "{}", r.name);
            assert_eq!(DType::from_name(r.name), Some(r.dtype));
        }
    }
}
