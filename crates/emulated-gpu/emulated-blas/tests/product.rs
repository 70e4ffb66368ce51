//! Products against sums in double precision, written out.

#![allow(unsafe_code, reason = "products take addresses")]

use emulated_blas::{
    Compute, DataType, Inputs, Matrix, Operation, Order, Product, Scalar, Split, View,
};
use emulated_blas::{Real, load, store, to_tf32};
use proptest::prelude::*;

/// Numbers that are no fractions of powers of two, positive and negative.
fn value(index: usize) -> f64 {
    (((index * 7919 + 13) % 2003) as f64 / 1001.0 - 1.0) * 1.7
}

/// Two words at a multiple of 16 bytes.
#[derive(Clone, Copy)]
#[repr(align(16))]
struct Pair([u64; 2]);

/// Memory for a matrix, filled with values rounded to its type.
struct Buffer {
    words: Vec<Pair>,
    matrix: Matrix,
}

impl Buffer {
    fn new(ty: DataType, rows: usize, columns: usize, pad: usize, order: Order) -> Self {
        let beside = if order == Order::Column { rows } else { columns };
        let apart = if order == Order::Column { columns } else { rows };
        let ld = beside.max(1) + pad;
        let elements = ld * apart.max(1);
        let mut words = vec![Pair([0; 2]); elements.div_ceil(2)];
        let address = words.as_mut_ptr() as u64;
        let matrix = Matrix {
            name: "A",
            ld_name: "lda",
            address,
            ty,
            rows: rows as u64,
            columns: columns as u64,
            ld: ld as i64,
            order,
            batch: 1,
            batch_stride: 0,
        };
        for index in 0..elements {
            // SAFETY: there is room for `elements` elements of up to 8 bytes.
            unsafe { store(address, ty, index as isize, value(index + rows)) };
        }
        Self { words, matrix }
    }

    fn get(&self, row: usize, column: usize) -> f64 {
        let (row_stride, column_stride) = self.matrix.strides();
        let index = row as isize * row_stride + column as isize * column_stride;
        assert!(index >= 0 && (index as usize) < self.words.iter().map(|pair| pair.0.len()).sum());
        // SAFETY: the index was just checked.
        unsafe { load(self.matrix.address, self.matrix.ty, index) }
    }

    fn view(&self, operation: Operation) -> View {
        View::of(&self.matrix, operation, 0)
    }
}

/// One product and what it should be.
#[derive(Clone, Debug)]
struct Case {
    shape: (usize, usize, usize),
    transposed: (bool, bool),
    rows_first: (bool, bool, bool),
    pad: usize,
    types: (DataType, DataType, Compute),
    alpha: f64,
    beta: f64,
    capability: u32,
    /// Of split sums.
    parts: usize,
}

fn operation(transposed: bool) -> Operation {
    if transposed { Operation::Transpose } else { Operation::None }
}

fn order(rows_first: bool) -> Order {
    if rows_first { Order::Row } else { Order::Column }
}

