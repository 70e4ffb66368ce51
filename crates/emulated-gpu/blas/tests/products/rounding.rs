//! Single products for which every rounding is known.

use emulated_blas::{
    Compute, DataType, InputRounding, MatrixOperation, Order, Product, Real, Scalar, View, store,
};

use crate::buffer::{Buffer, value};

/// The terms are 2048, and a 1 in each of the three groups that follow. Half precision has no number between 2048 and
/// 2050, and ties go to even, so every 1 is lost if the sum is kept in half precision. The exact sum, 2051, is a tie
/// too, and is rounded to 2052.
#[test]
fn half_precision_sums_on_tensor_cores_are_rounded_after_each_group() {
    for (compute, capability, pad, expected) in [
        (Compute::F16, 70, 0, 2048.0),
        (Compute::F16, 80, 0, 2048.0),
        (Compute::F16, 90, 0, 2048.0),
        (Compute::F32(InputRounding::Full), 90, 0, 2052.0),
        // Without tensor cores: the card has none, or the row stride doesn't suit them.
        (Compute::F16, 61, 0, 2052.0),
        (Compute::F16, 90, 1, 2052.0),
    ] {
        let k = 64;
        let [a, b] = [0, 1].map(|which| {
            let buffer = Buffer::new(DataType::F16, (k, 8), pad, Order::Column, value);
            for depth in 0..k {
                let value = match (which, depth) {
                    (0, 0) => 2048.0,
                    (0, depth) if !depth.is_multiple_of(16) => 0.0,
                    _ => 1.0,
                };
                // SAFETY: the first of the 8 columns has these elements.
                unsafe { store(buffer.matrix.address, DataType::F16, depth as isize, value) };
            }
            buffer
        });
        let d = Buffer::new(DataType::F16, (1, 1), 0, Order::Column, value);
        let views = [
            a.view(MatrixOperation::Transpose),
            b.view(MatrixOperation::None),
            d.view(MatrixOperation::None),
        ];
        let product = Product::new([1, 1, k], views, compute, capability);
        // SAFETY: the buffers are alive, large enough, and do not overlap.
        unsafe { product.run(None) }.unwrap();
        assert_eq!(d.get::<f64>(0, 0), expected, "{compute:?} on {capability}, {pad} apart");
    }
}

/// Five elements, aligned to 16 bytes.
#[repr(align(16))]
struct Aligned([f32; 5]);

/// Computes `alpha · a · b + beta · c` for 1 × 1 matrices with the leading dimension `ld`; `values` are `a`, `b` and
/// `c`.
fn run_lines(alpha: f64, beta: f64, values: [f32; 3], inputs: InputRounding, ld: isize) -> f32 {
    let [a, b, mut c] = values.map(|x| Aligned([x; 5]));
    let view = |address: u64| View::new(address, DataType::F32, (1, ld));
    let views = [a.0.as_ptr(), b.0.as_ptr(), c.0.as_mut_ptr()].map(|first| view(first as u64));
    let product = Product {
        alpha: Scalar::Value(alpha),
        beta: Scalar::Value(beta),
        ..Product::new([1; 3], views, Compute::F32(inputs), 90)
    };
    // SAFETY: each matrix has one element.
    unsafe { product.run(None) }.unwrap();
    c.0[0]
}

fn one_element(alpha: f64, beta: f64, a: f32, b: f32, c: f32, inputs: InputRounding) -> f32 {
    run_lines(alpha, beta, [a, b, c], inputs, 4)
}

#[test]
fn operands_scaled_by_zero_are_not_read() {
    assert_eq!(one_element(1.0, 0.0, 2.0, 3.0, f32::NAN, InputRounding::Full), 6.0);
    assert_eq!(one_element(0.0, 2.0, f32::NAN, 3.0, 4.0, InputRounding::Full), 8.0);
    assert_eq!(one_element(0.0, 0.0, f32::NAN, 3.0, f32::NAN, InputRounding::Full), 0.0);
    assert!(one_element(1.0, 0.0, f32::NAN, 3.0, 4.0, InputRounding::Full).is_nan());
    assert!(one_element(1.0, 0.5, 2.0, 3.0, f32::NAN, InputRounding::Full).is_nan());
}

