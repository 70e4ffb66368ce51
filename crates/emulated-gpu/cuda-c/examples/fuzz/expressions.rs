//! Generation of expressions without undefined behaviour: signed numbers stay small, shift counts
//! and indices are masked, divisors aren't zero, and floats are limited before they become
//! integers.

use crate::generate::Generator;
use crate::tree::NodeKind::{Double, Float, Long, Signed, Truth, Unsigned, Wide};
use crate::tree::{NodeKind, Tree, leaf, tree};

impl Generator {
    /// An expression of a kind, with at most `depth` nested operations.
    pub(crate) fn expression(&mut self, kind: NodeKind, depth: u32) -> Tree {
        if depth == 0 {
            return self.simple(kind);
        }
        if self.random.one_in(14)
            && let Some(call) = self.call(kind, depth)
        {
            return call;
        }
        match kind {
            Unsigned => self.unsigned(depth - 1),
            Signed => self.signed(depth - 1),
            Wide => self.wide(depth - 1),
            Long => self.long(depth - 1),
            Float => self.float(depth - 1),
            Double => self.double(depth - 1),
            _ => self.truth(depth - 1),
        }
    }

    fn simple(&mut self, kind: NodeKind) -> Tree {
        let names: Vec<String> = self.scope.readable(kind).map(str::to_owned).collect();
        if !names.is_empty() && !self.random.one_in(3) {
            let index = self.random.below(names.len() as u64) as usize;
            return leaf(kind, names[index].clone());
        }
        let random = &mut self.random;
        let text = match kind {
            Unsigned if random.one_in(4) => {
                random.choice(&["0u", "1u", "0xffffffffu", "0x80000000u", "255u", "31u"]).to_owned()
            }
            Unsigned => format!("{}u", random.below(70_000)),
            Signed => format!("({})", random.between(-50, 50)),
            Wide => format!("{}ull", random.below(1 << 40)),
            Long => format!("({}ll)", random.between(-1 << 20, 1 << 20)),
            Float => format!("{:.3}f", random.between(-4000, 4000) as f64 / 1000.0),
            Double => format!("{:.4}", random.between(-90_000, 90_000) as f64 / 10_000.0),
            _ => random.choice(&["true", "false"]).to_owned(),
        };
        leaf(kind, text)
    }

    /// Makes an expression from `pattern`: each `@` is replaced by an expression of the next kind
    /// in `kinds`.
    fn pattern(&mut self, kind: NodeKind, depth: u32, pattern: &str, kinds: &[NodeKind]) -> Tree {
        let children: Vec<Tree> = kinds.iter().map(|kind| self.expression(*kind, depth)).collect();
        tree(kind, pattern, children)
    }

    /// An expression like that of [`pattern`](Self::pattern); `#` in the pattern is replaced by one
    /// of `operators`.
    fn pattern_with(
        &mut self,
        kind: NodeKind,
        depth: u32,
        pattern: &str,
        operators: &[&str],
        kinds: &[NodeKind],
    ) -> Tree {
        let operator = self.random.choice(operators);
        self.pattern(kind, depth, &pattern.replace('#', operator), kinds)
    }

    /// An expression of any other kind, cast to this one.
    fn cast(&mut self, kind: NodeKind, depth: u32, to: &str) -> Tree {
        let from = [Unsigned, Signed, Wide, Long, Float, Double, Truth];
        let from = from[self.random.below(7) as usize];
        // In C, the conversion of a float that no integer can hold is undefined.
        let integer = !matches!(kind, Float | Double);
        let pattern = match from {
            Float if integer => format!("({to})fminf(fmaxf(@, 0.0f), 99999.0f)"),
            Double if integer => format!("({to})fmin(fmax(@, 0.0), 99999.0)"),
            _ => format!("({to})(@)"),
        };
        self.pattern(kind, depth, &pattern, &[from])
    }

