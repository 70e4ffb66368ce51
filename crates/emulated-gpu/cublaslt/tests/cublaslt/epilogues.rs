//! Tests that compare every epilogue in every type with its definition in double precision.
//! Operands are small dyadic numbers, so that everything except GELU is exact.

use cudarc::cublaslt::sys::cublasComputeType_t;

use crate::support::{Call, CublasLt, Shape, Type};

const TYPES: [Type; 4] = [Type::F32, Type::F64, Type::F16, Type::Bf16];

fn values(count: usize, step: usize, modulus: usize, offset: f64) -> Vec<f64> {
    (0..count).map(|i| ((i * step) % modulus) as f64 - offset).collect()
}

fn gelu(x: f64) -> f64 {
    0.5 * x * (1.0 + (0.797_884_560_802_865_4 * (x + 0.044_715 * x * x * x)).tanh())
}

fn gelu_gradient(x: f64) -> f64 {
    let t = (0.797_884_560_802_865_4 * (x + 0.044_715 * x * x * x)).tanh();
    0.5 * (1.0 + t) + 0.5 * x * (1.0 - t * t) * 0.797_884_560_802_865_4 * (1.0 + 0.134_145 * x * x)
}

/// The product `D = A · B + C` with 5, 30 or 130 rows, 4 columns or 1, and K = 3.
struct Problem {
    lt: CublasLt,
    ty: Type,
    m: usize,
    n: usize,
    a: Vec<f64>,
    b: Vec<f64>,
    c: Vec<f64>,
}

const K: usize = 3;

impl Problem {
    fn new(ty: Type, m: usize, n: usize) -> Self {
        let a = values(m * K, 7, 5, 2.0);
        let b = values(K * n, 3, 4, 1.5);
        let c = values(m * n, 5, 7, 3.0);
        Self { lt: CublasLt::new(), ty, m, n, a, b, c }
    }

    /// An element of `A · B + C`.
    fn sum(&self, row: usize, column: usize) -> f64 {
        let product: f64 = (0..K).map(|k| self.a[k * self.m + row] * self.b[column * K + k]).sum();
        product + self.c[column * self.m + row]
    }

    /// Runs the product with `beta` 1, and returns the result.
    fn run(&self, change: impl FnOnce(&mut Call)) -> Vec<f64> {
        let a = self.lt.numbers(self.ty, &self.a);
        let b = self.lt.numbers(self.ty, &self.b);
        let d = self.lt.numbers(self.ty, &self.c);
        let result = Shape::new(self.ty, self.m, self.n);
        let shapes =
            [Shape::new(self.ty, self.m, K), Shape::new(self.ty, K, self.n), result, result];
        let d_address = self.lt.address(&d);
        let addresses = [self.lt.address(&a), self.lt.address(&b), d_address, d_address];
        let mut call = Call { scalars: (1.0, 1.0), ..Call::new(shapes, addresses) };
        change(&mut call);
        assert_eq!(call.run(&self.lt), (0, 0), "{:?} {} {}", self.ty, self.m, self.n);
        self.lt.get_numbers(self.ty, &d)
    }

    /// Asserts that the result's elements equal the results of `element`, up to a tolerance, which
    /// only GELU needs.
    fn expect(&self, got: &[f64], tolerance: f64, element: impl Fn(usize, usize) -> f64) {
        for column in 0..self.n {
            for row in 0..self.m {
                let expected = self.ty.round(element(row, column));
                let got = got[column * self.m + row];
                let error = (got - expected).abs();
                assert!(
                    error <= tolerance * (expected.abs() + 0.05),
                    "[{row}, {column}]: {got}, not {expected} ({:?})",
                    self.ty
                );
            }
        }
    }
}

fn problems() -> impl Iterator<Item = Problem> {
    let sizes = [5, 30, 130].into_iter().flat_map(|m| [(m, 4), (m, 1)]);
    sizes.flat_map(|(m, n)| TYPES.map(|ty| Problem::new(ty, m, n)))
}

/// The tolerance for GELU: the relative error of its computation, and of the rounding to the type.
fn tolerance(ty: Type) -> f64 {
    match ty {
        Type::F32 | Type::C32 => 1e-6,
        Type::F64 | Type::C64 => 1e-14,
        Type::F16 => 2e-3,
        Type::Bf16 => 1.6e-2,
    }
}

#[test]
fn default_and_relu() {
    for problem in problems() {
        let got = problem.run(|_| ());
        problem.expect(&got, 0.0, |row, column| problem.sum(row, column));
        let got = problem.run(|call| call.epilogue = 2);
        problem.expect(&got, 0.0, |row, column| problem.sum(row, column).max(0.0));
    }
}