fn check(case: &Case) {
    let (m, n, k) = case.shape;
    let (ta, tb) = case.transposed;
    let (ab, c_type, compute) = case.types;
    let (rows, columns) = if ta { (k, m) } else { (m, k) };
    let a = Buffer::new(ab, rows, columns, case.pad, order(case.rows_first.0));
    let (rows, columns) = if tb { (n, k) } else { (k, n) };
    let b = Buffer::new(ab, rows, columns, case.pad + 1, order(case.rows_first.1));
    let c = Buffer::new(c_type, m, n, 2 * case.pad, order(case.rows_first.2));
    let before = Buffer::new(c_type, m, n, 2 * case.pad, order(case.rows_first.2));
    let mut workspace = vec![0_u64; case.parts * m * n + 1];
    let product = Product {
        m,
        n,
        k,
        a: a.view(operation(ta)),
        b: b.view(operation(tb)),
        c: c.view(Operation::None),
        d: c.view(Operation::None),
        alpha: Scalar::Value(case.alpha),
        beta: Scalar::Value(case.beta),
        compute,
        capability: case.capability,
        split: Split { parts: case.parts, address: workspace.as_mut_ptr() as u64 },
    };
    // SAFETY: the buffers live, are large enough, and do not overlap.
    unsafe { product.run(None) }.unwrap();
    // Rounded only where both operands suit tensor cores.
    let suits = |matrix: &Matrix| {
        matrix.address.is_multiple_of(16)
            && (matrix.ld as u64 * matrix.ty.size()).is_multiple_of(16)
    };
    let fast = suits(&a.matrix) && suits(&b.matrix);
    let input = |x: f64| match compute {
        // TF32 and bfloat16 go through tensor cores from 8.0 on, halves from 7.0 on.
        Compute::F32(inputs)
            if fast && case.capability >= if inputs == Inputs::F16 { 70 } else { 80 } =>
        {
            f64::from((x as f32).rounded(inputs))
        }
        _ => x,
    };
    // Sums err by at most γ_k Σ|a||b|, twice and a half where digits are cut off, and the stored result by a
    // rounding of its own type.
    let unit = match compute {
        Compute::F64 => 2f64.powi(-53),
        // Rounded to half once for each group, of four products or more.
        Compute::F16 if fast && case.capability >= 70 => 2f64.powi(-11) / 4.0,
        Compute::F16 | Compute::F32(_) => 2f64.powi(-24),
    };
    let stored = match c_type {
        DataType::F16 => 2f64.powi(-11),
        DataType::Bf16 => 2f64.powi(-8),
        DataType::F32 => 2f64.powi(-24),
        DataType::F64 => 2f64.powi(-53),
    };
    for row in 0..m {
        for column in 0..n {
            let (mut sum, mut size) = (0.0, 0.0);
            for depth in 0..k {
                let left = if ta { a.get(depth, row) } else { a.get(row, depth) };
                let right = if tb { b.get(column, depth) } else { b.get(depth, column) };
                sum += input(left) * input(right);
                size += (input(left) * input(right)).abs();
            }
            let old = before.get(row, column);
            let expected = case.alpha * sum + case.beta * old;
            let magnitude = case.alpha.abs() * size + (case.beta * old).abs();
            let bound =
                (k as f64 + 4.0) * 2.5 * unit * magnitude + stored * expected.abs() + 1e-7 * stored;
            let got = c.get(row, column);
            assert!(
                (got - expected).abs() <= bound,
                "[{row}, {column}]: {got}, not {expected}: {case:?}"
            );
        }
    }
    // Nothing between the columns was written.
    let (ld, beside, apart) = match order(case.rows_first.2) {
        Order::Column => (c.matrix.ld as usize, m, n),
        Order::Row => (c.matrix.ld as usize, n, m),
    };
    for line in 0..apart {
        for index in beside..ld {
            let at = (line * ld + index) as isize;
            // SAFETY: inside both buffers.
            let pair: (f64, f64) = unsafe {
                (load(c.matrix.address, c_type, at), load(before.matrix.address, c_type, at))
            };
            assert_eq!(pair.0, pair.1, "padding of line {line}: {case:?}");
        }
    }
}

const TYPES: [(DataType, DataType, Compute); 10] = [
    (DataType::F32, DataType::F32, Compute::F32(Inputs::Full)),
    (DataType::F32, DataType::F32, Compute::F32(Inputs::Tf32)),
    (DataType::F32, DataType::F32, Compute::F32(Inputs::F16)),
    (DataType::F32, DataType::F32, Compute::F32(Inputs::Bf16)),
    (DataType::F64, DataType::F64, Compute::F64),
    (DataType::F16, DataType::F16, Compute::F16),
    (DataType::F16, DataType::F16, Compute::F32(Inputs::Full)),
    (DataType::Bf16, DataType::Bf16, Compute::F32(Inputs::Full)),
    (DataType::F16, DataType::F32, Compute::F32(Inputs::Full)),
    (DataType::Bf16, DataType::F32, Compute::F32(Inputs::Full)),
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn every_shape_order_and_type(
        shape in (0usize..20, 0usize..20, 0usize..40),
        transposed in any::<(bool, bool)>(),
        rows_first in any::<(bool, bool, bool)>(),
        pad in 0usize..4,
        types in prop::sample::select(TYPES.to_vec()),
        alpha in prop::sample::select(vec![0.0, 1.0, -0.5, 2.0]),
        beta in prop::sample::select(vec![0.0, 1.0, -1.5]),
        capability in prop::sample::select(vec![61, 70, 75, 80, 86, 89, 90]),
        parts in 1usize..4,
    ) {
        check(&Case { shape, transposed, rows_first, pad, types, alpha, beta, capability, parts });
    }
}

