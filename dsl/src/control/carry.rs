//! Which values a variable consists of.

use crate::handle::{Raw, Scalar, Tile, View, ViewMut};
use std::any::Any;
use std::marker::PhantomData;

/// A variable that may change in a kernel region: a [`Scalar`], a [`Tile`], or a tuple, array,
/// `Vec`, `Option` or struct of them. `#[derive(Carry)]` implements it for structs; fields that are
/// host values are marked `#[carry(host)]` and must not change in a region.
///
/// ```
/// use tilewright_dsl::prelude::*;
/// #[derive(Clone, Copy, Carry)]
/// struct Mean {
///     sum: Tile<F32>,
///     count: Scalar<I32>,
///     #[carry(host)]
///     block: usize,
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot change in a kernel `for`, `while` or `if`",
    label = "may be assigned in a kernel region, but it is a host value",
    note = "host values are decided while staging; use a `Scalar` or `Tile`, or `#[derive(Carry)]` on a struct of them",
    note = "a variable that only has to be read is not carried if it is not declared `mut`"
)]
pub trait Carry {
    /// Shows each kernel value in `self` to `leaves`, always in the same order.
    fn visit(&mut self, leaves: &mut Leaves<'_>);
}

/// Visits the values of a carried variable.
pub struct Leaves<'a> {
    on_leaf: &'a mut dyn FnMut(Leaf<'_>),
}

/// A part of a carried variable.
pub(crate) enum Leaf<'a> {
    /// A kernel value.
    Value(&'a mut Raw),
    /// A host value, which must stay as it is.
    Host(HostPart),
}

impl Leaf<'_> {
    pub(crate) fn value(&self) -> Option<Raw> {
        match self {
            Leaf::Value(raw) => Some(**raw),
            Leaf::Host(_) => None,
        }
    }
}

/// A copy of a host value, to see whether it changes.
pub(crate) struct HostPart {
    value: Box<dyn Any>,
    same: fn(&dyn Any, &dyn Any) -> bool,
}

impl HostPart {
    pub(crate) fn is_same(&self, other: &HostPart) -> bool {
        (self.same)(self.value.as_ref(), other.value.as_ref())
    }
}

impl<'a> Leaves<'a> {
    pub(crate) fn new(on_leaf: &'a mut dyn FnMut(Leaf<'_>)) -> Leaves<'a> {
        Leaves { on_leaf }
    }

    /// A host value beside the kernel values: a field marked `#[carry(host)]`.
    pub fn host<T: Clone + PartialEq + 'static>(&mut self, value: &T) {
        fn same<T: PartialEq + 'static>(a: &dyn Any, b: &dyn Any) -> bool {
            a.downcast_ref::<T>() == b.downcast_ref::<T>()
        }
        (self.on_leaf)(Leaf::Host(HostPart { value: Box::new(value.clone()), same: same::<T> }));
    }

    fn value(&mut self, raw: &mut Raw) {
        (self.on_leaf)(Leaf::Value(raw));
    }
}

impl<E> Carry for Scalar<E> {
    fn visit(&mut self, leaves: &mut Leaves<'_>) {
        leaves.value(&mut self.raw);
    }
}
impl<E> Carry for Tile<E> {
    fn visit(&mut self, leaves: &mut Leaves<'_>) {
        leaves.value(&mut self.raw);
    }
}
impl<E, const N: usize> Carry for View<E, N> {
    fn visit(&mut self, leaves: &mut Leaves<'_>) {
        leaves.host(&self.raw);
    }
}
impl<E, const N: usize> Carry for ViewMut<E, N> {
    fn visit(&mut self, leaves: &mut Leaves<'_>) {
        leaves.host(&self.raw);
    }
}
impl<T> Carry for PhantomData<T> {
    fn visit(&mut self, _: &mut Leaves<'_>) {}
}
impl<T: Carry + ?Sized> Carry for &mut T {
    fn visit(&mut self, leaves: &mut Leaves<'_>) {
        (**self).visit(leaves);
    }
}
impl<T: Carry + ?Sized> Carry for Box<T> {
    fn visit(&mut self, leaves: &mut Leaves<'_>) {
        (**self).visit(leaves);
    }
}
impl<T: Carry> Carry for Option<T> {
    fn visit(&mut self, leaves: &mut Leaves<'_>) {
        self.iter_mut().for_each(|x| x.visit(leaves));
    }
}
impl<T: Carry> Carry for [T] {
    fn visit(&mut self, leaves: &mut Leaves<'_>) {
        self.iter_mut().for_each(|x| x.visit(leaves));
    }
}
impl<T: Carry, const N: usize> Carry for [T; N] {
    fn visit(&mut self, leaves: &mut Leaves<'_>) {
        self.as_mut_slice().visit(leaves);
    }
}
impl<T: Carry> Carry for Vec<T> {
    fn visit(&mut self, leaves: &mut Leaves<'_>) {
        self.as_mut_slice().visit(leaves);
    }
}

macro_rules! tuples {
    ($($($t:ident)*;)*) => { $(
        impl<$($t: Carry),*> Carry for ($($t,)*) {
            #[allow(non_snake_case, reason = "the variables are named after their types")]
            fn visit(&mut self, leaves: &mut Leaves<'_>) {
                let ($($t,)*) = self;
                $($t.visit(leaves);)*
                let _ = leaves;
            }
        }
    )* };
}
tuples! {
    ;
    A;
    A B;
    A B C;
    A B C D;
    A B C D F;
    A B C D F G;
    A B C D F G H;
    A B C D F G H I;
}