#[test]
fn bias_with_and_without_activation() {
    for problem in problems() {
        let bias = values(problem.m, 1, 9, 4.0);
        let memory = problem.lt.numbers(problem.ty, &bias);
        let address = problem.lt.address(&memory);
        let exact = |epilogue: i32, finish: fn(f64) -> f64, tolerance: f64| {
            let got = problem.run(|call| {
                call.epilogue = epilogue;
                call.bias = address;
                call.bias_type = problem.ty.code();
            });
            let element = |row: usize, column| finish(problem.sum(row, column) + bias[row]);
            problem.expect(&got, tolerance, element);
        };
        exact(4, |x| x, 0.0);
        exact(6, |x| x.max(0.0), 0.0);
        exact(36, gelu, tolerance(problem.ty));
        let got = problem.run(|call| call.epilogue = 32);
        let element = |row, column| gelu(problem.sum(row, column));
        problem.expect(&got, tolerance(problem.ty), element);
    }
}

/// A bit of the mask is one if the input is at least 0. The lowest bit comes first, columns are
/// padded to multiples of 128 bits, and bits beyond the last row stay unchanged, as in cuBLASLt
/// 13.0 on an RTX 3060. The gradient reads the mask.
#[test]
fn the_relu_mask_is_used_by_its_gradient() {
    for problem in problems() {
        let (m, n) = (problem.m, problem.n);
        let ld = m.next_multiple_of(128);
        let bias = values(m, 1, 9, 4.0);
        let bias_memory = problem.lt.numbers(problem.ty, &bias);
        let mask = problem.lt.put(&vec![0xaau8; ld / 8 * n]);
        let (bias_address, mask_address) =
            (problem.lt.address(&bias_memory), problem.lt.address(&mask));
        for with_bias in [false, true] {
            let added = |row: usize| if with_bias { bias[row] } else { 0.0 };
            let got = problem.run(|call| {
                call.epilogue = if with_bias { 134 } else { 130 };
                call.bias = bias_address;
                call.aux = mask_address;
                call.aux_ld = ld as i64;
            });
            let input = |row: usize, column| problem.sum(row, column) + added(row);
            problem.expect(&got, 0.0, |row, column| input(row, column).max(0.0));
            let bytes = problem.lt.get(&mask);
            let bit = |row: usize, column: usize| bytes[column * ld / 8 + row / 8] >> (row % 8) & 1;
            for column in 0..n {
                for row in 0..ld {
                    let expected =
                        if row < m { u8::from(input(row, column) >= 0.0) } else { (row % 2) as u8 };
                    assert_eq!(bit(row, column), expected, "[{row}, {column}] {m}");
                }
            }
            let kept = |row, column| {
                if bit(row, column) == 1 { problem.sum(row, column) } else { 0.0 }
            };
            let got = problem.run(|call| {
                call.epilogue = 136;
                call.aux = mask_address;
                call.aux_ld = ld as i64;
            });
            problem.expect(&got, 0.0, kept);
            let gradient = problem.lt.numbers(problem.ty, &vec![-99.0; m + 1]);
            let got = problem.run(|call| {
                call.epilogue = 152;
                call.aux = mask_address;
                call.aux_ld = ld as i64;
                call.bias = problem.lt.address(&gradient);
            });
            problem.expect(&got, 0.0, kept);
            let sums = problem.lt.get_numbers(problem.ty, &gradient);
            for (row, &sum) in sums[..m].iter().enumerate() {
                let expected: f64 = (0..n).map(|column| kept(row, column)).sum();
                assert_eq!(sum, problem.ty.round(expected), "row {row}");
            }
            assert_eq!(sums[m], -99.0);
        }
    }
}

