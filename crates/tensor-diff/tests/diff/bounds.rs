//! Tests of the bounds of one operation: how wide they are for each arithmetic, and that the sums of tensor cores are
//! within them.

use proptest::prelude::*;
use tensor::{Dtype, Dump, DumpedTensor, Loss, TensorName};
use tensor_core::Format;
use tensor_diff::{Row, Verdict, compare, judge};

use crate::support::{Start, header};
use TensorName::{A, B, Db, Dw, Dz, Loss as LossValue, P, W, X, Y, Z};

/// The unit roundoff of single precision.
fn unit() -> f64 {
    (-24_f64).exp2()
}

/// A network with one output, whose `z1` is `sum`, of these products.
fn dump(dtype: Dtype, factors: &[(f32, f32)], sum: f32) -> Dump {
    let mut dump = Dump::new(header(dtype, Loss::SquaredError, 0.1));
    let (x, w): (Vec<f64>, Vec<f64>) =
        factors.iter().map(|&(a, b)| (f64::from(a), f64::from(b))).unzip();
    let n = factors.len();
    let tensors = [
        (X, vec![1, n], x),
        (Y, vec![1, 1], vec![0.0]),
        (W(1), vec![1, n], w),
        (B(1), vec![1], vec![0.0]),
        (Z(1), vec![1, 1], vec![f64::from(sum)]),
    ];
    dump.tensors = tensors.map(|(name, shape, data)| DumpedTensor { name, shape, data }).into();
    dump
}

/// The judgement of a sum of products by itself.
fn judged(dtype: Dtype, factors: &[(f32, f32)], sum: f32) -> Row {
    judge(&dump(dtype, factors, sum), 1.0).rows.get(Z(1)).unwrap().clone()
}

fn allowed(row: &Row) -> f64 {
    row.deviation.as_ref().unwrap().allowed
}

/// The bound of a sum of products as a multiple of `2⁻²⁴ Σ|aᵢ||bᵢ|`, without the part for factors that are rounded
/// to a shorter format: the ones here are exact in it.
fn units_allowed(dtype: Dtype, factors: &[(f32, f32)]) -> f64 {
    let input = match dtype {
        Dtype::Tf32 => (-11_f64).exp2(),
        Dtype::Bf16 => (-8_f64).exp2(),
        Dtype::F32 | Dtype::F64 => 0.0,
    };
    let relative = allowed(&judged(dtype, factors, 0.0)) / size(factors);
    // (1 + t)²·(1 + γ) − 1
    let both = 2.0 * input + input * input;
    (relative - both) / (1.0 + both) / unit()
}

fn products(factors: &[(f32, f32)]) -> impl Iterator<Item = f64> {
    factors.iter().map(|&(a, b)| f64::from(a) * f64::from(b))
}

fn size(factors: &[(f32, f32)]) -> f64 {
    products(factors).map(f64::abs).sum()
}

#[test]
fn the_bound_is_a_little_more_than_n_roundings() {
    // 999 products and the addition of the bias.
    let ones = vec![(1.0, 1.0); 999];
    let units = units_allowed(Dtype::F32, &ones);
    assert!(units > 1000.0 && units < 1000.1, "{units}");
    let one = dump(Dtype::F32, &ones, 999.0);
    let compared = compare(&one, &one, 1.0);
    let both = allowed(compared.rows.get(Z(1)).unwrap());
    assert!((both / size(&ones) / unit() / units - 2.0).abs() < 1e-6);
    // Numbers of one decimal digit have no bound.
    let mut coarse = one;
    coarse.header.digits = Some(1);
    assert_eq!(judge(&coarse, 1.0).rows.get(Z(1)).unwrap().verdict, Verdict::NoBound);
}

#[test]
fn short_factors_widen_the_bounds_of_products_and_of_nothing_else() {
    let ones = vec![(1.0, 1.0); 29];
    let relative = allowed(&judged(Dtype::Tf32, &ones, 0.0)) / size(&ones);
    assert!(relative > 2.0 * (-11_f64).exp2() && relative < 2.1 * (-11_f64).exp2());
    let mut dump = Start::new(&[20, 10], 6, Loss::CrossEntropy, 4).candidate();
    let mut bounds = |dtype| {
        dump.header.dtype = dtype;
        let rows = judge(&dump, 1.0).rows;
        [Z(1), P, LossValue, Dz(1), Db(1)].map(|name| allowed(rows.get(name).unwrap()))
    };
    let [single, tf32, bf16] = [Dtype::F32, Dtype::Tf32, Dtype::Bf16].map(&mut bounds);
    assert!(tf32[0] > 100.0 * single[0] && bf16[0] > 7.9 * tf32[0]);
    assert_eq!((&tf32[1..], &bf16[1..]), (&single[1..], &single[1..]));
}

