//! Long sums compared with the reference model, one sum at a time.

use proptest::prelude::*;
use tensor_core::{Format, Line, Rules, Strip, Sum, WIDTH, dot};

const FORMATS: [Format; 3] = [Format::Tf32, Format::F16, Format::Bf16];
const CAPABILITIES: [u32; 6] = [70, 75, 80, 89, 90, 100];

/// Truncates an `f32` to a number that is representable in the format.
fn truncate(format: Format, value: f32) -> f32 {
    let kept = f32::from_bits(
        value.to_bits() >> (23 - format.fraction_bits()) << (23 - format.fraction_bits()),
    );
    if format != Format::F16 || !kept.is_finite() {
        return kept;
    }
    let unit = (-24_f32).exp2();
    let subnormal = (value / unit).trunc() * unit;
    if kept.abs() < (-14_f32).exp2() { subnormal } else { kept.clamp(-65_504.0, 65_504.0) }
}

fn check(format: Format, capability: u32, a: &[f32], b: &[[f32; WIDTH]]) {
    let rules = Rules::new(capability, format);
    let length = a.len();
    let mut line = vec![7.0; Line::elements(length)];
    let line = Line::new(format, length, &mut line, |k| truncate(format, a[k])).unwrap();
    let mut strip = vec![[7.0; WIDTH]; Strip::rows(length)];
    let strip =
        Strip::new(format, (length, WIDTH), &mut strip, |k, n| truncate(format, b[k][n])).unwrap();
    // Only factors in half precision have sums in half precision.
    let kinds = if format == Format::F16 { &[Sum::Single, Sum::Half][..] } else { &[Sum::Single] };
    for (&sum, n) in kinds.iter().flat_map(|sum| (0..WIDTH).map(move |n| (sum, n))) {
        let sums = strip.sum(&rules, sum, &line);
        let mut factors: Vec<(f32, f32)> =
            (0..length).map(|k| (truncate(format, a[k]), truncate(format, b[k][n]))).collect();
        // Pads the sum to a multiple of the instruction's length, which also turns a sum of −0 into
        // +0.
        factors.resize(length.next_multiple_of(16), (0.0, 0.0));
        let expected = dot(&rules, (format, format), sum, &factors, 0.0);
        assert_eq!(
            sums[n].to_bits(),
            expected.to_bits(),
            "column {n}: {:e}, not {expected:e}; {format:?} on {capability}",
            sums[n]
        );
    }
}

/// Numbers with similar exponents, zeros, and numbers with widely different exponents.
fn number() -> impl Strategy<Value = f32> {
    prop_oneof![
        8 => -4.0_f32..4.0,
        2 => Just(0.0),
        2 => (-1.0_f32..1.0, -20..20_i32).prop_map(|(x, e)| x * (e as f32).exp2()),
        1 => (1.0_f32..2.0, -70..40_i32).prop_map(|(x, e)| x * (e as f32).exp2()),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]
    #[test]
    fn sums_equal_the_reference_model(
        factors in prop::collection::vec((number(), prop::array::uniform16(number())), 0..70),
        format in prop::sample::select(FORMATS.to_vec()),
        capability in prop::sample::select(CAPABILITIES.to_vec()),
    ) {
        let (a, b): (Vec<f32>, Vec<_>) = factors.into_iter().unzip();
        check(format, capability, &a, &b);
    }

    #[test]
    fn arbitrary_bit_patterns_equal_the_reference_model(
        factors in prop::collection::vec((any::<f32>(), prop::array::uniform16(any::<f32>())), 1..40),
        format in prop::sample::select(FORMATS.to_vec()),
        capability in prop::sample::select(CAPABILITIES.to_vec()),
    ) {
        let (a, b): (Vec<f32>, Vec<_>) = factors.into_iter().unzip();
        check(format, capability, &a, &b);
    }
}

#[test]
fn nonfinite_column_does_not_affect_the_others() {
    let mut b = vec![[0.75; WIDTH]; 20];
    b[3][5] = f32::INFINITY;
    b[4][9] = f32::NAN;
    for capability in CAPABILITIES {
        check(Format::Tf32, capability, &[1.25; 20], &b);
    }
}

/// Truncation makes long sums too small: with 784 terms of one sign, nearly every addition loses a
/// little.
#[test]
fn sums_of_one_sign_drift_down() {
    let value =
        |index: usize| truncate(Format::Tf32, ((index * 7919 + 13) % 2003) as f32 / 2003.0 + 0.001);
    for (capability, least, most) in [(80, 40.0, 784.0), (90, 20.0, 784.0)] {
        let rules = Rules::new(capability, Format::Tf32);
        let factors: Vec<(f32, f32)> = (0..784).map(|k| (value(k), value(3 * k + 1))).collect();
        let exact: f64 = factors.iter().map(|&(a, b)| f64::from(a) * f64::from(b)).sum();
        let sum = dot(&rules, (Format::Tf32, Format::Tf32), Sum::Single, &factors, 0.0);
        let units = (f64::from(sum) - exact) / exact * 24_f64.exp2();
        assert!(-most < units && units < -least, "{capability}: {units}");
        let nearest = factors.iter().fold(0.0_f32, |sum, &(a, b)| a.mul_add(b, sum));
        let units = (f64::from(nearest) - exact) / exact * 24_f64.exp2();
        assert!(units.abs() < 20.0, "to nearest: {units}");
    }
}

#[test]
fn memory_of_another_length_is_refused() {
    assert!(Line::new(Format::Tf32, 3, &mut [0.0; 3], |_| 1.0).is_none());
    assert!(Strip::new(Format::Tf32, (3, 1), &mut [[0.0; WIDTH]; 3], |_, _| 1.0).is_none());
}