#[test]
fn the_gelu_input_is_used_by_its_gradient() {
    for problem in problems() {
        let (m, n) = (problem.m, problem.n);
        let ld = m.next_multiple_of(8);
        let bias = values(m, 1, 5, 2.0);
        let bias_memory = problem.lt.numbers(problem.ty, &bias);
        let aux = problem.lt.numbers(problem.ty, &vec![-7.0; ld * n]);
        let (bias_address, aux_address) =
            (problem.lt.address(&bias_memory), problem.lt.address(&aux));
        for with_bias in [false, true] {
            let added = |row: usize| if with_bias { bias[row] } else { 0.0 };
            let got = problem.run(|call| {
                call.epilogue = if with_bias { 164 } else { 160 };
                call.bias = bias_address;
                call.aux = aux_address;
                call.aux_ld = ld as i64;
                call.aux_type = problem.ty.code();
            });
            let input = |row: usize, column| problem.sum(row, column) + added(row);
            let tolerance = tolerance(problem.ty);
            problem.expect(&got, tolerance, |row, column| gelu(input(row, column)));
            let kept = problem.lt.get_numbers(problem.ty, &aux);
            for column in 0..n {
                for row in 0..ld {
                    let expected = if row < m { input(row, column) } else { -7.0 };
                    assert_eq!(kept[column * ld + row], expected, "[{row}, {column}]");
                }
            }
            let element =
                |row, column| problem.sum(row, column) * gelu_gradient(input(row, column));
            let got = problem.run(|call| {
                call.epilogue = 192;
                call.aux = aux_address;
                call.aux_ld = ld as i64;
            });
            problem.expect(&got, tolerance, element);
            let gradient = problem.lt.numbers(problem.ty, &vec![-99.0; m]);
            let got = problem.run(|call| {
                call.epilogue = 208;
                call.aux = aux_address;
                call.aux_ld = ld as i64;
                call.bias = problem.lt.address(&gradient);
            });
            problem.expect(&got, tolerance, element);
            for (row, sum) in problem.lt.get_numbers(problem.ty, &gradient).into_iter().enumerate()
            {
                let expected: f64 = (0..n).map(|column| element(row, column)).sum();
                let size: f64 = (0..n).map(|column| element(row, column).abs()).sum();
                assert!((sum - expected).abs() <= tolerance * (size + 0.2), "row {row}: {sum}");
            }
        }
    }
}

/// The gradients of biases are sums of the operands along K, which are neither scaled by `alpha`
/// nor rounded like inputs.
#[test]
fn bias_gradients_are_sums_of_operands() {
    for ty in TYPES {
        let lt = CublasLt::new();
        let (m, n, k) = (5, 4, 3);
        let a = values(m * k, 7, 5, 2.0);
        // B is stored as n x k, and the call transposes it.
        let b = values(n * k, 3, 4, 1.5);
        let (a_memory, b_memory) = (lt.numbers(ty, &a), lt.numbers(ty, &b));
        for (epilogue, len, values) in [(256, m, &a), (512, n, &b)] {
            let d = lt.numbers(ty, &vec![0.0; m * n]);
            let gradient = lt.numbers(ty, &vec![-99.0; len + 1]);
            let result = Shape::new(ty, m, n);
            let shapes = [Shape::new(ty, m, k), Shape::new(ty, n, k), result, result];
            let addresses =
                [lt.address(&a_memory), lt.address(&b_memory), lt.address(&d), lt.address(&d)];
            let call = Call {
                operations: (0, 1),
                epilogue,
                bias: lt.address(&gradient),
                scalars: (2.0, 0.0),
                ..Call::new(shapes, addresses)
            };
            assert_eq!(call.run(&lt), (0, 0), "{ty:?} {epilogue}");
            let sums = lt.get_numbers(ty, &gradient);
            for line in 0..len {
                let expected: f64 = (0..k).map(|depth| values[depth * len + line]).sum();
                assert_eq!(sums[line], ty.round(expected), "{ty:?} {epilogue}");
            }
            assert_eq!(sums[len], -99.0);
            let got = lt.get_numbers(ty, &d);
            for column in 0..n {
                for row in 0..m {
                    let sum: f64 = (0..k).map(|p| a[p * m + row] * b[p * n + column]).sum();
                    assert_eq!(got[column * m + row], ty.round(2.0 * sum));
                }
            }
        }
    }
}

#[test]
fn tf32_is_only_used_on_request() {
    let lt = CublasLt::new();
    let x = 1.0 + 2f64.powi(-12);
    let (a, b) = (lt.numbers(Type::F32, &[x; 8]), lt.numbers(Type::F32, &[1.0; 8]));
    let d = lt.numbers(Type::F32, &[0.0; 4]);
    let shape = Shape::new(Type::F32, 2, 2);
    let addresses = [lt.address(&a), lt.address(&b), lt.address(&d), lt.address(&d)];
    for (compute, ld, expected) in [
        (cublasComputeType_t::CUBLAS_COMPUTE_32F, 4, 2.0 * x),
        (cublasComputeType_t::CUBLAS_COMPUTE_32F_FAST_TF32, 4, 2.0),
        // Columns whose distance is not a multiple of 16 bytes don't suit tensor cores.
        (cublasComputeType_t::CUBLAS_COMPUTE_32F_FAST_TF32, 3, 2.0 * x),
    ] {
        let operand = Shape { ld, ..shape };
        let call = Call { compute, ..Call::new([operand, operand, shape, shape], addresses) };
        assert_eq!(call.run(&lt), (0, 0));
        assert_eq!(lt.get_numbers(Type::F32, &d), [expected; 4], "{compute:?} {ld}");
    }
}