/// 1 + 2⁻⁸ is halfway between two bfloat16 numbers, and the even one is 1: its square would exceed a bound that is
/// narrower by 2 %.
#[test]
fn bfloat16_rounds_both_inputs_of_a_product_by_a_half_of_its_last_digit() {
    let factor = 1.0 + (-8_f64).exp2();
    let mut dump = dump(Dtype::Bf16, &[(1.0, 1.0)], 1.0);
    dump.tensors[0].data[0] = factor;
    for (name, value) in [(Dz(1), factor), (Dw(1), 1.0)] {
        dump.tensors.push(DumpedTensor { name, shape: vec![1, 1], data: vec![value] });
    }
    let row = judge(&dump, 1.0).rows.get(Dw(1)).unwrap().clone();
    let ratio = row.deviation.unwrap().ratio;
    assert!(ratio > 0.98 && ratio <= 1.0, "{ratio}");
}

/// The sum of products on tensor cores, added to `c`.
fn dot(capability: u32, format: Format, factors: &[(f32, f32)], c: f32) -> f32 {
    let rules = tensor_core::Rules::new(capability, format);
    tensor_core::dot(&rules, (format, format), tensor_core::Sum::Single, factors, c)
}

/// The sum for single-precision factors, split into three TF32 numbers each: six products, of which the
/// largest is summed in groups of eight, whose sums are added by ordinary additions.
fn three(capability: u32, factors: &[(f32, f32)]) -> f32 {
    let split = |x: f32| {
        let tf32 = |x: f32| f32::from_bits((x.to_bits() + 0x1000) & 0xffff_e000);
        let (high, middle) = (tf32(x), tf32(x - tf32(x)));
        [high, middle, x - high - middle]
    };
    let (mut large, mut small) = (0.0_f32, 0.0_f32);
    for eight in factors.chunks(8) {
        let of = |i: usize, j: usize| -> Vec<(f32, f32)> {
            eight.iter().map(|&(a, b)| (split(a)[i], split(b)[j])).collect()
        };
        for (i, j) in [(2, 0), (0, 2), (1, 1), (1, 0), (0, 1)] {
            small = dot(capability, Format::Tf32, &of(i, j), small);
        }
        large += dot(capability, Format::Tf32, &of(0, 0), 0.0);
    }
    large + small
}

/// The sum of a dump with this arithmetic on tensor cores.
fn sum_on_tensor_cores(capability: u32, dtype: Dtype, factors: &[(f32, f32)]) -> f32 {
    match dtype {
        Dtype::Tf32 => dot(capability, Format::Tf32, factors, 0.0),
        Dtype::Bf16 => dot(capability, Format::Bf16, factors, 0.0),
        Dtype::F32 | Dtype::F64 => three(capability, factors),
    }
}

/// The error of a sum of these products, as a multiple of `2⁻²⁴ Σ|aᵢ||bᵢ|`.
fn units_off(sum: f32, factors: &[(f32, f32)]) -> f64 {
    (f64::from(sum) - products(factors).sum::<f64>()).abs() / size(factors) / unit()
}

const TENSOR_CORES: [u32; 4] = [80, 86, 89, 90];

/// Factors whose sum of products loses as much as possible: 1, and then groups of four products, three of nearly
/// one unit in the last place of the sum and one of nearly two. An A100 loses four units with their digits, and one
/// more when it cuts the sum off. With bfloat16, a group has eight products.
fn often_cut(dtype: Dtype) -> Vec<(f32, f32)> {
    let (group, digits) = if dtype == Dtype::Bf16 { (8, -7_f32) } else { (4, -10_f32) };
    let (unit, below) = ((-12_f32).exp2(), 2.0 - digits.exp2());
    let product = |k: usize| match k {
        0 => (1.0, 1.0),
        _ if k.is_multiple_of(group) => (unit, unit * below),
        _ => (unit, unit * below / 2.0),
    };
    (0..784).map(product).collect()
}