#[test]
fn tf32_rounds_both_inputs_and_not_the_product() {
    let (a, b) = (1.0 + 3.0 * 2f32.powi(-12), 1.0 - 2f32.powi(-13));
    let exact = one_element(1.0, 0.0, a, b, 0.0, InputRounding::Full);
    let tf32 = one_element(1.0, 0.0, a, b, 0.0, InputRounding::Tf32);
    assert_eq!(exact, a * b);
    // Rounded to 10 fraction bits, the inputs are 1 + 2⁻¹⁰ and 1.
    assert_eq!(tf32, 1.0 + 2f32.powi(-10));
    assert_ne!(exact, tf32);
    // Lines of 5 elements don't suit tensor cores, so nothing is rounded.
    assert_eq!(run_lines(1.0, 0.0, [a, b, 0.0], InputRounding::Tf32, 5), exact);
    // The square of 1 + 2⁻¹⁰ has more bits than TF32. It is exact, because products and sums are kept in single
    // precision.
    let ulp = 1.0 + 2f32.powi(-10);
    assert_eq!(one_element(1.0, 0.0, ulp, ulp, 0.0, InputRounding::Tf32), ulp * ulp);
}

#[test]
fn epilogues_receive_columns_in_order_before_they_are_stored() {
    let (a, b) = ([1f32, 2.0, 3.0], [10f32, 20.0]);
    let mut d = [half::f16::ZERO; 8];
    let view = |address: u64, column: isize| View::new(address, DataType::F32, (1, column));
    let target = View::new(d.as_mut_ptr() as u64, DataType::F16, (1, 4));
    let views = [view(a.as_ptr() as u64, 3), view(b.as_ptr() as u64, 1), target];
    let product = Product::new([3, 2, 1], views, Compute::F32(InputRounding::Full), 90);
    let mut seen = Vec::new();
    let mut finish = |column: usize, values: emulated_blas::Column<'_>| {
        let emulated_blas::Column::F32(values) = values else { panic!("computed in f32") };
        seen.push((column, values.to_vec()));
        values[1] += 0.5;
    };
    // SAFETY: `a` has 3 elements, `b` has 2, and `d` has two columns of 4.
    unsafe { product.run(Some(&mut finish)) }.unwrap();
    assert_eq!(seen, [(0, vec![10.0, 20.0, 30.0]), (1, vec![20.0, 40.0, 60.0])]);
    let stored = d.map(half::f16::to_f32);
    assert_eq!(stored, [10.0, 20.5, 30.0, 0.0, 20.0, 40.5, 60.0, 0.0]);
}

/// If lines are multiples of 16 bytes, the product runs on tensor cores, which truncate: every
/// element must equal the model's dot product, in order.
#[test]
fn sums_match_the_tensor_core_model_of_the_card() {
    use tensor_core::{Format, Rules, Sum, dot};
    let (m, n, k) = (24, 40, 200);
    for (ab, compute, format) in [
        (DataType::F32, Compute::F32(InputRounding::Tf32), Format::Tf32),
        (DataType::F32, Compute::F32(InputRounding::F16), Format::F16),
        (DataType::F32, Compute::F32(InputRounding::Bf16), Format::Bf16),
        (DataType::F16, Compute::F32(InputRounding::Full), Format::F16),
        (DataType::Bf16, Compute::F32(InputRounding::Full), Format::Bf16),
    ] {
        for capability in [80, 90] {
            let a = Buffer::new(ab, (m, k), 0, Order::Column, value);
            let b = Buffer::new(ab, (k, n), 0, Order::Column, value);
            let d = Buffer::new(DataType::F32, (m, n), 0, Order::Column, value);
            let views = [&a, &b, &d].map(|buffer| buffer.view(MatrixOperation::None));
            let product = Product::new([m, n, k], views, compute, capability);
            // SAFETY: the buffers are alive, large enough, and do not overlap.
            unsafe { product.run(None) }.unwrap();
            let Compute::F32(inputs) = compute else { unreachable!("all are in single precision") };
            let input = |x: f64| (x as f32).rounded(inputs);
            let rules = Rules::new(capability, format);
            for (row, column) in (0..m).flat_map(|row| (0..n).map(move |column| (row, column))) {
                let mut factors: Vec<(f32, f32)> =
                    (0..k).map(|p| (input(a.get(row, p)), input(b.get(p, column)))).collect();
                factors.resize(k.next_multiple_of(16), (0.0, 0.0));
                let model = dot(&rules, (format, format), Sum::Single, &factors, 0.0);
                let got: f64 = d.get(row, column);
                assert!(got == f64::from(model), "{compute:?} on {capability}: {got}, not {model}");
            }
        }
    }
}