/// 2048, and a one in each of the three groups of products that follow. Half precision has no number between
/// 2048 and 2050, and the middle goes to the even one: each of the ones is lost where a sum is kept in it.
/// The exact sum, 2051, lies in the middle too, and is rounded to 2052.
#[test]
fn half_precision_sums_of_tensor_cores_are_rounded_from_group_to_group() {
    for (compute, capability, pad, expected) in [
        (Compute::F16, 70, 0, 2048.0),
        (Compute::F16, 80, 0, 2048.0),
        (Compute::F16, 90, 0, 2048.0),
        (Compute::F32(Inputs::Full), 90, 0, 2052.0),
        // Without tensor cores: on a card that has none, and with rows that don't suit them.
        (Compute::F16, 61, 0, 2052.0),
        (Compute::F16, 90, 1, 2052.0),
    ] {
        let k = 64;
        let [a, b] = [0, 1].map(|which| {
            let buffer = Buffer::new(DataType::F16, k, 8, pad, Order::Column);
            for depth in 0..k {
                let value = match (which, depth) {
                    (0, 0) => 2048.0,
                    (0, depth) if !depth.is_multiple_of(16) => 0.0,
                    _ => 1.0,
                };
                // SAFETY: the first column of 8 has these elements.
                unsafe { store(buffer.matrix.address, DataType::F16, depth as isize, value) };
            }
            buffer
        });
        let d = Buffer::new(DataType::F16, 1, 1, 0, Order::Column);
        let product = Product {
            m: 1,
            n: 1,
            k,
            a: a.view(Operation::Transpose),
            b: b.view(Operation::None),
            c: d.view(Operation::None),
            d: d.view(Operation::None),
            alpha: Scalar::Value(1.0),
            beta: Scalar::Value(0.0),
            compute,
            capability,
            split: Split::NONE,
        };
        // SAFETY: the buffers live, are large enough, and do not overlap.
        unsafe { product.run(None) }.unwrap();
        assert_eq!(d.get(0, 0), expected, "{compute:?} on {capability}, {pad} apart");
    }
}

#[test]
fn large_enough_for_threads() {
    for types in TYPES {
        check(&Case {
            shape: (257, 130, 301),
            transposed: (true, false),
            rows_first: (false, false, false),
            pad: 3,
            types,
            alpha: 1.0,
            beta: 0.0,
            capability: 90,
            parts: 1,
        });
    }
}

/// Four elements at a multiple of 16 bytes.
#[repr(align(16))]
struct Aligned([f32; 5]);

/// A product of one element each, in lines of `ld` elements.
fn run_lines(alpha: f64, beta: f64, values: [f32; 3], inputs: Inputs, ld: isize) -> f32 {
    let [a, b, mut c] = values.map(|x| Aligned([x; 5]));
    let view = |address: u64| View { address, ty: DataType::F32, row: 1, column: ld };
    let d = view(c.0.as_mut_ptr() as u64);
    let product = Product {
        m: 1,
        n: 1,
        k: 1,
        a: view(a.0.as_ptr() as u64),
        b: view(b.0.as_ptr() as u64),
        c: d,
        d,
        alpha: Scalar::Value(alpha),
        beta: Scalar::Value(beta),
        compute: Compute::F32(inputs),
        capability: 90,
        split: Split::NONE,
    };
    // SAFETY: one element each.
    unsafe { product.run(None) }.unwrap();
    c.0[0]
}

fn run_one(alpha: f64, beta: f64, a: f32, b: f32, c: f32, inputs: Inputs) -> f32 {
    run_lines(alpha, beta, [a, b, c], inputs, 4)
}

#[test]
fn what_is_scaled_by_zero_is_not_read() {
    assert_eq!(run_one(1.0, 0.0, 2.0, 3.0, f32::NAN, Inputs::Full), 6.0);
    assert_eq!(run_one(0.0, 2.0, f32::NAN, 3.0, 4.0, Inputs::Full), 8.0);
    assert_eq!(run_one(0.0, 0.0, f32::NAN, 3.0, f32::NAN, Inputs::Full), 0.0);
    assert!(run_one(1.0, 0.0, f32::NAN, 3.0, 4.0, Inputs::Full).is_nan());
    assert!(run_one(1.0, 0.5, 2.0, 3.0, f32::NAN, Inputs::Full).is_nan());
}

