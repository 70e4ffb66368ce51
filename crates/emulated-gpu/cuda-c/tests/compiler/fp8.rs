//! Tests `cuda_fp8.h`: the 8-bit floats are rounded correctly and have the same bits as NVRTC's.

use crate::BITS;
use crate::kernel::{as_words, compile_with, run_with, words};
use crate::reference::both;

/// The name of each format, its number of fraction bits, its exponent bias and its greatest number.
const KINDS: [(&str, u32, i32, u32); 2] = [("e4m3", 3, 7, 0x7e), ("e5m2", 2, 15, 0x7b)];

/// Evaluates each expression, which may use the bits `u` and `v`, in 1024 threads.
fn results(kind: &str, inputs: &[u32; 2048], expressions: &[&str]) -> Vec<Vec<u32>> {
    let mut body = String::new();
    for (index, expression) in expressions.iter().enumerate() {
        body.push_str(&format!("    out[{index} * 1024 + t] = bits({expression});\n"));
    }
    let source = format!(
        "#include <cuda_fp16.h>
         #include <cuda_bf16.h>
         #include <cuda_fp8.h>
         typedef __nv_fp8_{kind} one;
         typedef __nv_fp8x2_{kind} two;
         typedef __nv_fp8x4_{kind} four;
         {BITS}
         __device__ unsigned bits(float2 x) {{ return bits(x.x) * 31u + bits(x.y); }}
         __device__ unsigned bits(float4 x) {{ return bits(make_float2(x.x, x.y)) * 7u + bits(make_float2(x.z, x.w)); }}
         __device__ one of(unsigned char x) {{ one r; r.__x = x; return r; }}
         __device__ two of2(unsigned short x) {{ two r; r.__x = x; return r; }}
         __device__ four of4(unsigned x) {{ four r; r.__x = x; return r; }}
         extern \"C\" __global__ void k(unsigned *out, const unsigned *in) {{
             unsigned t = blockIdx.x * blockDim.x + threadIdx.x, u = in[t], v = in[t + 1024];
             float x = __uint_as_float(u), y = __uint_as_float(v);
             double d = __hiloint2double((int)u, (int)v);
             __half h = __ushort_as_half((unsigned short)u), i = __ushort_as_half((unsigned short)v);
             one a = of((unsigned char)t);
         {body}}}"
    );
    let arguments = [words(&vec![0; 1024 * expressions.len()]), words(inputs)];
    let memory = both(&source, "k", ([8, 1, 1], [128, 1, 1], 0), &arguments);
    as_words(&memory[0]).chunks(1024).map(<[u32]>::to_vec).collect()
}

/// Inputs near representable numbers, halfway between two of them, and far outside the range; and
/// NaNs.
fn inputs(fraction: u32, bias: i32) -> [u32; 2048] {
    let mut state = 7u32;
    std::array::from_fn(|at| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let sign = state & 0x8000_0000;
        let near = ((127 - bias - 4) as u32 + state % 24) << 23 | (state >> 8) << (22 - fraction);
        match (at % 8, state >> 29) {
            (0, special) => {
                [0, 0x8000_0000, 0x7f80_0000, 0xff80_0000, 0x7fc0_0000, 0xffc0_0001, 1, 0x7f7f_ffff]
                    [special as usize]
            }
            (1, _) => state.rotate_left(13),
            (2, _) => sign | ((near & 0x7fff_ffff) + 1),
            (3, _) => sign | ((near & 0x7fff_ffff) - 1),
            _ => sign | near & 0x7fff_ffff,
        }
    })
}

/// The number that a byte represents.
fn byte_value(byte: u32, fraction: u32, bias: i32) -> f64 {
    let (exponent, rest) = ((byte & 0x7f) >> fraction, byte & ((1 << fraction) - 1));
    let unit = 2f64.powi(1 - bias - fraction as i32);
    let size = match exponent {
        0 => f64::from(rest) * unit,
        _ => f64::from(rest | 1 << fraction) * unit * 2f64.powi(exponent as i32 - 1),
    };
    if byte & 0x80 == 0 { size } else { -size }
}

