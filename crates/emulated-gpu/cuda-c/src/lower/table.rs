//! The table of built-in functions that are one or a few instructions.

use crate::ir::Effect;

/// A row: the name, the types, the side effect, the lowest `sm_` that has the function, and its
/// PTX. The types are letters, the result first: i `int`, u `unsigned`, l and m 64 bits, f float, d
/// double, h half, p and q pointers to `const void` and to `void`, v no result.
pub(super) type Row = (&'static str, &'static str, Effect, u32, &'static str);

use Effect::{Acts, None as Pure, Varies};

/// Makes PTX whose result is 1 if an instruction sets the predicate `%q`, and 0 otherwise. With
/// `if`, `%q` is initialised to whether an argument isn't 0.
macro_rules! predicate {
    ($text:literal) => {
        concat!("{{ .reg .pred %q; ", $text, " selp.u32 {0}, 1, 0, %q; }}")
    };
    (if $argument:literal, $text:literal) => {
        concat!(
            "{{ .reg .pred %q; setp.ne.s32 %q, ",
            $argument,
            ", 0; ",
            $text,
            " selp.u32 {0}, 1, 0, %q; }}"
        )
    };
}

/// Makes the rows of four functions whose suffix is the rounding mode. The arguments are the name
/// without the suffix, the types, and the PTX before and after the mode.
macro_rules! rounded {
    ($name:literal, $types:literal, $before:literal, $after:literal) => {
        &[
            (concat!($name, "_rn"), $types, Pure, 0, concat!($before, "rn", $after)),
            (concat!($name, "_rz"), $types, Pure, 0, concat!($before, "rz", $after)),
            (concat!($name, "_ru"), $types, Pure, 0, concat!($before, "rp", $after)),
            (concat!($name, "_rd"), $types, Pure, 0, concat!($before, "rm", $after)),
        ]
    };
}

/// All rows of the table.
pub(super) fn rows() -> impl Iterator<Item = &'static Row> {
    TABLE.iter().copied().flatten()
}

