//! Tests that functions with exact results agree with NVRTC's.

use crate::BITS;
use crate::kernel::{Argument, as_words, words};
use crate::reference::both;

/// Random words, some of which are special as integers or as floats.
fn random_words() -> Vec<u32> {
    let mut all = vec![
        0,
        1,
        2,
        3,
        0xffff_ffff,
        0x8000_0000,
        0x7fff_ffff,
        0x8080_8080,
        0x7f7f_7f7f,
        0x8000_7fff,
        0x00ff_ff00,
        0x3f80_0000,
        0xbf80_0000,
        0x7f80_0000,
        0xff80_0000,
        0x7fc0_0000,
        0x0000_0001,
        0x0080_0000,
        0x4b00_0001,
        0xcb80_0000,
        0x3effffff,
        0x3f00_0000,
        0x4020_0000,
        0xc020_0000,
        0x4f00_0000,
        0xcf00_0001,
        0x5f00_0000,
    ];
    let mut state = 7u32;
    while all.len() < 512 {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        // Small numbers of both signs.
        all.push(match state >> 28 {
            0..=3 => state.rotate_left(9),
            4..=6 => (state >> 12) & 0xffff,
            7..=9 => 0u32.wrapping_sub((state >> 16) & 0xfff),
            _ => (((state >> 8) as f32 / 65_536.0 - 128.0) * 3.0).to_bits(),
        });
    }
    all
}

/// Compares expressions of type `ty` with NVRTC's. They may use the ints `a`, `b`, `c`, the floats `x`, `y`,
/// `z`, and the doubles `u`, `v`, `w`.
fn compare(ty: &str, expressions: &[&str]) {
    for some in expressions.chunks(12) {
        let mut body = String::new();
        for (index, expression) in some.iter().enumerate() {
            body.push_str(&format!(
                "    {{ int n = 0; {ty} r = {expression}; out[{index} * 512 + t] = bits(r) + (unsigned)n * 31u; }}\n"
            ));
        }
        let source = format!(
            "{BITS}
             extern \"C\" __global__ void k(unsigned *out, const unsigned *in) {{
                 unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
                 unsigned a = in[t], b = in[(t * 5u + 3u) & 511u], c = in[(t * 11u + 7u) & 511u];
                 float x = __uint_as_float(a), y = __uint_as_float(b), z = __uint_as_float(c);
                 double u = (double)x * 1.0000000001, v = (double)y * 3.0, w = z;
                 long long l = (long long)(((unsigned long long)a << 32) | b);
             {body}}}"
        );
        let arguments: [Argument; 2] = [words(&vec![0; 512 * some.len()]), words(&random_words())];
        let shape = ([8, 1, 1], [64, 1, 1], 0);
        let memory = both(&source, "k", shape, &arguments);
        // Something was written, even if there is no NVRTC to compare with.
        assert!(as_words(&memory[0]).iter().any(|word| *word != 0), "{some:?}");
    }
}

#[test]
fn packed_halves_and_bytes() {
    let mut all = Vec::new();
    for parts in [2, 4] {
        for name in ["neg", "negss"] {
            all.push(format!("__v{name}{parts}(a)"));
        }
        for name in ["add", "sub", "addss", "subss", "addus", "subus", "avgs", "avgu"]
            .into_iter()
            .chain(["haddu", "mins", "minu", "maxs", "maxu"])
        {
            all.push(format!("__v{name}{parts}(a, b)"));
        }
        for order in ["eq", "ne", "ges", "geu", "gts", "gtu", "les", "leu", "lts", "ltu"] {
            all.push(format!("__vcmp{order}{parts}(a, b)"));
            all.push(format!("__vset{order}{parts}(a, b)"));
        }
    }
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    compare("unsigned", &all);
}

