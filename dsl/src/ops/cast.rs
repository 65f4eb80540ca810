//! Conversions between element types.

use super::on_handles;
use crate::elem::Elem;
use crate::handle::{Handle, Raw, RawHandle};
use crate::source::Place;
use crate::staging::emit;
use std::panic::Location;
use tilewright_ir::{Rounding, TileOp};

fn cast<F: Elem>(place: Place, x: Raw, rounding: Rounding, saturate: bool) -> RawHandle {
    RawHandle(emit(place, |cx| TileOp::Cast { x: cx.get(x), to: F::DTYPE, rounding, saturate }))
}

/// What a plain cast means: floats narrow to nearest even, floats become integers towards zero.
fn plain_rounding<E: Elem, F: Elem>() -> Rounding {
    if E::DTYPE.is_float() && !F::DTYPE.is_float() {
        Rounding::TowardZero
    } else {
        Rounding::NearestEven
    }
}

on_handles! {
    where E: Elem;

    /// The value in another element type. Float to narrower float rounds to nearest even; float to
    /// integer rounds towards zero and clamps (NaN gives 0); integer to narrower integer wraps.
    #[track_caller]
    pub fn cast<F: Elem>(self) -> <Self as Handle>::With<F> {
        Handle::of(cast::<F>(Location::caller(), self.raw, plain_rounding::<E, F>(), false))
    }

    /// As `cast`, but what is out of range becomes the nearest value in range.
    #[track_caller]
    pub fn cast_sat<F: Elem>(self) -> <Self as Handle>::With<F> {
        Handle::of(cast::<F>(Location::caller(), self.raw, plain_rounding::<E, F>(), true))
    }

    /// As `cast`, rounding as given.
    #[track_caller]
    pub fn cast_round<F: Elem>(self, rounding: Rounding) -> <Self as Handle>::With<F> {
        Handle::of(cast::<F>(Location::caller(), self.raw, rounding, false))
    }

    /// As `cast_sat`, rounding as given.
    #[track_caller]
    pub fn cast_sat_round<F: Elem>(self, rounding: Rounding) -> <Self as Handle>::With<F> {
        Handle::of(cast::<F>(Location::caller(), self.raw, rounding, true))
    }

    /// The same bits as another element type of the same width.
    #[track_caller]
    pub fn bitcast<F: Elem>(self) -> <Self as Handle>::With<F> {
        Handle::of(RawHandle(emit(Location::caller(), |cx| TileOp::Bitcast {
            x: cx.get(self.raw),
            to: F::DTYPE,
        })))
    }
}
