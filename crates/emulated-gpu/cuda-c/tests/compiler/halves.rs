//! Halves and bfloat16s have the same bits as NVRTC's, except for functions without an exact result.

use crate::BITS;
use crate::kernel::{as_words, words};
use crate::reference::both;

/// Compares each expression of `a`, `b`, `c` or the pairs `p`, `q`, `r` with NVRTC's in 256 threads.
fn compare(bfloat: bool, expressions: &[String]) {
    let (one, two, make, pair) = match bfloat {
        false => ("__half", "__half2", "__ushort_as_half", "__halves2half2"),
        true => ("__nv_bfloat16", "__nv_bfloat162", "__ushort_as_bfloat16", "__halves2bfloat162"),
    };
    let arch = if bfloat { "#include <cuda_bf16.h>" } else { "#include <cuda_fp16.h>" };
    for some in expressions.chunks(40) {
        let mut body = String::new();
        for (index, expression) in some.iter().enumerate() {
            body.push_str(&format!("    out[{index} * 256 + t] = bits({expression});\n"));
        }
        let source = format!(
            "{arch}\n#include <cuda_fp16.h>
             {BITS}
             __device__ unsigned bits({one} x) {{ return bits({}(x)); }}
             __device__ unsigned bits({two} x) {{ return bits(x.x) * 31u + bits(x.y); }}
             extern \"C\" __global__ void k(unsigned *out, const unsigned *in) {{
                 unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
                 unsigned u = in[t], v = in[t + 256], w = in[t + 512];
                 long long l = ((long long)u << 20) + v;
                 float x = __uint_as_float(u);
                 {one} a = {make}((unsigned short)u), b = {make}((unsigned short)v), c = {make}((unsigned short)w);
                 {two} p = {pair}(a, b), q = {pair}(b, a), r = {pair}(c, a);
             {body}}}",
            if bfloat { "__bfloat162float" } else { "__half2float" },
        );
        let mut state = 99u32;
        let mut next = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            match state >> 29 {
                // Special halves: zeros, ones, infinities, NaNs and the smallest numbers.
                0 => [0, 0x8000, 0x3c00, 0x7c00, 0xfc00, 0x7e00, 1, 0x3f80, 0x7f80, 0xff80]
                    [(state >> 8) as usize % 10],
                1 => (state >> 8) & 0x3ff | 0x3c00,
                _ => state.rotate_left(13),
            }
        };
        let inputs: Vec<u32> = (0..768).map(|_| next()).collect();
        let arguments = [words(&vec![0; 256 * some.len()]), words(&inputs)];
        let memory = both(&source, "k", ([4, 1, 1], [64, 1, 1], 0), &arguments);
        assert!(as_words(&memory[0]).iter().any(|word| *word != 0), "{some:?}");
    }
}

fn shared_functions() -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for name in ["add", "sub", "mul"] {
        for kind in ["", "_rn", "_sat"] {
            all.push(format!("__h{name}{kind}(a, b)"));
            all.push(format!("__h{name}2{kind}(p, q)"));
        }
    }
    for kind in ["", "_sat", "_relu"] {
        all.push(format!("__hfma{kind}(a, b, c)"));
        all.push(format!("__hfma2{kind}(p, q, r)"));
    }
    for kind in ["max", "min", "max_nan", "min_nan"] {
        all.push(format!("__h{kind}(a, b)"));
    }
    all.extend(
        ["__hmax2(p, q)", "__hmin2(p, q)", "__habs(a)", "__hneg(a)", "__habs2(p)", "__hneg2(p)"]
            .map(String::from),
    );
    for order in ["eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "leu", "gtu", "geu"] {
        all.push(format!("__h{order}(a, b)"));
        all.push(format!("__hb{order}2(p, q)"));
        all.push(format!("__h{order}2(p, q)"));
        all.push(format!("__h{order}2_mask(p, q)"));
    }
    for round in ["floor", "ceil", "trunc", "rint"] {
        all.push(format!("h{round}(a)"));
        all.push(format!("h2{round}(p)"));
    }
    all.extend(
        ["__hisnan(a)", "__hisinf(a)", "__hisnan2(p)", "__hcmadd(p, q, r)"].map(String::from),
    );
    all
}

/// The conversions between integers or float and `kind`, in each rounding mode.
fn conversions(kind: &str) -> Vec<String> {
    let mut all = Vec::new();
    for mode in ["rn", "rz", "ru", "rd"] {
        all.push(format!("__float2{kind}_{mode}(x)"));
        for (ty, value) in [
            ("int", "(int)u"),
            ("uint", "u"),
            ("short", "(short)u"),
            ("ushort", "(unsigned short)u"),
            ("ll", "l"),
            ("ull", "(unsigned long long)l"),
        ] {
            all.push(format!("__{ty}2{kind}_{mode}({value})"));
            all.push(format!("__{kind}2{ty}_{mode}(__hisnan(a) ? b : a)"));
        }
    }
    all
}