    fn unsigned(&mut self, depth: u32) -> Tree {
        let (k, one) = (Unsigned, [Unsigned]);
        let (two, three) = ([k, k], [k, k, k]);
        let array = self.scope.array(&mut self.random);
        match self.random.below(25) {
            0..=5 => self.pattern_with(k, depth, "(@ # @)", &["+", "-", "*", "&", "|", "^"], &two),
            6 => self.pattern_with(k, depth, "(@ # (@ & 31u))", &["<<", ">>"], &two),
            7 => self.pattern_with(k, depth, "(@ # (@ | 1u))", &["/", "%"], &two),
            8 => self.pattern(k, depth, "(@ ? @ : @)", &[Truth, k, k]),
            9 => self.cast(k, depth, "unsigned"),
            10 => self.pattern_with(k, depth, "#(@)", &["~", "-", "(unsigned)!"], &one),
            11 if !array.is_empty() => self.pattern(k, depth, &format!("{array}[@ & 7u]"), &one),
            12 => {
                let to = ["unsigned char", "short", "signed char", "unsigned short", "bool"];
                self.pattern_with(k, depth, "(unsigned)(#)(@)", &to, &one)
            }
            13 => self.pattern_with(
                k,
                depth,
                "#(@, @)",
                &["min", "max", "__umulhi", "__umul24"],
                &two,
            ),
            14 => self.pattern_with(
                k,
                depth,
                "(unsigned)#((int)@)",
                &["__popc", "__clz", "__ffs", "__brev", "__popc", "__clz"],
                &one,
            ),
            15 => {
                let names = ["__byte_perm", "__funnelshift_l", "__funnelshift_r", "__usad"];
                self.pattern_with(k, depth, "#(@, @, @)", &names, &three)
            }
            16 => self.pattern(k, depth, "(unsigned)__dp4a((int)@, (int)@, (int)@)", &three),
            17 => self.pattern_with(k, depth, "#(@, @)", &["__urhadd", "__uhadd"], &two),
            18 => self.pattern(k, depth, "(unsigned)(@ >> 32)", &[Wide]),
            19 => self.pattern(k, depth, "(@ , @)", &two),
            20 => self.pattern_with(
                k,
                depth,
                "(unsigned)(sizeof(#) * @)",
                &["unsigned", "short", "double"],
                &one,
            ),
            21 => self.pattern(k, depth, "plain(__float_as_uint(@))", &[Float]),
            22 => self.pattern(k, depth, "pair_sum(make_pair(@, @))", &two),
            23 => self.pattern(k, depth, "make_uint4(@, @, @, 7u).y", &three),
            _ => self.pattern_with(k, depth, "folded<#>(@)", &["1", "3", "5"], &one),
        }
    }

    fn signed(&mut self, depth: u32) -> Tree {
        let k = Signed;
        let two = [k, k];
        match self.random.below(13) {
            0..=3 => {
                self.pattern_with(k, depth, "((@ & 1023) # (@ & 1023))", &["+", "-", "*"], &two)
            }
            4 => self.pattern(k, depth, "(@ >> (@ & 15))", &two),
            5 => self.pattern_with(k, depth, "(@ # ((@ & 63) + 1))", &["/", "%"], &two),
            6 => self.pattern(k, depth, "(int)(@ & 0xffffu)", &[Unsigned]),
            7 => self.pattern(k, depth, "(@ ? @ : @)", &[Truth, k, k]),
            8 => self.pattern_with(
                k,
                depth,
                "(int)(#)@",
                &["signed char", "short", "char"],
                &[Unsigned],
            ),
            9 => self.pattern_with(k, depth, "#(@, @)", &["min", "max"], &two),
            10 => self.pattern(k, depth, "abs(@ & 4095)", &[k]),
            11 => self.pattern_with(
                k,
                depth,
                "__float2int_#(fminf(fmaxf(@, -9999.0f), 9999.0f))",
                &["rz", "rn", "ru", "rd"],
                &[Float],
            ),
            _ => self.pattern(k, depth, "(int)@", &[Truth]),
        }
    }

    fn wide(&mut self, depth: u32) -> Tree {
        let k = Wide;
        let two = [k, k];
        match self.random.below(12) {
            0..=3 => self.pattern_with(k, depth, "(@ # @)", &["+", "-", "*", "&", "|", "^"], &two),
            4 => self.pattern_with(k, depth, "(@ # (@ & 63u))", &["<<", ">>"], &[k, Unsigned]),
            5 => self.cast(k, depth, "unsigned long long"),
            6 => self.pattern(k, depth, "(unsigned long long)(long long)@", &[Signed]),
            7 => self.pattern_with(k, depth, "(@ # (@ | 1ull))", &["/", "%"], &two),
            8 => self.pattern(k, depth, "(@ ? @ : @)", &[Truth, k, k]),
            9 => self.pattern_with(k, depth, "#(@, @)", &["min", "max", "__umul64hi"], &two),
            10 => self.pattern_with(
                k,
                depth,
                "(unsigned long long)#((long long)@)",
                &["__popcll", "__clzll", "__ffsll", "__brevll"],
                &[k],
            ),
            _ => self.pattern_with(k, depth, "#(@)", &["~", "-"], &[k]),
        }
    }