/// NVRTC uses instructions that the emulator lacks.
#[test]
fn packed_differences() {
    type Each = fn(i32, i32) -> i32;
    let signed: [(&str, Each); 5] = [
        ("__vabs{}(a)", |x, _| x.abs()),
        ("__vabsss{}(a)", |x, _| x.abs()),
        ("__vabsdiffs{}(a, b)", |x, y| (x - y).abs()),
        ("__vsads{}(a, b)", |x, y| (x - y).abs()),
        ("__vsadu{}(a, b)", |x, y| (x - y).abs()),
    ];
    for (call, each) in signed.into_iter().chain([("__vabsdiffu{}(a, b)", signed[2].1)]) {
        for (count, bits) in [("2", 16), ("4", 8)] {
            let call = call.replace("{}", count);
            let source = format!(
                "extern \"C\" __global__ void k(unsigned *out, const unsigned *in) {{
                     unsigned t = threadIdx.x, a = in[t], b = in[(t * 5u + 3u) & 511u];
                     out[t] = {call};
                 }}"
            );
            let values = random_words();
            let text = crate::kernel::compile(&source);
            let arguments = [words(&[0; 512]), words(&values)];
            let (memory, _) = crate::kernel::run(&text, "k", ([1, 1, 1], [512, 1, 1]), &arguments);
            let mask = (1u32 << bits) - 1;
            for (t, found) in as_words(&memory[0]).into_iter().enumerate() {
                let (a, b) = (values[t], values[(t * 5 + 3) % 512]);
                let mut expected = 0u32;
                for at in (0..32).step_by(bits) {
                    let part = |word: u32| match (call.contains('u'), bits) {
                        (true, _) => ((word >> at) & mask) as i32,
                        (false, 8) => i32::from((word >> at) as i8),
                        (false, _) => i32::from((word >> at) as i16),
                    };
                    let mut own = each(part(a), part(b)) as u32;
                    if call.contains("absss") {
                        own = own.min(mask >> 1);
                    }
                    expected = match call.contains("sad") {
                        true => expected + own,
                        false => expected | (own & mask) << at,
                    };
                }
                assert_eq!(found, expected, "{call} of {a:08x}, {b:08x}");
            }
        }
    }
}

#[test]
fn operations_on_bits() {
    compare(
        "int",
        &[
            "__ffs(a)",
            "__ffsll(l)",
            "__popc(a)",
            "__popcll(l)",
            "__clz(a)",
            "__clzll(l)",
            "__hadd((int)a, (int)b)",
            "__rhadd((int)a, (int)b)",
            "__mulhi((int)a, (int)b)",
            "__mul24((int)a, (int)b)",
            "__sad((int)a & 0xffff, b & 0xffff, c)",
            "__dp4a((int)a, (int)b, (int)c)",
            "__dp2a_lo((int)a, (int)b, (int)c)",
            "__dp2a_hi((int)a, (int)b, (int)c)",
            "__dp4a(make_char4(1, -2, 3, 4), make_char4(a, b, c, 5), 7)",
            "min((int)a, (int)b)",
            "max((int)a, (int)b)",
        ],
    );
    compare(
        "unsigned",
        &[
            "__uhadd(a, b)",
            "__urhadd(a, b)",
            "__umulhi(a, b)",
            "__umul24(a, b)",
            "__usad(a, b, c)",
            "__brev(a)",
            "__byte_perm(a, b, c)",
            "__funnelshift_l(a, b, c)",
            "__funnelshift_r(a, b, c)",
            "__funnelshift_lc(a, b, c & 63)",
            "__funnelshift_rc(a, b, c & 63)",
            "__dp4a(a, b, c)",
            "__dp2a_lo(a, b, c)",
            "__dp2a_hi(a, b, c)",
            "__fns(a, b & 31, (int)(c & 7) - 3)",
            "umin(a, b)",
            "umax(a, b)",
        ],
    );
    compare(
        "long long",
        &[
            "__mul64hi(l, l * 3)",
            "(long long)__umul64hi(l, l * 3)",
            "(long long)__brevll(l)",
            "llmin(l, (long long)c)",
            "(long long)ullmax(l, c)",
            "llabs(l >> 1)",
        ],
    );
}

#[test]
fn explicit_rounding_modes() {
    let (mut floats, mut doubles, mut integers) = (Vec::new(), Vec::new(), Vec::new());
    for mode in ["rn", "rz", "ru", "rd"] {
        for name in ["fadd", "fsub", "fmul", "fdiv"] {
            floats.push(format!("__{name}_{mode}(x, y)"));
        }
        floats.push(format!("__frcp_{mode}(x)"));
        floats.push(format!("__fsqrt_{mode}(fabsf(x))"));
        floats.push(format!("__fmaf_{mode}(x, y, z)"));
        floats.push(format!("__double2float_{mode}(u)"));
        for name in ["dadd", "dsub", "dmul", "ddiv"] {
            doubles.push(format!("__{name}_{mode}(u, v)"));
        }
        doubles.push(format!("__drcp_{mode}(u)"));
        doubles.push(format!("__dsqrt_{mode}(fabs(u))"));
        doubles.push(format!("__fma_{mode}(u, v, w)"));
        for to in ["int", "uint", "ll", "ull"] {
            for (from, value) in [
                ("float", "fminf(fmaxf(z, 0.0f), 99999.0f)"),
                ("double", "fmin(fmax(u, 0.0), 1e6)"),
            ] {
                integers.push(format!("(long long)__{from}2{to}_{mode}({value})"));
            }
        }
        for (from, value) in
            [("int", "(int)a"), ("uint", "a"), ("ll", "l"), ("ull", "(unsigned long long)l")]
        {
            floats.push(format!("__{from}2float_{mode}({value})"));
        }
        doubles.push(format!("__ll2double_{mode}(l)"));
        doubles.push(format!("__ull2double_{mode}((unsigned long long)l)"));
    }
    doubles.extend(["__int2double_rn((int)a)".into(), "__uint2double_rn(a)".into()]);
    for (ty, all) in [("float", floats), ("double", doubles), ("long long", integers)] {
        compare(ty, &all.iter().map(String::as_str).collect::<Vec<_>>());
    }
}