#[test]
fn truncated_sums_need_a_wider_bound_than_rounding_to_nearest() {
    for (dtype, more) in [(Dtype::Tf32, 1.2), (Dtype::Bf16, 1.1)] {
        let factors = often_cut(dtype);
        let (to_nearest, cut_off) =
            (units_allowed(Dtype::F32, &factors), units_allowed(dtype, &factors));
        let sum = sum_on_tensor_cores(80, dtype, &factors);
        let off = units_off(sum, &factors);
        assert!(off > more * to_nearest, "{off} is within {to_nearest}");
        assert_eq!(judged(Dtype::F32, &factors, sum).verdict, Verdict::Differs);
        // Rounding to nearest is within its own bound, of the same products.
        let nearest = factors.iter().fold(0.0_f32, |sum, &(a, b)| a.mul_add(b, sum));
        assert_eq!(judged(Dtype::F32, &factors, nearest).verdict, Verdict::Ok);
        for capability in TENSOR_CORES {
            let off = units_off(sum_on_tensor_cores(capability, dtype, &factors), &factors);
            assert!(off < cut_off, "{off} is beyond {cut_off}");
        }
    }
}

/// The sum that loses most above, computed as single precision.
#[test]
fn three_tf32_numbers_are_within_single_precision() {
    let factors = often_cut(Dtype::F32);
    for capability in TENSOR_CORES {
        let sum = three(capability, &factors);
        assert!(units_off(sum, &factors) <= 112.0, "on {capability}");
        assert_eq!(judged(Dtype::F32, &factors, sum).verdict, Verdict::Ok);
    }
    // One term, of which all parts are as large as they can be.
    let most = f32::from_bits(0x3f80_17ff);
    assert!(units_off(three(80, &[(most, most)]), &[(most, most)]) <= 1.02);
}

proptest! {
    /// The factors have very different sizes, and the format holds them exactly.
    #[test]
    fn sums_on_tensor_cores_are_within_the_bound(
        factors in prop::collection::vec((-2.0_f32..2.0, -2.0_f32..2.0, -12..12_i32), 1..200),
        capability in prop::sample::select(TENSOR_CORES.to_vec()),
        positive in any::<bool>(),
        (dtype, digits) in prop::sample::select(vec![
            (Dtype::F32, 0xffff_ffff),
            (Dtype::Tf32, 0xffff_e000),
            (Dtype::Bf16, 0xffff_0000),
        ]),
    ) {
        let short = |x: f32| {
            let x = f32::from_bits(x.to_bits() & digits);
            if positive { x.abs() } else { x }
        };
        let factors: Vec<(f32, f32)> =
            factors.into_iter().map(|(a, b, e)| (short(a), short(b * (e as f32).exp2()))).collect();
        prop_assume!(factors.iter().any(|&(a, b)| a * b != 0.0));
        let allowed = units_allowed(dtype, &factors);
        let off = units_off(sum_on_tensor_cores(capability, dtype, &factors), &factors);
        prop_assert!(off <= allowed, "{} of {}", off, allowed);
    }
}

/// A huge weight that a bias cancels: the bound of `z` is so wide that two dumps may differ by 1e5 in it.
const CANCELLED: f64 = 1e22;

/// The dump of one sample, whose class is the last, in `float64`.
fn forward(kind: Loss, z: &[f64]) -> Dump {
    let n = z.len();
    let y: Vec<f64> = (1..=n).map(|i| if i == n { 1.0 } else { 0.0 }).collect();
    let largest = z.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let sum: f64 = z.iter().map(|z| (z - largest).exp()).sum();
    let (p, terms): (Vec<f64>, Vec<f64>) = z
        .iter()
        .zip(&y)
        .map(|(&z, &y)| match kind {
            Loss::CrossEntropy => ((z - largest).exp() / sum, y * (sum.ln() + largest - z)),
            Loss::Bce => {
                let softplus = z.max(0.0) + (-z.abs()).exp().ln_1p();
                (1.0 / (1.0 + (-z).exp()), (softplus - z * y) / n as f64)
            }
            Loss::SquaredError => (z, 0.5 * (z - y).powi(2)),
        })
        .unzip();
    let mut dump = Dump::new(header(Dtype::F64, kind, 0.1));
    let tensors = [
        (X, vec![1, 1], vec![1.0]),
        (Y, vec![1, n], y),
        (W(1), vec![n, 1], vec![CANCELLED; n]),
        (B(1), vec![n], vec![-CANCELLED; n]),
        (Z(1), vec![1, n], z.to_vec()),
        (P, vec![1, n], p),
        (LossValue, vec![], vec![terms.iter().sum()]),
    ];
    dump.tensors = tensors.map(|(name, shape, data)| DumpedTensor { name, shape, data }).into();
    dump
}

