//! Folds along an axis: sums, extremes, their positions, prefix sums.

use crate::diag;
use crate::elem::{Bits, Bool, Elem, I32, Number};
use crate::handle::{Raw, Scalar, Tile};
use crate::operand::shape_of;
use crate::source::Place;
use crate::staging::{at, emit, emit_n};
use std::panic::Location;
use tilewright_ir::{ReduceOp, TileOp};

/// Checks that folding `axis` of `x` leaves a tile; `all` is what to write if it does not.
fn folds(place: Place, x: Raw, axis: usize, op: &str, all: &str) {
    let rank = shape_of(x).len();
    at(place, |cx| {
        if axis >= rank {
            cx.report(diag::bad_axis(&cx.span(), axis, rank, "tile"));
        } else if rank == 1 {
            cx.report(diag::folds_to_scalar(&cx.span(), op, all));
        }
    });
}

/// `x` with all elements along one axis.
fn flat(place: Place, x: Raw) -> Raw {
    let shape = shape_of(x);
    if shape.len() <= 1 {
        return x;
    }
    let len = shape.iter().product();
    emit(place, |cx| TileOp::Reshape { x: cx.get(x), shape: vec![len] })
}

fn reduce(place: Place, op: ReduceOp, x: Raw, axis: usize) -> Raw {
    emit(place, |cx| TileOp::Reduce { op, x: cx.get(x), axis })
}

fn arg_reduce(place: Place, max: bool, x: Raw, axis: usize) -> [Raw; 2] {
    emit_n(place, |cx| TileOp::ArgReduce { max, x: cx.get(x), axis })
}

macro_rules! reductions {
    ($elem:ident: $bound:ident => $($axis:ident $all:ident $op:ident $what:literal;)*) => {
        reductions! { @impl [$elem: $bound] $elem; $($axis $all $op $what;)* }
    };
    (Bool => $($axis:ident $all:ident $op:ident $what:literal;)*) => {
        reductions! { @impl [] Bool; $($axis $all $op $what;)* }
    };
    (@impl [$($generic:tt)*] $elem:ident; $($axis:ident $all:ident $op:ident $what:literal;)*) => {
        impl<$($generic)*> Tile<$elem> { $(
            #[doc = concat!($what, " along `axis`, which disappears.")]
            #[track_caller]
            pub fn $axis(self, axis: usize) -> Tile<$elem> {
                let place = Location::caller();
                folds(place, self.raw, axis, stringify!($axis), stringify!($all));
                Tile::from_raw(reduce(place, ReduceOp::$op, self.raw, axis))
            }

            #[doc = concat!($what, " of all elements.")]
            #[track_caller]
            pub fn $all(self) -> Scalar<$elem> {
                let place = Location::caller();
                Scalar::from_raw(reduce(place, ReduceOp::$op, flat(place, self.raw), 0))
            }
        )* }
    };
}
reductions! { E: Number =>
    sum sum_all Sum "The sum (floats: in an order fixed for a variant and target)";
    prod prod_all Prod "The product";
    max_axis max_all Max "The greatest element";
    min_axis min_all Min "The least element";
}
reductions! { E: Bits =>
    and_axis and_all And "Bitwise and";
    or_axis or_all Or "Bitwise or";
    xor_axis xor_all Xor "Bitwise exclusive or";
}
reductions! { Bool =>
    any any_all Or "Whether one element holds";
    all all_all And "Whether every element holds";
}

impl<E: Number> Tile<E> {
    /// The greatest element along `axis` and its position: the first NaN, else the first maximum.
    #[track_caller]
    pub fn argmax(self, axis: usize) -> (Tile<E>, Tile<I32>) {
        let place = Location::caller();
        folds(place, self.raw, axis, "argmax", "argmax_all");
        let [value, index] = arg_reduce(place, true, self.raw, axis);
        (Tile::from_raw(value), Tile::from_raw(index))
    }

    /// The least element along `axis` and its position: the first NaN, else the first minimum.
    #[track_caller]
    pub fn argmin(self, axis: usize) -> (Tile<E>, Tile<I32>) {
        let place = Location::caller();
        folds(place, self.raw, axis, "argmin", "argmin_all");
        let [value, index] = arg_reduce(place, false, self.raw, axis);
        (Tile::from_raw(value), Tile::from_raw(index))
    }

    /// The greatest of all elements and its position in row-major order.
    #[track_caller]
    pub fn argmax_all(self) -> (Scalar<E>, Scalar<I32>) {
        let place = Location::caller();
        let [value, index] = arg_reduce(place, true, flat(place, self.raw), 0);
        (Scalar::from_raw(value), Scalar::from_raw(index))
    }

    /// The least of all elements and its position in row-major order.
    #[track_caller]
    pub fn argmin_all(self) -> (Scalar<E>, Scalar<I32>) {
        let place = Location::caller();
        let [value, index] = arg_reduce(place, false, flat(place, self.raw), 0);
        (Scalar::from_raw(value), Scalar::from_raw(index))
    }

    /// Prefix sums along `axis`, each including its own element, in order.
    #[track_caller]
    pub fn cumsum(self, axis: usize) -> Tile<E> {
        self.scan(ReduceOp::Sum, axis)
    }

    /// Prefix maxima along `axis`.
    #[track_caller]
    pub fn scan_max(self, axis: usize) -> Tile<E> {
        self.scan(ReduceOp::Max, axis)
    }
}

impl<E: Elem> Tile<E> {
    /// Inclusive prefix fold along `axis` with `op`, from index 0 up, in order.
    #[track_caller]
    pub fn scan(self, op: ReduceOp, axis: usize) -> Tile<E> {
        Tile::from_raw(emit(Location::caller(), |cx| TileOp::Scan {
            op,
            x: cx.get(self.raw),
            axis,
        }))
    }
}