#[test]
fn parts_remainders_and_neighbours() {
    compare(
        "float",
        &[
            "frexpf(x, &n)",
            "ldexpf(x, (int)b % 300)",
            "scalblnf(x, (long)(int)b % 300)",
            "modff(x, &z) + z",
            "logbf(x)",
            "fdimf(x, y)",
            "nextafterf(x, y)",
            "remainderf(x, y)",
            "fmodf(x, y)",
            "copysignf(x, (float)(int)b)",
            "roundf(x)",
            "nearbyintf(x)",
            "frexp(x, &n)",
            "ldexp(x, (int)b % 300)",
            "remainder(x, y)",
            "nextafter(x, 0.0f)",
            "fdividef(x, 3.0f)",
        ],
    );
    compare(
        "double",
        &[
            "frexp(u, &n)",
            "ldexp(u, (int)b % 2200)",
            "ldexp(u * 1e-300, (int)b % 60)",
            "scalbln(u, (long)(int)b % 2200)",
            "modf(u, &w) + w",
            "logb(u)",
            "fdim(u, v)",
            "nextafter(u, v)",
            "remainder(u, v)",
            "remainder(u * 1e200, v)",
            "fmod(u, v)",
            "round(u)",
            "rint(u)",
            "copysign(u, (double)(int)b)",
            "nextafter(u, w)",
            "remainder(u, 1e308)",
        ],
    );
    compare(
        "int",
        &[
            "ilogbf(x)",
            "ilogb(u)",
            "ilogb(x)",
            "(remquof(x, y, &n), n = n & 7, 1)",
            "(remquo(u, v, &n), n = n & 7, 1)",
        ],
    );
    compare("float", &["remquof(x, y, &n) + (float)((n &= 7) * 0)"]);
    compare("double", &["remquo(u, v, &n) + (double)((n &= 7) * 0)"]);
    compare(
        "long long",
        &[
            "lrint(fmin(fmax(u, -1e15), 1e15))",
            "llrint(fmin(fmax(u, -1e15), 1e15))",
            "lround(fmin(fmax(u, -1e15), 1e15))",
            "llround(fmin(fmax(u, -1e15), 1e15))",
            "lroundf(fminf(fmaxf(x, -1e15f), 1e15f))",
            "llroundf(fminf(fmaxf(x, -1e15f), 1e15f))",
            "lrintf(fminf(fmaxf(x, -1e15f), 1e15f))",
        ],
    );
}

#[test]
fn warp_functions() {
    compare(
        "unsigned",
        &[
            "__match_any_sync(0xffffffffu, a & 3)",
            "__match_any_sync(0xffffffffu, (unsigned long long)(a & 3) << 40)",
            "__match_all_sync(0xffffffffu, t / 32, &n)",
            "__match_all_sync(0xffffffffu, a & 1, &n)",
            "__match_all_sync(0xffffffffu, (double)(t / 32), &n)",
            "__match_all_sync(0xffffffffu, l & 1, &n)",
            "__match_all_sync(0xffffffffu, 1.5f, &n)",
            "__reduce_add_sync(0xffffffffu, a)",
            "__reduce_max_sync(0xffffffffu, a)",
            "__reduce_min_sync(0xffffffffu, a)",
            "(unsigned)__reduce_min_sync(0xffffffffu, (int)a)",
            "__reduce_xor_sync(0xffffffffu, a)",
            "(unsigned)__reduce_add_sync(0xffffffffu, (int)a)",
            "(unsigned)__reduce_max_sync(0xffffffffu, (int)a)",
        ],
    );
}
