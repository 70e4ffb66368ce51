//! Generation of whole programs: functions, structs and templates, and kernels that use them.

use crate::generate::{Generator, Scope, Signature, type_of};
use crate::tree::NodeKind::{Double, Float, Frame, Long, Signed, Statement, Truth, Unsigned, Wide};
use crate::tree::{NodeKind, Tree, join, leaf, sequence, tree};

/// The start of every program.
const PRELUDE: &str = "
__constant__ unsigned table[8] = {1u, 2u, 0x80000001u, 4u, 50u, 600u, 7000u, 80000u};
// Normalises results: the bits of a NaN and the sign of a zero may differ between machines.
__device__ unsigned plain(unsigned x) { return (x & 0x7fffffffu) > 0x7f800000u ? 0x7fffffffu : x == 0x80000000u ? 0u : x; }
__device__ unsigned plain_wide(double x) {
    unsigned long long b = (unsigned long long)__double_as_longlong(x);
    return x != x ? 0x7fffffffu : x == 0.0 ? 0u : (unsigned)(b >> 32) * 31u + (unsigned)b;
}
struct pair {
    unsigned a;
    unsigned char b;
    float c;
    unsigned d[2];
    __device__ unsigned sum() const { return a + b * 3u + d[0] * 5u + d[1]; }
    __device__ pair operator+(const pair &other) const { pair r = *this; r.a += other.a; r.d[1] ^= other.d[0]; return r; }
};
__device__ pair make_pair(unsigned a, unsigned b) { pair r; r.a = a; r.b = b; r.c = 1.5f; r.d[0] = a ^ b; r.d[1] = table[b & 7u]; return r; }
__device__ unsigned pair_sum(const pair &p) { return (p + make_pair(p.b, p.a)).sum(); }
__device__ __forceinline__ void change(unsigned &x, unsigned by) { if (x > by) x -= by; else x = x * 3u + by; }
template <int N> __device__ unsigned folded(unsigned x) {
    unsigned r = x;
    #pragma unroll
    for (int i = 0; i < N; ++i) r = r * 31u + (r >> i);
    return r;
}
template <typename T> struct holder {
    T value[3];
    __device__ T last(int i) const { return value[i % 3] + value[2]; }
};
template <typename T> __device__ T mixed(T a, T b) { return a > b ? a * (T)3 + b : b - a; }
";

const NAMES: [&str; 4] = ["a", "b", "c", "d"];

/// A program in parts: functions that all kernels share, and kernels.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    pub(crate) functions: Tree,
    pub(crate) kernels: Vec<Tree>,
}

impl Program {
    pub(crate) fn source(&self) -> String {
        format!("{PRELUDE}{}{}", self.functions, join(&self.kernels, "\n"))
    }

    /// The program with only one of its kernels, as a tree that can be reduced.
    pub(crate) fn only_kernel(&self, kernel: usize) -> Tree {
        tree(Frame, &format!("{PRELUDE}@@"), [self.functions.clone(), self.kernels[kernel].clone()])
    }
}

impl Generator {
    pub(crate) fn program(&mut self, kernels: usize) -> Program {
        self.functions.clear();
        let mut functions = Vec::new();
        for number in 0..self.random.below(5) {
            functions.push(self.function(number));
        }
        for name in ["mixed<unsigned>", "mixed<unsigned long long>", "mixed"] {
            let kind = if name.contains("long") { Wide } else { Unsigned };
            self.functions.push(Signature {
                name: name.to_owned(),
                result: kind,
                parameters: vec![kind, kind],
                last_argument: "",
            });
        }
        let functions = sequence(Frame, functions);
        let kernels = (0..kernels).map(|number| self.kernel(number)).collect();
        Program { functions, kernels }
    }

    /// Generates a function. One in three is recursive.
    fn function(&mut self, number: u64) -> Tree {
        let (result, name) = (self.kind(), format!("f{number}"));
        let parameters: Vec<NodeKind> =
            (0..1 + self.random.below(3)).map(|_| self.kind()).collect();
        let recursive = self.random.one_in(3);
        self.scope = Scope::default();
        let mut list = Vec::new();
        for (kind, name) in parameters.iter().zip(NAMES) {
            self.scope.add(*kind, &[name]);
            list.push(format!("{} {name}", type_of(*kind)));
        }
        self.scope.add(Unsigned, &["u"]);
        self.scope.variables.push((Unsigned, "t".into(), false));
        (self.calls, self.loops) = (30, 0);
        let mut own = vec![Signature {
            name: name.clone(),
            result,
            parameters: parameters.clone(),
            last_argument: if recursive { "fuel - 1u" } else { "" },
        }];
        if recursive {
            list.push("unsigned fuel".to_owned());
        }
        let before = self.statements(1, 3);
        let mut parts = vec![before];
        let mut pattern = "    unsigned u = 5u, t = threadIdx.x;\n    @\n".to_owned();
        if recursive {
            pattern.push_str("    if (fuel == 0u || @) return @;\n    @\n");
            let mut inner = Vec::new();
            inner.push(self.expression(Truth, 1));
            inner.push(self.expression(result, 1));
            let kept = std::mem::replace(&mut self.functions, own.clone());
            let place = self.call(result, 2);
            let again = place.unwrap_or_else(|| leaf(result, "1"));
            self.functions = kept;
            let id = self.number();
            let then = tree(Statement, &format!("{} z{id} = @;", type_of(result)), [again]);
            let kind = result;
            self.scope.variables.push((kind, format!("z{id}"), true));
            inner.push(tree(Frame, "@", [then]));
            parts.extend(inner);
            // The declaration must stay, because the variable is used later.
            if let Some(last) = parts.last_mut() {
                last.kind = Frame;
                for part in &mut last.parts {
                    if let crate::tree::Part::Tree(inner) = part {
                        inner.kind = Frame;
                    }
                }
            }
        }
        let (after, value) = (self.statements(1, 2), self.expression(result, 3));
        parts.extend([after, value]);
        pattern.push_str("    @\n    return @;\n");
        let word = match self.random.below(4) {
            0 => "__noinline__ ",
            1 if !recursive => "__forceinline__ ",
            _ => "",
        };
        let head = format!("__device__ {word}{} {name}({})", type_of(result), list.join(", "));
        own[0].last_argument = if recursive { "(t & 3u)" } else { "" };
        self.functions.extend(own);
        let body = format!("{head} {{\n{pattern}}}\n");
        tree(Frame, &body, parts)
    }