const TABLE: &[&[Row]] = &[
    &[
        ("__syncthreads", "v", Acts, 0, "bar.sync 0;"),
        ("__syncwarp", "vu", Acts, 0, "bar.warp.sync {0};"),
        ("__threadfence", "v", Acts, 0, "membar.gl;"),
        ("__threadfence_block", "v", Acts, 0, "membar.cta;"),
        ("__threadfence_system", "v", Acts, 0, "membar.sys;"),
        ("__trap", "v", Acts, 0, "trap;"),
        ("__brkpt", "v", Acts, 0, "brkpt;"),
        ("__nanosleep", "vu", Acts, 70, "nanosleep.u32 {0};"),
        ("__activemask", "u", Varies, 0, "activemask.b32 {0};"),
        ("clock", "i", Acts, 0, "mov.u32 {0}, %clock;"),
        ("clock64", "l", Acts, 0, "mov.u64 {0}, %clock64;"),
        (
            "__syncthreads_count",
            "ii",
            Acts,
            0,
            "{{ .reg .pred %q; setp.ne.s32 %q, {1}, 0; bar.red.popc.u32 {0}, 0, %q; }}",
        ),
        ("__syncthreads_and", "ii", Acts, 0, predicate!(if "{1}", "bar.red.and.pred %q, 0, %q;")),
        ("__syncthreads_or", "ii", Acts, 0, predicate!(if "{1}", "bar.red.or.pred %q, 0, %q;")),
        ("__all_sync", "iui", Acts, 0, predicate!(if "{2}", "vote.sync.all.pred %q, %q, {1};")),
        ("__any_sync", "iui", Acts, 0, predicate!(if "{2}", "vote.sync.any.pred %q, %q, {1};")),
        (
            "__ballot_sync",
            "uui",
            Acts,
            0,
            "{{ .reg .pred %q; setp.ne.s32 %q, {2}, 0; vote.sync.ballot.b32 {0}, %q, {1}; }}",
        ),
        ("__reduce_and_sync", "uuu", Acts, 80, "redux.sync.and.b32 {0}, {2}, {1};"),
        ("__reduce_or_sync", "uuu", Acts, 80, "redux.sync.or.b32 {0}, {2}, {1};"),
        ("__reduce_xor_sync", "uuu", Acts, 80, "redux.sync.xor.b32 {0}, {2}, {1};"),
        // Bit operations.
        ("__popc", "iu", Pure, 0, "popc.b32 {0}, {1};"),
        ("__popcll", "im", Pure, 0, "popc.b64 {0}, {1};"),
        (
            "__ffs",
            "iu",
            Pure,
            0,
            "{{ .reg .b32 %q; brev.b32 %q, {1}; bfind.shiftamt.u32 %q, %q; add.s32 {0}, %q, 1; }}",
        ),
        (
            "__ffsll",
            "im",
            Pure,
            0,
            "{{ .reg .b32 %q; .reg .b64 %w; brev.b64 %w, {1}; bfind.shiftamt.u64 %q, %w; add.s32 {0}, %q, 1; }}",
        ),
        ("__fns", "uuui", Pure, 0, "fns.b32 {0}, {1}, {2}, {3};"),
        ("__clz", "iu", Pure, 0, "clz.b32 {0}, {1};"),
        ("__clzll", "im", Pure, 0, "clz.b64 {0}, {1};"),
        ("__brev", "uu", Pure, 0, "brev.b32 {0}, {1};"),
        ("__brevll", "mm", Pure, 0, "brev.b64 {0}, {1};"),
        ("__prmt", "uuuu", Pure, 0, "prmt.b32 {0}, {1}, {2}, {3};"),
        ("__funnelshift_l", "uuuu", Pure, 0, "shf.l.wrap.b32 {0}, {1}, {2}, {3};"),
        ("__funnelshift_lc", "uuuu", Pure, 0, "shf.l.clamp.b32 {0}, {1}, {2}, {3};"),
        ("__funnelshift_rc", "uuuu", Pure, 0, "shf.r.clamp.b32 {0}, {1}, {2}, {3};"),
        ("__funnelshift_r", "uuuu", Pure, 0, "shf.r.wrap.b32 {0}, {1}, {2}, {3};"),
        ("__mulhi", "iii", Pure, 0, "mul.hi.s32 {0}, {1}, {2};"),
        ("__umulhi", "uuu", Pure, 0, "mul.hi.u32 {0}, {1}, {2};"),
        ("__mul64hi", "lll", Pure, 0, "mul.hi.s64 {0}, {1}, {2};"),
        ("__umul64hi", "mmm", Pure, 0, "mul.hi.u64 {0}, {1}, {2};"),
        ("__mul24", "iii", Pure, 0, "mul24.lo.s32 {0}, {1}, {2};"),
        ("__umul24", "uuu", Pure, 0, "mul24.lo.u32 {0}, {1}, {2};"),
        ("__sad", "uiiu", Pure, 0, "sad.s32 {0}, {1}, {2}, {3};"),
        ("__usad", "uuuu", Pure, 0, "sad.u32 {0}, {1}, {2}, {3};"),
        // Reinterpretation of bits.
        ("__float_as_int", "if", Pure, 0, "mov.b32 {0}, {1};"),
        ("__float_as_uint", "uf", Pure, 0, "mov.b32 {0}, {1};"),
        ("__int_as_float", "fi", Pure, 0, "mov.b32 {0}, {1};"),
        ("__uint_as_float", "fu", Pure, 0, "mov.b32 {0}, {1};"),
        ("__double_as_longlong", "ld", Pure, 0, "mov.b64 {0}, {1};"),
        ("__longlong_as_double", "dl", Pure, 0, "mov.b64 {0}, {1};"),
        ("__double2hiint", "id", Pure, 0, "{{ .reg .b32 %q; mov.b64 {{%q, {0}}}, {1}; }}"),
        ("__double2loint", "id", Pure, 0, "{{ .reg .b32 %q; mov.b64 {{{0}, %q}}, {1}; }}"),
        ("__hiloint2double", "dii", Pure, 0, "mov.b64 {0}, {{{2}, {1}}};"),
        // The rows of conversions between generic addresses and those of a memory space, and
        // queries of the space.
        ("__cvta_generic_to_shared", "mp", Pure, 0, "cvta.to.shared.u64 {0}, {1};"),
        ("__cvta_generic_to_global", "mp", Pure, 0, "cvta.to.global.u64 {0}, {1};"),
        ("__cvta_generic_to_local", "mp", Pure, 0, "cvta.to.local.u64 {0}, {1};"),
        ("__cvta_generic_to_constant", "mp", Pure, 0, "cvta.to.const.u64 {0}, {1};"),
        ("__cvta_shared_to_generic", "qm", Pure, 0, "cvta.shared.u64 {0}, {1};"),
        ("__cvta_global_to_generic", "qm", Pure, 0, "cvta.global.u64 {0}, {1};"),
        ("__cvta_local_to_generic", "qm", Pure, 0, "cvta.local.u64 {0}, {1};"),
        ("__cvta_constant_to_generic", "qm", Pure, 0, "cvta.const.u64 {0}, {1};"),
        ("__isShared", "up", Pure, 0, predicate!("isspacep.shared %q, {1};")),
        ("__isGlobal", "up", Pure, 0, predicate!("isspacep.global %q, {1};")),
        ("__isLocal", "up", Pure, 0, predicate!("isspacep.local %q, {1};")),
        ("__isConstant", "up", Pure, 0, predicate!("isspacep.const %q, {1};")),
        ("__isGridConstant", "up", Pure, 70, predicate!("isspacep.param %q, {1};")),
    ],
    // The rows of arithmetic with an explicit rounding mode, which is never contracted.
    rounded!("__fadd", "fff", "add.", ".f32 {0}, {1}, {2};"),
    rounded!("__fsub", "fff", "sub.", ".f32 {0}, {1}, {2};"),
    rounded!("__fmul", "fff", "mul.", ".f32 {0}, {1}, {2};"),
    rounded!("__fmaf", "ffff", "fma.", ".f32 {0}, {1}, {2}, {3};"),
    rounded!("__fdiv", "fff", "div.", ".f32 {0}, {1}, {2};"),
    &[
        ("__frcp_rn", "ff", Pure, 0, "rcp.rn.f32 {0}, {1};"),
        ("__fsqrt_rn", "ff", Pure, 0, "sqrt.rn.f32 {0}, {1};"),
        ("__fdividef", "fff", Pure, 0, "div.approx.f32 {0}, {1}, {2};"),
        ("__saturatef", "ff", Pure, 0, "cvt.sat.f32.f32 {0}, {1};"),
        // The rows of approximations by the hardware.
        ("__ex2", "ff", Pure, 0, "ex2.approx.ftz.f32 {0}, {1};"),
        ("__lg2", "ff", Pure, 0, "lg2.approx.f32 {0}, {1};"),
        ("__rcp", "ff", Pure, 0, "rcp.approx.ftz.f32 {0}, {1};"),
        ("__sinf", "ff", Pure, 0, "sin.approx.f32 {0}, {1};"),
        ("__cosf", "ff", Pure, 0, "cos.approx.f32 {0}, {1};"),
        ("__log2f", "ff", Pure, 0, "lg2.approx.f32 {0}, {1};"),
        ("rsqrtf", "ff", Pure, 0, "rsqrt.approx.f32 {0}, {1};"),
        // Rounding to integers.
        ("floorf", "ff", Pure, 0, "cvt.rmi.f32.f32 {0}, {1};"),
        ("ceilf", "ff", Pure, 0, "cvt.rpi.f32.f32 {0}, {1};"),
        ("truncf", "ff", Pure, 0, "cvt.rzi.f32.f32 {0}, {1};"),
        ("rintf", "ff", Pure, 0, "cvt.rni.f32.f32 {0}, {1};"),
        ("nearbyintf", "ff", Pure, 0, "cvt.rni.f32.f32 {0}, {1};"),
        ("floor", "dd", Pure, 0, "cvt.rmi.f64.f64 {0}, {1};"),
        ("ceil", "dd", Pure, 0, "cvt.rpi.f64.f64 {0}, {1};"),
        ("trunc", "dd", Pure, 0, "cvt.rzi.f64.f64 {0}, {1};"),
        ("rint", "dd", Pure, 0, "cvt.rni.f64.f64 {0}, {1};"),
        ("nearbyint", "dd", Pure, 0, "cvt.rni.f64.f64 {0}, {1};"),
        ("lrintf", "lf", Pure, 0, "cvt.rni.s64.f32 {0}, {1};"),
        ("llrintf", "lf", Pure, 0, "cvt.rni.s64.f32 {0}, {1};"),
        // The rows of conversions and arithmetic of halves.
        ("__half2float", "fh", Pure, 0, "cvt.f32.f16 {0}, {1};"),
        ("__float2half", "hf", Pure, 0, "cvt.rn.f16.f32 {0}, {1};"),
        ("__float2half_rn", "hf", Pure, 0, "cvt.rn.f16.f32 {0}, {1};"),
        ("__float2half_rz", "hf", Pure, 0, "cvt.rz.f16.f32 {0}, {1};"),
        ("__hadd", "hhh", Pure, 53, "add.f16 {0}, {1}, {2};"),
        ("__hsub", "hhh", Pure, 53, "sub.f16 {0}, {1}, {2};"),
        ("__hmul", "hhh", Pure, 53, "mul.f16 {0}, {1}, {2};"),
        ("__hfma", "hhhh", Pure, 53, "fma.rn.f16 {0}, {1}, {2}, {3};"),
    ],
    // The rows of arithmetic of double with an explicit rounding mode.
    rounded!("__dadd", "ddd", "add.", ".f64 {0}, {1}, {2};"),
    rounded!("__dsub", "ddd", "sub.", ".f64 {0}, {1}, {2};"),
    rounded!("__dmul", "ddd", "mul.", ".f64 {0}, {1}, {2};"),
    rounded!("__ddiv", "ddd", "div.", ".f64 {0}, {1}, {2};"),
    rounded!("__fma", "dddd", "fma.", ".f64 {0}, {1}, {2}, {3};"),
    rounded!("__drcp", "dd", "rcp.", ".f64 {0}, {1};"),
    rounded!("__dsqrt", "dd", "sqrt.", ".f64 {0}, {1};"),
    // The rows of reciprocals and roots of float with an explicit rounding mode.
    &[
        ("__frcp_rz", "ff", Pure, 0, "rcp.rz.f32 {0}, {1};"),
        ("__frcp_ru", "ff", Pure, 0, "rcp.rp.f32 {0}, {1};"),
        ("__frcp_rd", "ff", Pure, 0, "rcp.rm.f32 {0}, {1};"),
        ("__fsqrt_rz", "ff", Pure, 0, "sqrt.rz.f32 {0}, {1};"),
        ("__fsqrt_ru", "ff", Pure, 0, "sqrt.rp.f32 {0}, {1};"),
        ("__fsqrt_rd", "ff", Pure, 0, "sqrt.rm.f32 {0}, {1};"),
    ],
    rounded!("__fmaf_ieee", "ffff", "fma.", ".f32 {0}, {1}, {2}, {3};"),
    &[("__tanhf", "ff", Pure, 75, "tanh.approx.f32 {0}, {1};")],
    // Floats to integers.
    rounded!("__float2int", "if", "cvt.", "i.s32.f32 {0}, {1};"),
    rounded!("__float2uint", "uf", "cvt.", "i.u32.f32 {0}, {1};"),
    rounded!("__float2ll", "lf", "cvt.", "i.s64.f32 {0}, {1};"),
    rounded!("__float2ull", "mf", "cvt.", "i.u64.f32 {0}, {1};"),
    rounded!("__double2int", "id", "cvt.", "i.s32.f64 {0}, {1};"),
    rounded!("__double2uint", "ud", "cvt.", "i.u32.f64 {0}, {1};"),
    rounded!("__double2ll", "ld", "cvt.", "i.s64.f64 {0}, {1};"),
    rounded!("__double2ull", "md", "cvt.", "i.u64.f64 {0}, {1};"),
    // The rows of conversions from integers to floats, and from double to float.
    rounded!("__int2float", "fi", "cvt.", ".f32.s32 {0}, {1};"),
    &[("__int2double_rn", "di", Pure, 0, "cvt.rn.f64.s32 {0}, {1};")],
    rounded!("__uint2float", "fu", "cvt.", ".f32.u32 {0}, {1};"),
    &[("__uint2double_rn", "du", Pure, 0, "cvt.rn.f64.u32 {0}, {1};")],
    rounded!("__ll2float", "fl", "cvt.", ".f32.s64 {0}, {1};"),
    rounded!("__ll2double", "dl", "cvt.", ".f64.s64 {0}, {1};"),
    rounded!("__ull2float", "fm", "cvt.", ".f32.u64 {0}, {1};"),
    rounded!("__ull2double", "dm", "cvt.", ".f64.u64 {0}, {1};"),
    rounded!("__double2float", "fd", "cvt.", ".f32.f64 {0}, {1};"),
    // Integers to halves.
    rounded!("__int2half", "hi", "cvt.", ".f16.s32 {0}, {1};"),
    rounded!("__uint2half", "hu", "cvt.", ".f16.u32 {0}, {1};"),
    rounded!("__ll2half", "hl", "cvt.", ".f16.s64 {0}, {1};"),
    rounded!("__ull2half", "hm", "cvt.", ".f16.u64 {0}, {1};"),
    &[
        ("__float2half_ru", "hf", Pure, 0, "cvt.rp.f16.f32 {0}, {1};"),
        ("__float2half_rd", "hf", Pure, 0, "cvt.rm.f16.f32 {0}, {1};"),
        ("__double2half", "hd", Pure, 0, "cvt.rn.f16.f64 {0}, {1};"),
        // The bits of a half.
        ("__half_as_word", "uh", Pure, 0, "cvt.u32.u16 {0}, {1};"),
        ("__word_as_half", "hu", Pure, 0, "cvt.u16.u32 {0}, {1};"),
    ],
];
