//! The operators `+ − * /` for tensors and numbers, by value or by reference. Each calls the method of the
//! same name. A tensor that holds an error passes it on.

use std::ops::{Add, Div, Mul, Neg, Sub};

use crate::{Element, Tensor};

/// Implements an operator for one pair of operand types.
macro_rules! operator {
    ([$($generic:tt)*] $trait:ident $method:ident $result:ty: |$a:ident: $left:ty, $b:ident: $right:ty| $value:expr) => {
        impl<$($generic)*> $trait<$right> for $left {
            type Output = $result;
            #[track_caller]
            fn $method(self, other: $right) -> $result {
                let ($a, $b) = (self, other);
                $value
            }
        }
    };
}

/// Implements an operator between two tensors, between a tensor and a number, and between a number and a tensor.
macro_rules! operators {
    ($trait:ident $method:ident, |$x:ident, $number:ident| $number_second:expr, $number_first:expr) => {
        operator!([T: Element] $trait $method Tensor<T>: |a: &Tensor<T>, b: &Tensor<T>| Tensor::$method(a, b));
        operator!([T: Element] $trait $method Tensor<T>: |a: &Tensor<T>, b: Tensor<T>| Tensor::$method(a, &b));
        operator!([T: Element] $trait $method Tensor<T>: |a: Tensor<T>, b: &Tensor<T>| Tensor::$method(&a, b));
        operator!([T: Element] $trait $method Tensor<T>: |a: Tensor<T>, b: Tensor<T>| Tensor::$method(&a, &b));
        operator!([T: Element] $trait $method Tensor<T>: |$x: &Tensor<T>, $number: T| $number_second);
        operator!([T: Element] $trait $method Tensor<T>: |$x: Tensor<T>, $number: T| $number_second);
        operator!([] $trait $method Tensor<f32>: |$number: f32, $x: &Tensor<f32>| $number_first);
        operator!([] $trait $method Tensor<f32>: |$number: f32, $x: Tensor<f32>| $number_first);
        operator!([] $trait $method Tensor<f64>: |$number: f64, $x: &Tensor<f64>| $number_first);
        operator!([] $trait $method Tensor<f64>: |$number: f64, $x: Tensor<f64>| $number_first);
    };
}

operators!(Add add, |x, number| x.shift(number), x.shift(number));
operators!(Sub sub, |x, number| x.shift(-number), (-x).shift(number));
operators!(Mul mul, |x, number| x.scale(number), x.scale(number));
operators!(Div div, |x, number| x.scale(T::one() / number), x.pow(-1.0).scale(number));

impl<T: Element> Neg for &Tensor<T> {
    type Output = Tensor<T>;
    #[track_caller]
    fn neg(self) -> Tensor<T> {
        Tensor::neg(self)
    }
}

impl<T: Element> Neg for Tensor<T> {
    type Output = Tensor<T>;
    #[track_caller]
    fn neg(self) -> Tensor<T> {
        Tensor::neg(&self)
    }
}