#[test]
fn tf32_rounds_both_inputs_and_not_the_product() {
    let (a, b) = (1.0 + 3.0 * 2f32.powi(-12), 1.0 - 2f32.powi(-13));
    let exact = run_one(1.0, 0.0, a, b, 0.0, Inputs::Full);
    let tf32 = run_one(1.0, 0.0, a, b, 0.0, Inputs::Tf32);
    assert_eq!(exact, a * b);
    assert_eq!(tf32, to_tf32(a) * to_tf32(b));
    assert_ne!(exact, tf32);
    // Lines of 5 elements do not suit tensor cores, and nothing is rounded.
    assert_eq!(run_lines(1.0, 0.0, [a, b, 0.0], Inputs::Tf32, 5), exact);
    // 1 + 2⁻¹⁰ squared has more bits than TF32: products and sums stay in single precision.
    let ulp = 1.0 + 2f32.powi(-10);
    assert_eq!(run_one(1.0, 0.0, ulp, ulp, 0.0, Inputs::Tf32), ulp * ulp);
}

#[test]
fn columns_are_finished_in_order_before_they_are_stored() {
    let (a, b) = ([1f32, 2.0, 3.0], [10f32, 20.0]);
    let mut d = [half::f16::ZERO; 8];
    let view = |address: u64, column: isize| View { address, ty: DataType::F32, row: 1, column };
    let target = View { address: d.as_mut_ptr() as u64, ty: DataType::F16, row: 1, column: 4 };
    let product = Product {
        m: 3,
        n: 2,
        k: 1,
        a: view(a.as_ptr() as u64, 3),
        b: view(b.as_ptr() as u64, 1),
        c: target,
        d: target,
        alpha: Scalar::Value(1.0),
        beta: Scalar::Value(0.0),
        compute: Compute::F32(Inputs::Full),
        capability: 90,
        split: Split::NONE,
    };
    let mut seen = Vec::new();
    let mut finish = |column: usize, values: emulated_blas::Column<'_>| {
        let emulated_blas::Column::F32(values) = values else { panic!("computed in f32") };
        seen.push((column, values.to_vec()));
        values[1] += 0.5;
    };
    // SAFETY: `a` has 3 elements, `b` 2, `d` two columns of 4.
    unsafe { product.run(Some(&mut finish)) }.unwrap();
    assert_eq!(seen, [(0, vec![10.0, 20.0, 30.0]), (1, vec![20.0, 40.0, 60.0])]);
    let stored = d.map(half::f16::to_f32);
    assert_eq!(stored, [10.0, 20.5, 30.0, 0.0, 20.0, 40.5, 60.0, 0.0]);
}

/// Operands whose lines are multiples of 16 bytes go through tensor cores, which cut off: every element is
/// what the model says of its factors, in order.
#[test]
fn sums_are_those_of_the_cards_tensor_cores() {
    use tensor_core::{Format, Rules, Sum, dot};
    let (m, n, k) = (24, 40, 200);
    for (ab, compute, format) in [
        (DataType::F32, Compute::F32(Inputs::Tf32), Format::Tf32),
        (DataType::F32, Compute::F32(Inputs::F16), Format::F16),
        (DataType::F32, Compute::F32(Inputs::Bf16), Format::Bf16),
        (DataType::F16, Compute::F32(Inputs::Full), Format::F16),
        (DataType::Bf16, Compute::F32(Inputs::Full), Format::Bf16),
    ] {
        for capability in [80, 90] {
            let a = Buffer::new(ab, m, k, 0, Order::Column);
            let b = Buffer::new(ab, k, n, 0, Order::Column);
            let d = Buffer::new(DataType::F32, m, n, 0, Order::Column);
            let product = Product {
                m,
                n,
                k,
                a: a.view(Operation::None),
                b: b.view(Operation::None),
                c: d.view(Operation::None),
                d: d.view(Operation::None),
                alpha: Scalar::Value(1.0),
                beta: Scalar::Value(0.0),
                compute,
                capability,
                split: Split::NONE,
            };
            // SAFETY: the buffers live, are large enough, and do not overlap.
            unsafe { product.run(None) }.unwrap();
            let Compute::F32(inputs) = compute else { unreachable!("all are in single precision") };
            let input = |x: f64| (x as f32).rounded(inputs);
            let rules = Rules::of(capability, format);
            for (row, column) in (0..m).flat_map(|row| (0..n).map(move |column| (row, column))) {
                let mut factors: Vec<(f32, f32)> =
                    (0..k).map(|p| (input(a.get(row, p)), input(b.get(p, column)))).collect();
                factors.resize(k.next_multiple_of(16), (0.0, 0.0));
                let model = dot(&rules, (format, format), Sum::Single, &factors, 0.0);
                let got = d.get(row, column);
                assert!(got == f64::from(model), "{compute:?} on {capability}: {got}, not {model}");
            }
        }
    }
}