#[test]
fn conversions_round_to_the_nearest_number() {
    for (kind, fraction, bias, most) in KINDS {
        let inputs = inputs(fraction, bias);
        let found = &results(kind, &inputs, &["one(x).__x"])[0];
        for (input, found) in inputs.iter().zip(found) {
            let x = f64::from(f32::from_bits(*input));
            if x.is_nan() {
                assert_eq!(*found, 0x7f, "{kind}: {input:#x}");
                continue;
            }
            let away = |byte: u32| (byte_value(byte, fraction, bias) - x.abs()).abs();
            // A tie rounds to even.
            let order = |byte: &u32| (away(*byte), byte & 1);
            let nearest = (0..=most).min_by(|a, b| order(a).partial_cmp(&order(b)).unwrap());
            let beyond = x.abs() > byte_value(most, fraction, bias);
            let nearest = if beyond { Some(most) } else { nearest };
            assert_eq!(Some(found & 0x7f), nearest, "{kind}: {x}");
            assert_eq!(found & 0x80 != 0, x.is_sign_negative(), "{kind}: {x}");
        }
    }
}

#[test]
fn conversions_from_bytes_are_exact() {
    for (kind, fraction, bias, most) in KINDS {
        let found = &results(kind, &[0; 2048], &["(float)a"])[0];
        for byte in (0..256u32).filter(|byte| byte & 0x7f <= most) {
            let expected = byte_value(byte, fraction, bias) as f32;
            assert_eq!(found[byte as usize], expected.to_bits(), "{kind}: {byte:#x}");
        }
    }
}

#[test]
fn conversions_from_and_to_other_types() {
    let from = [
        "one(d).__x",
        "one(h).__x",
        "one(__ushort_as_bfloat16((unsigned short)(u >> 16))).__x",
        "one((int)u >> (v & 31u)).__x",
        "one(u >> (v & 31u)).__x",
        "one((short)u).__x",
        "one((unsigned short)u).__x",
        "one((long long)u * (int)v).__x",
        "one((unsigned long long)u * v).__x",
        "((one)(float)(one)x).__x",
        "__nv_cvt_float_to_fp8(x, __NV_NOSAT, __NV_E4M3)",
        "__nv_cvt_float_to_fp8(x, __NV_NOSAT, __NV_E5M2)",
        "__nv_cvt_double_to_fp8(d, __NV_NOSAT, __NV_E5M2)",
        "two(make_float2(x, y)).__x",
        "two(make_double2(d, 1.0)).__x",
        "two(__halves2half2(h, i)).__x",
        "four(make_float4(x, y, y, x)).__x",
        "four(__halves2half2(h, i), __halves2half2(i, h)).__x",
    ];
    let to = [
        "__half2float((__half)a)",
        "__bfloat162float((__nv_bfloat16)a)",
        "(float)(double)a",
        "(int)(bool)a",
        "(int)(signed char)a",
        "(int)(unsigned char)a",
        "(int)(char)a",
        "(int)(short)a",
        "(int)(unsigned short)a",
        "(int)a",
        "(unsigned)a",
        "(float2)of2((unsigned short)u)",
        "__half22float2((__half2)of2((unsigned short)u))",
        "(float4)of4(u)",
    ];
    for (kind, fraction, bias, _) in KINDS {
        for some in [&from[..], &to[..]] {
            let found = results(kind, &inputs(fraction, bias), some);
            assert!(found.iter().all(|one| one.iter().any(|word| *word != one[0])), "{kind}");
        }
    }
}

/// The PTX has the version that introduced its instructions.
#[test]
fn matrix_products_need_an_architecture_that_has_them() {
    let source = "
        #include <cuda_fp8.h>
        extern \"C\" __global__ void k(float *out) {
            __nv_fp8x4_e4m3 a(make_float4(1.5f, 1.5f, 1.5f, 1.5f)), b(make_float4(0.0f, 1.0f, 2.0f, 3.0f));
            float d[4] = {0.0f, 0.0f, 0.0f, 0.0f};
            asm(\"mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32 {%0, %1, %2, %3}, {%4, %4, %4, %4}, {%5, %5}, {%0, %1, %2, %3};\"
                : \"+f\"(d[0]), \"+f\"(d[1]), \"+f\"(d[2]), \"+f\"(d[3]) : \"r\"(a.__x), \"r\"(b.__x));
            out[threadIdx.x] = d[0] + d[1] + d[2] + d[3];
        }";
    let own = compile_with(source, &cuda_c::CompileOptions { arch: 89, ..Default::default() });
    let (memory, _) = run_with(&own, "k", ([1, 1, 1], [32, 1, 1], 0), &[words(&[0; 32])]);
    // Each of the four sums has 32 products: 1.5 times 0, 1, 2 and 3, eight times each.
    assert_eq!(as_words(&memory[0]), [(4.0f32 * 8.0 * 1.5 * 6.0).to_bits(); 32]);
}