    /// Generates a kernel: one kernel in five has all features; the others have some features and
    /// fewer statements.
    fn kernel(&mut self, number: usize) -> Tree {
        self.scope = Scope::default();
        (self.calls, self.loops) = (0, 0);
        let all_features = self.random.one_in(5);
        let mut has = |many| all_features || self.random.one_in(many);
        let (wide, float, double, narrow) = (has(3), has(2), has(4), has(4));
        let (arrays, structs) = (has(5), has(6));
        self.scope.add(Unsigned, &["a", "b", "c"]);
        self.scope.variables.push((Unsigned, "t".into(), false));
        self.scope.add(Signed, &["i", "j"]);
        let mut before = String::new();
        let mut after = String::from("a ^ b * 3u ^ c * 5u ^ (unsigned)i * 7u ^ (unsigned)j * 11u");
        if wide {
            self.scope.add(Wide, &["w", "x"]);
            self.scope.add(Long, &["y"]);
            before.push_str(
                "unsigned long long w = in[t], x = 12345678901ull * t;\n    long long y = (long long)j * 1000ll;\n    ",
            );
            after.push_str(" ^ (unsigned)w * 13u ^ (unsigned)y * 53u ^ (unsigned)(x >> 32) * 17u");
        }
        if float {
            self.scope.add(Float, &["f", "g", "h"]);
            before.push_str("float f = (float)i * 0.5f, g = 1.25f, h = (float)t;\n    ");
            after.push_str(
                " ^ plain(__float_as_uint(f)) ^ plain(__float_as_uint(g)) * 3u ^ plain(__float_as_uint(h)) * 5u",
            );
        }
        if double {
            self.scope.add(Double, &["d", "e"]);
            before.push_str("double d = (double)i * 0.25, e = 3.5;\n    ");
            after.push_str(" ^ plain_wide(d) * 37u ^ plain_wide(e) * 41u");
        }
        if narrow {
            self.scope.add(Truth, &["yes"]);
            self.scope.narrow = ["p", "q", "r"].map(str::to_owned).to_vec();
            before.push_str(
                "unsigned char p = a;\n    short q = b;\n    signed char r = c;\n    bool yes = a > b;\n    ",
            );
            after.push_str(" ^ p * 19u ^ (unsigned)q * 23u ^ (unsigned)r * 29u ^ (yes ? 31u : 0u)");
        }
        let mut end = String::new();
        if arrays {
            self.scope.add(Unsigned, &["grid[1][2]"]);
            self.scope.arrays = ["array", "grid[0]", "other"].map(str::to_owned).to_vec();
            before.push_str(
                "unsigned array[8] = {1u, 2u, a}, grid[2][8] = {{b, 3u}, {t}}, other[8];
    for (unsigned n = 0u; n < 8u; ++n)
        other[n] = in[n] + table[n];\n    ",
            );
            after.push_str(" ^ grid[1][2] * 3u");
            end.push_str(
                "for (int n = 0; n < 8; ++n)
        z = z * 31u + array[n] + grid[0][n] * 7u + other[n] * 11u;\n    ",
            );
        }
        if structs {
            self.scope.add(Unsigned, &["s.a", "s.d[1]", "v.y", "box.value[1]"]);
            self.scope.add(Float, &["s.c", "m.w"]);
            self.scope.narrow.push("s.b".into());
            before.push_str(
                "pair s = make_pair(a, b);
    uint4 v = make_uint4(a, b, c, 4u);
    float4 m = make_float4((float)i, 1.5f, (float)j, 0.5f);
    holder<unsigned> box = {{a, 5u, b}};\n    ",
            );
            after.push_str(
                " ^ s.sum() ^ plain(__float_as_uint(s.c)) * 43u ^ v.y ^ plain(__float_as_uint(m.w)) * 47u ^ box.last((int)(t & 1u))",
            );
        }
        let mut body = Vec::new();
        for _ in 0..if all_features { 3 + self.random.below(6) } else { 1 + self.random.below(4) } {
            body.push(match self.random.below(8) {
                0 | 1 => self.collective(),
                2 => self.collective_in_a_loop(),
                _ => self.statement(2),
            });
        }
        let body = sequence(Frame, body);
        let bounds = self.random.choice(&["", "", "__launch_bounds__(64) "]);
        let pattern = format!(
            "
extern \"C\" __global__ void {bounds}k{number}(unsigned *out, const unsigned *__restrict__ in, unsigned *sums)
{{
    __shared__ unsigned shared[64];
    unsigned t = threadIdx.x, a = in[t], b = in[t + 64], c = t * 7u;
    int i = (int)(a & 255u) - 100, j = (int)t - 16;
    {before}@
    unsigned z = {after};
    {end}out[t] = z;
}}
"
        );
        tree(Frame, &pattern, [body])
    }
}
