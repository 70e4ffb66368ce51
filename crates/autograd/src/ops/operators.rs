//! The operators `+ − * /` for tensors and numbers, by value or by reference. Each calls the method of the
//! same name. A tensor that holds an error passes it on.

use std::ops::{Add, Div, Mul, Neg, Sub};

use crate::{Element, Tensor};

macro_rules! between_tensors {
    ($trait:ident, $method:ident) => {
        impl<T: Element> $trait<&Tensor<T>> for &Tensor<T> {
            type Output = Tensor<T>;
            #[track_caller]
            fn $method(self, other: &Tensor<T>) -> Tensor<T> {
                Tensor::$method(self, other)
            }
        }
        impl<T: Element> $trait<Tensor<T>> for &Tensor<T> {
            type Output = Tensor<T>;
            #[track_caller]
            fn $method(self, other: Tensor<T>) -> Tensor<T> {
                Tensor::$method(self, &other)
            }
        }
        impl<T: Element> $trait<&Tensor<T>> for Tensor<T> {
            type Output = Tensor<T>;
            #[track_caller]
            fn $method(self, other: &Tensor<T>) -> Tensor<T> {
                Tensor::$method(&self, other)
            }
        }
        impl<T: Element> $trait<Tensor<T>> for Tensor<T> {
            type Output = Tensor<T>;
            #[track_caller]
            fn $method(self, other: Tensor<T>) -> Tensor<T> {
                Tensor::$method(&self, &other)
            }
        }
    };
}

between_tensors!(Add, add);
between_tensors!(Sub, sub);
between_tensors!(Mul, mul);
between_tensors!(Div, div);

macro_rules! with_a_number {
    ($trait:ident, $method:ident, |$x:ident, $number:ident| $result:expr) => {
        impl<T: Element> $trait<T> for &Tensor<T> {
            type Output = Tensor<T>;
            #[track_caller]
            fn $method(self, $number: T) -> Tensor<T> {
                let $x = self;
                $result
            }
        }
        impl<T: Element> $trait<T> for Tensor<T> {
            type Output = Tensor<T>;
            #[track_caller]
            fn $method(self, $number: T) -> Tensor<T> {
                let $x = &self;
                $result
            }
        }
    };
}

with_a_number!(Add, add, |x, number| x.shift(number));
with_a_number!(Sub, sub, |x, number| x.shift(-number));
with_a_number!(Mul, mul, |x, number| x.scale(number));
with_a_number!(Div, div, |x, number| x.scale(T::one() / number));

macro_rules! number_first {
    ($number:ty, $tensor:ty) => {
        impl Add<$tensor> for $number {
            type Output = Tensor<$number>;
            #[track_caller]
            fn add(self, x: $tensor) -> Tensor<$number> {
                x.shift(self)
            }
        }
        impl Sub<$tensor> for $number {
            type Output = Tensor<$number>;
            #[track_caller]
            fn sub(self, x: $tensor) -> Tensor<$number> {
                Tensor::neg(&x).shift(self)
            }
        }
        impl Mul<$tensor> for $number {
            type Output = Tensor<$number>;
            #[track_caller]
            fn mul(self, x: $tensor) -> Tensor<$number> {
                x.scale(self)
            }
        }
        impl Div<$tensor> for $number {
            type Output = Tensor<$number>;
            #[track_caller]
            fn div(self, x: $tensor) -> Tensor<$number> {
                x.pow(-1.0).scale(self)
            }
        }
    };
}

number_first!(f32, &Tensor<f32>);
number_first!(f32, Tensor<f32>);
number_first!(f64, &Tensor<f64>);
number_first!(f64, Tensor<f64>);

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
