//! The launch signature: what the staging closure declares before it calls the kernel.

use crate::diag;
use crate::elem::Elem;
use crate::handle::{Raw, Scalar, View, ViewMut};
use crate::staging::at;
use std::panic::Location;
use tilewright_ir::{Fact, Type, ViewType};

/// Declares launch parameters and the facts a launch promises about them.
///
/// Parameters stand in the order of declaration, which is the order of the launch arguments.
/// Element type and rank are inferred from the kernel function:
///
/// ```
/// # use tilewright_dsl::prelude::*;
/// fn copy(x: View<F32, 1>, y: ViewMut<F32, 1>) {
///     let start = program_id(0) * 64;
///     y.tile(start, [64]).store(x.tile(start, [64]).load());
/// }
/// let func = stage("copy", |s| {
///     let (x, y) = (s.view("x"), s.view_mut("y"));
///     s.assume_dim_multiple("x", 0, 64);
///     copy(x, y)
/// });
/// ```
#[derive(Debug)]
pub struct Stage(());

impl Stage {
    pub(crate) fn new() -> Stage {
        Stage(())
    }

    /// A view parameter whose last axis has stride 1, which the launch checks.
    #[track_caller]
    pub fn view<E: Elem, const N: usize>(&mut self, name: &str) -> View<E, N> {
        let view = self.view_strided(name);
        self.assume_unit_stride(name, N);
        view
    }

    /// A view parameter with any strides.
    #[track_caller]
    pub fn view_strided<E: Elem, const N: usize>(&mut self, name: &str) -> View<E, N> {
        View::from_raw(self.view_param::<E>(name, N, false))
    }

    /// A writable view parameter whose last axis has stride 1, which the launch checks.
    #[track_caller]
    pub fn view_mut<E: Elem, const N: usize>(&mut self, name: &str) -> ViewMut<E, N> {
        let view = self.view_mut_strided(name);
        self.assume_unit_stride(name, N);
        view
    }

    /// A writable view parameter with any strides.
    #[track_caller]
    pub fn view_mut_strided<E: Elem, const N: usize>(&mut self, name: &str) -> ViewMut<E, N> {
        ViewMut::from_raw(self.view_param::<E>(name, N, true))
    }

    /// A scalar parameter.
    #[track_caller]
    pub fn scalar<E: Elem>(&mut self, name: &str) -> Scalar<E> {
        Scalar::from_raw(self.param(name, Type::Scalar(E::DTYPE)))
    }

    /// The extent of `axis` of `param` is a multiple of `n`.
    #[track_caller]
    pub fn assume_dim_multiple(&mut self, param: &str, axis: usize, n: usize) {
        self.assume(param, Fact::DimMultiple(axis, n as u64));
    }

    /// The extent of `axis` of `param` is `n`.
    #[track_caller]
    pub fn assume_dim_equals(&mut self, param: &str, axis: usize, n: usize) {
        self.assume(param, Fact::DimEquals(axis, n as u64));
    }

    /// The stride of `axis` of `param`, in elements, is `n`.
    #[track_caller]
    pub fn assume_stride_equals(&mut self, param: &str, axis: usize, n: usize) {
        self.assume(param, Fact::StrideEquals(axis, n as u64));
    }

    /// The stride of `axis` of `param`, in elements, is a multiple of `n`.
    #[track_caller]
    pub fn assume_stride_multiple(&mut self, param: &str, axis: usize, n: usize) {
        self.assume(param, Fact::StrideMultiple(axis, n as u64));
    }

    /// The address of `param` is a multiple of `bytes`.
    #[track_caller]
    pub fn assume_aligned(&mut self, param: &str, bytes: usize) {
        self.assume(param, Fact::Aligned(bytes as u64));
    }

    /// The scalar `param` is a multiple of `n`.
    #[track_caller]
    pub fn assume_scalar_multiple(&mut self, param: &str, n: usize) {
        self.assume(param, Fact::ScalarMultiple(n as u64));
    }

    #[track_caller]
    fn assume_unit_stride(&mut self, param: &str, rank: usize) {
        if let Some(last) = rank.checked_sub(1) {
            self.assume(param, Fact::StrideEquals(last, 1));
        }
    }

    #[track_caller]
    fn assume(&mut self, param: &str, fact: Fact) {
        at(Location::caller(), |cx| {
            match cx.builder.func().params.iter().position(|p| p.name == param) {
                Some(index) => cx.builder.assume(index, fact),
                None => cx.report(diag::unknown_param(&cx.span(), param)),
            }
        });
    }

    #[track_caller]
    fn view_param<E: Elem>(&mut self, name: &str, rank: usize, mutable: bool) -> Raw {
        self.param(name, Type::View(ViewType { elem: E::DTYPE, rank, mutable }))
    }

    #[track_caller]
    fn param(&mut self, name: &str, ty: Type) -> Raw {
        let raw = at(Location::caller(), |cx| {
            if cx.builder.func().params.iter().any(|p| p.name == name) {
                cx.report(diag::duplicate_param(&cx.span(), name));
            }
            cx.param(name, ty)
        });
        raw.unwrap_or(Raw::INERT)
    }
}