    fn long(&mut self, depth: u32) -> Tree {
        let k = Long;
        let two = [k, k];
        match self.random.below(9) {
            0..=2 => self.pattern_with(
                k,
                depth,
                "((@ & 1048575ll) # (@ & 1048575ll))",
                &["+", "-", "*"],
                &two,
            ),
            3 => self.pattern(k, depth, "(@ >> (@ & 31))", &two),
            4 => self.pattern_with(k, depth, "(@ # ((@ & 1023ll) + 1ll))", &["/", "%"], &two),
            5 => self.pattern(k, depth, "(long long)@", &[Signed]),
            6 => self.pattern(k, depth, "(long long)(@ & 0xffffffffull)", &[Wide]),
            7 => self.pattern(k, depth, "(@ ? @ : @)", &[Truth, k, k]),
            _ => self.pattern_with(k, depth, "#(@, @)", &["min", "max"], &two),
        }
    }

    fn float(&mut self, depth: u32) -> Tree {
        let k = Float;
        let two = [k, k];
        match self.random.below(17) {
            0..=5 => self.pattern_with(k, depth, "(@ # @)", &["+", "-", "*", "+", "*"], &two),
            6 => self.cast(k, depth, "float"),
            7 => self.pattern(k, depth, "(@ ? @ : @)", &[Truth, k, k]),
            8 => self.pattern_with(
                k,
                depth,
                "#(@)",
                &["fabsf", "-", "floorf", "ceilf", "truncf", "rintf"],
                &[k],
            ),
            9 => self.pattern_with(k, depth, "#(@, @)", &["fminf", "fmaxf"], &two),
            10 => self.pattern(k, depth, "(@ / @)", &two),
            11 => self.pattern(k, depth, "sqrtf(fabsf(@))", &[k]),
            12 => self.pattern(k, depth, "fmaf(@, @, @)", &[k, k, k]),
            13 => {
                let names =
                    ["__fadd_rz", "__fmul_ru", "__fsub_rd", "__fadd_rn", "__fmul_rn", "__fdiv_rn"];
                self.pattern_with(k, depth, "#(@, @)", &names, &two)
            }
            14 => self.pattern_with(k, depth, "#(@, @)", &["fmodf", "fdimf"], &two),
            15 => self.pattern(k, depth, "make_float4(@, @, 1.5f, @).z", &[k, k, k]),
            _ => self.pattern(k, depth, "__saturatef(@)", &[k]),
        }
    }

    fn double(&mut self, depth: u32) -> Tree {
        let k = Double;
        let two = [k, k];
        match self.random.below(13) {
            0..=4 => self.pattern_with(k, depth, "(@ # @)", &["+", "-", "*", "+", "*"], &two),
            5 => self.cast(k, depth, "double"),
            6 => self.pattern(k, depth, "(@ ? @ : @)", &[Truth, k, k]),
            7 => self.pattern_with(
                k,
                depth,
                "#(@)",
                &["fabs", "-", "floor", "ceil", "trunc", "rint"],
                &[k],
            ),
            8 => self.pattern_with(k, depth, "#(@, @)", &["fmin", "fmax"], &two),
            9 => self.pattern(k, depth, "(@ / @)", &two),
            10 => self.pattern(k, depth, "sqrt(fabs(@))", &[k]),
            11 => self.pattern(k, depth, "fma(@, @, @)", &[k, k, k]),
            _ => self.pattern_with(
                k,
                depth,
                "#(@, @)",
                &["__dadd_rz", "__dmul_rn", "__dsub_ru"],
                &two,
            ),
        }
    }

    fn truth(&mut self, depth: u32) -> Tree {
        let orders = ["<", ">", "<=", ">=", "==", "!="];
        let k = [Unsigned, Unsigned, Signed, Wide, Long, Float, Double];
        match self.random.below(7) {
            0..=3 => {
                let kind = k[self.random.below(7) as usize];
                self.pattern_with(Truth, depth, "(@ # @)", &orders, &[kind, kind])
            }
            4 => self.pattern_with(
                Truth,
                depth,
                "(@ # @)",
                &["&&", "||", "!=", "=="],
                &[Truth, Truth],
            ),
            5 => self.pattern(Truth, depth, "!(@)", &[Truth]),
            _ => {
                let kind = k[self.random.below(7) as usize];
                self.pattern(Truth, depth, "(bool)(@)", &[kind])
            }
        }
    }
}