#[test]
fn functions_of_half() {
    let mut all = shared_functions();
    all.extend(conversions("half"));
    all.extend(
        [
            "__half_as_ushort(a)",
            "__half_as_short(a)",
            "__short_as_half((short)u)",
            "__double2half((double)x)",
            "a + b",
            "a * b",
            "a - b",
            "-a",
            "a < b",
            "a >= b",
            "a == b",
            "hsqrt(a)",
            "__half2char_rz(a)",
            "__half2uchar_rz(a)",
        ]
        .map(String::from),
    );
    compare(false, &all);
}

#[test]
fn functions_of_bfloat16() {
    let mut all = shared_functions();
    all.extend(conversions("bfloat16"));
    all.extend(
        [
            "__bfloat16_as_ushort(a)",
            "__double2bfloat16((double)x)",
            "__low2bfloat16(p)",
            "__highs2bfloat162(p, q)",
        ]
        .map(String::from),
    );
    compare(true, &all);
}

/// Operators on halves are compiled without calls of functions in the headers.
#[test]
fn operators_without_functions() {
    let pairs =
        ["p + q", "p - q", "p * q", "p / q", "p == q", "p != q", "p == p", "p += q", "p /= q"];
    for bfloat in [false, true] {
        compare(bfloat, &pairs.map(String::from));
        let sorts = ["a / b", "a * b", "a != b", "a <= b", "a > b", "a /= b", "a -= b"];
        compare(bfloat, &sorts.map(String::from));
        compare(bfloat, &["__hisnan(a) ? b : -a".into(), "__lowhigh2highlow(p)".into()]);
        compare(bfloat, &["__low2float(p)".into(), "__high2float(p)".into()]);
    }
}

/// PTX has no half-precision constants, so each constant is moved into a register first.
#[test]
fn constants_as_operands() {
    for bfloat in [false, true] {
        let (of, pair) = match bfloat {
            false => ("__float2half", "__float2half2_rn"),
            true => ("__float2bfloat16", "__float2bfloat162_rn"),
        };
        let mut expressions = Vec::new();
        for number in ["0.f", "1.5f", "-0.f"] {
            let (one, two) = (format!("{of}({number})"), format!("{pair}({number})"));
            for name in ["__hadd", "__hsub", "__hmul"] {
                expressions.push(format!("{name}(a, {one})"));
                expressions.push(format!("{name}({one}, a)"));
                expressions.push(format!("{name}2(p, {two})"));
                expressions.push(format!("{name}2({two}, p)"));
            }
            for at in 0..3 {
                let operands = |names: [&str; 3], constant: &str| {
                    let mut names = names;
                    names[at] = constant;
                    names.join(", ")
                };
                expressions.push(format!("__hfma({})", operands(["a", "b", "c"], &one)));
                expressions.push(format!("__hfma2({})", operands(["p", "q", "r"], &two)));
            }
            expressions.push(format!("-a - {one}"));
            expressions.push(format!("(u & 1) ? a : {one}"));
            expressions.push(format!("a < {one}"));
            expressions.push(format!("__hmax(a, {one})"));
            expressions.push(format!("__habs({one})"));
        }
        compare(bfloat, &expressions);
    }
    let zeros = "#include <cuda_fp16.h>
        #include <cuda_bf16.h>
        __global__ void k(const half *a, half *o) {
            half s[4] = {}; s[0] = __hfma(a[0], a[1], s[1]);
            half t = (half)0.0f; t = __hadd(t, a[2]); o[0] = s[0]; o[1] = t; half u{}; o[2] = u * a[3];
        }
        __global__ void p(const half2 *a, half2 *o) {
            half2 r; r.x = 0; r.y = 0;
            for (int i = 0; i < 4; i++) r = __hfma2(a[i], a[i + 1], r);
            o[0] = r; half2 s = __float2half2_rn(0.f); s = __hadd2(s, a[0]); o[1] = s;
        }
        __global__ void b(const __nv_bfloat16 *a, __nv_bfloat16 *o) {
            __nv_bfloat16 z = {}; o[0] = __hfma(a[0], a[1], z);
        }";
    for arch in [80, 90] {
        let options = cuda_c::CompileOptions { arch, ..cuda_c::CompileOptions::default() };
        crate::kernel::compile_with(zeros, &options);
    }
}
