//! Types of tile-IR values.

use tilewright_abi::DType;

/// The type of a value.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Type {
    /// One element.
    Scalar(DType),
    /// A dense block of elements with a shape known at compile time. No layout: layouts are set by a
    /// pass and kept beside the value.
    Tile(TileType),
    /// A kernel parameter: memory with dims and strides known at launch.
    View(ViewType),
}

/// Element type and shape of a tile. Rank 1 to 5; every extent at least 1; extents are powers of two times
/// small factors where a backend wants them so, but the IR does not require it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TileType {
    /// Element type.
    pub elem: DType,
    /// Elements per axis.
    pub shape: Vec<usize>,
}

/// Element type, rank and access of a view.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ViewType {
    /// Element type.
    pub elem: DType,
    /// Number of axes.
    pub rank: usize,
    /// Whether stores and atomics are allowed.
    pub mutable: bool,
}

impl Type {
    /// A tile type.
    pub fn tile(elem: DType, shape: impl Into<Vec<usize>>) -> Type {
        Type::Tile(TileType { elem, shape: shape.into() })
    }

    /// The element type, whichever form the type has.
    pub fn elem(&self) -> DType {
        match self {
            Type::Scalar(d) => *d,
            Type::Tile(t) => t.elem,
            Type::View(v) => v.elem,
        }
    }

    /// The tile's shape; empty for a scalar and a view.
    pub fn shape(&self) -> &[usize] {
        match self {
            Type::Tile(t) => &t.shape,
            Type::Scalar(_) | Type::View(_) => &[],
        }
    }

    /// The same form and shape with another element type.
    pub fn with_elem(&self, elem: DType) -> Type {
        match self {
            Type::Scalar(_) => Type::Scalar(elem),
            Type::Tile(t) => Type::tile(elem, t.shape.clone()),
            Type::View(v) => Type::View(ViewType { elem, ..v.clone() }),
        }
    }
}

impl TileType {
    /// Number of elements; `usize::MAX` where that is too small, which no verified tile has.
    pub fn len(&self) -> usize {
        self.shape.iter().fold(1, |n: usize, extent| n.saturating_mul(*extent))
    }

    /// Whether there are no elements (never true for a verified tile).
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
