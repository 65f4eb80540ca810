//! Handles: what a kernel's variables are. They carry no data, only a value's number.

use crate::elem::{Elem, I64};
use crate::staging::at;
use std::marker::PhantomData;
use std::ops::Deref;
use std::panic::Location;
use tilewright_ir::Value;

/// A value of a stage, without its Rust type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Raw {
    pub(crate) value: Value,
    pub(crate) stage: u32,
}

impl Raw {
    /// What operations return outside of [`crate::stage`]; using it in a stage is reported there.
    pub(crate) const INERT: Raw = Raw { value: Value(0), stage: 0 };
}

/// One element, the same for the whole program.
pub struct Scalar<E> {
    pub(crate) raw: Raw,
    elem: PhantomData<E>,
}

/// A block of elements whose shape is known while staging.
pub struct Tile<E> {
    pub(crate) raw: Raw,
    elem: PhantomData<E>,
}

/// A kernel parameter: memory of `N` axes, with dims and strides known at launch.
pub struct View<E, const N: usize> {
    pub(crate) raw: Raw,
    elem: PhantomData<E>,
}

/// A [`View`] that can also be written.
pub struct ViewMut<E, const N: usize> {
    view: View<E, N>,
}

/// The type of positions, extents and loop variables.
pub type Index = Scalar<I64>;

/// A [`Scalar`] or a [`Tile`].
pub trait Handle: Copy + crate::operand::IntoOperand<Self::Elem> {
    /// Its element type.
    type Elem: Elem;
    /// The same kind of handle with another element type.
    type With<F: Elem>: Handle<Elem = F>;
    #[doc(hidden)]
    fn of(raw: RawHandle) -> Self;
    #[doc(hidden)]
    fn raw_handle(self) -> RawHandle;
}

/// An untyped handle; opaque outside this crate.
#[derive(Clone, Copy, Debug)]
pub struct RawHandle(pub(crate) Raw);

macro_rules! copy_handle {
    ($($name:ident<E $(, const $n:ident: usize)?>;)*) => { $(
        impl<E $(, const $n: usize)?> Clone for $name<E $(, $n)?> {
            fn clone(&self) -> Self {
                *self
            }
        }
        impl<E $(, const $n: usize)?> Copy for $name<E $(, $n)?> {}
        impl<E: Elem $(, const $n: usize)?> std::fmt::Debug for $name<E $(, $n)?> {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, "{}<{}>(%{})", stringify!($name), E::DTYPE, self.raw.value.0)
            }
        }
    )* };
}
copy_handle! {
    Scalar<E>;
    Tile<E>;
    View<E, const N: usize>;
    ViewMut<E, const N: usize>;
}

macro_rules! raw_handle {
    ($name:ident) => {
        impl<E: Elem> $name<E> {
            pub(crate) fn from_raw(raw: Raw) -> Self {
                $name { raw, elem: PhantomData }
            }
        }
        impl<E: Elem> Handle for $name<E> {
            type Elem = E;
            type With<F: Elem> = $name<F>;
            fn of(raw: RawHandle) -> Self {
                Self::from_raw(raw.0)
            }
            fn raw_handle(self) -> RawHandle {
                RawHandle(self.raw)
            }
        }
    };
}
raw_handle!(Scalar);
raw_handle!(Tile);

impl<E: Elem> Tile<E> {
    /// Elements per axis.
    pub fn shape(self) -> Vec<usize> {
        at(Location::caller(), |cx| cx.ty(self.raw).shape().to_vec()).unwrap_or_default()
    }

    /// Number of axes.
    pub fn rank(self) -> usize {
        self.shape().len()
    }

    /// Elements along `axis`; 1 for an axis the tile does not have.
    pub fn extent(self, axis: usize) -> usize {
        self.shape().get(axis).copied().unwrap_or(1)
    }
}

impl<E: Elem, const N: usize> View<E, N> {
    pub(crate) fn from_raw(raw: Raw) -> Self {
        View { raw, elem: PhantomData }
    }
}

impl<E: Elem, const N: usize> ViewMut<E, N> {
    pub(crate) fn from_raw(raw: Raw) -> Self {
        ViewMut { view: View::from_raw(raw) }
    }

    /// The same memory, for reading only.
    pub fn as_view(self) -> View<E, N> {
        self.view
    }
}

impl<E, const N: usize> Deref for ViewMut<E, N> {
    type Target = View<E, N>;
    fn deref(&self) -> &View<E, N> {
        &self.view
    }
}