/// The bounds of `p` and of the loss are reached, and not passed, at a corner of `z ± d`: neither too small nor loose.
#[test]
fn propagated_errors_are_those_of_the_worst_corner() {
    let z = [0.3, -2.0, 1.7, 0.0, -0.4];
    let d = [0.1, 0.02, 0.3, 0.0, 0.05];
    for kind in Loss::ALL {
        let reference = forward(kind, &z);
        // The ratios of the errors of `p` and of the loss to their bounds.
        let ratios = |sign: &dyn Fn(usize) -> f64| {
            let moved: Vec<f64> = (0..z.len()).map(|i| z[i] + sign(i) * d[i]).collect();
            let rows = compare(&reference, &forward(kind, &moved), 1.0).rows;
            [Z(1), P, LossValue].map(|name| {
                let row = rows.get(name).unwrap();
                assert_eq!(row.verdict, Verdict::Ok, "{kind} {name} {moved:?}");
                row.deviation.as_ref().unwrap().ratio
            })
        };
        let corners = (0..1 << z.len()).map(|corner| {
            let [_, _, loss] = ratios(&|i| if corner >> i & 1 == 1 { 1.0 } else { -1.0 });
            loss
        });
        // The bound of the loss adds up the worst case of each output, and these may be at different corners.
        let worst_loss = corners.fold(0.0, f64::max);
        assert!(worst_loss > 1.0 / 1.2, "{kind}: {worst_loss}");
        // An output is farthest if its own z goes one way; with softmax, if all others go the other way.
        let others = if kind == Loss::CrossEntropy { -1.0 } else { 0.0 };
        for i in (0..z.len()).filter(|&i| d[i] > 0.0) {
            let [up, down] = [1.0, -1.0].map(|sign| {
                let [_, p, _] = ratios(&|j| sign * if j == i { 1.0 } else { others });
                p
            });
            assert!(up.max(down) > 1.0 - 1e-6, "{kind}, output {i}: {up} {down}");
        }
    }
}

/// A bound near the unit roundoff of float64 is not lost to cancellation, and a huge one
/// doesn't become NaN.
#[test]
fn bounds_stay_sound_at_both_ends_of_the_scale() {
    let z = [0.0, 40.0, -40.0];
    for (d, largest) in [(1e-16, 1e-13), (50.0, 1.1), (1e5, 1.1)] {
        for kind in [Loss::CrossEntropy, Loss::Bce] {
            let moved = z.map(|z| z + d);
            let rows = compare(&forward(kind, &z), &forward(kind, &moved), 1.0).rows;
            let allowed = |name| allowed(rows.get(name).unwrap());
            assert!(allowed(P) > 0.0 && allowed(P) < largest, "{kind}: {}", allowed(P));
            let loss = allowed(LossValue);
            assert!(loss > 0.0 && loss < 2.001 * d + 1e-12, "{kind}: {loss}");
        }
    }
}

/// The errors of both factors carry over to their product: the farthest corner is 2.5·3.25 − 2·3.
#[test]
fn errors_of_the_factors_carry_over() {
    let dump = |a: f64, dz: f64| {
        let mut dump = Dump::new(header(Dtype::F64, Loss::SquaredError, 0.1));
        let tensors = [
            (X, 1.0),
            (Y, 0.0),
            (W(1), CANCELLED),
            (B(1), -CANCELLED),
            (W(2), CANCELLED),
            (B(2), 0.0),
            (Z(1), a),
            (A(1), a),
            (Z(2), dz),
            (P, dz),
            (LossValue, 0.5 * dz * dz),
            (Dz(2), dz),
            (Dw(2), dz * a),
        ];
        dump.tensors = tensors
            .map(|(name, value)| {
                let shape = match name {
                    LossValue => vec![],
                    B(_) => vec![1],
                    _ => vec![1, 1],
                };
                DumpedTensor { name, shape, data: vec![value] }
            })
            .into();
        dump
    };
    let rows = compare(&dump(3.0, -2.0), &dump(3.25, -2.5), 1.0).rows;
    let row = rows.get(Dw(2)).unwrap();
    assert_eq!(row.verdict, Verdict::Ok);
    assert!((allowed(row) - 2.125).abs() < 1e-12, "{row:?}");
}

/// One class, whose logit is 0: `exp(0)` errs by 5 unit roundoffs, as does its sum, which is rounded once, the division
/// by 5, and the logarithm by the guide's 2⁻²¹·⁴¹, or 6.02 of them.
#[test]
fn the_logarithm_is_that_of_the_guide() {
    let mut dump = forward(Loss::CrossEntropy, &[0.0]);
    dump.header.dtype = Dtype::F32;
    let rows = judge(&dump, 1.0).rows;
    let log = allowed(rows.get(LossValue).unwrap()) / unit() - 16.0;
    assert!(log >= (24.0 - 21.41_f64).exp2() && log < 6.1, "{log}");
}
