//! Generation of expressions without undefined behaviour: signed numbers stay small, shift counts
//! and indices are masked, divisors aren't zero, and floats are limited before they become
//! integers.

use crate::generate::Generator;
use crate::tree::NodeKind::{Double, Float, Long, Signed, Truth, Unsigned, Wide};
use crate::tree::{NodeKind, Tree, leaf, tree};

/// A pattern of expressions, with its weight; its text, in which each `@` stands for an operand, `#` for one of the
/// operators, and `ARRAY` for an array of 8 elements; the operators, separated by commas; and the kinds of the
/// operands. `CAST` casts an operand of any kind to the type after it.
type Pattern = (u64, &'static str, &'static str, &'static [NodeKind]);

const UNSIGNED: &[Pattern] = &[
    (6, "(@ # @)", "+,-,*,&,|,^", &[Unsigned; 2]),
    (1, "(@ # (@ & 31u))", "<<,>>", &[Unsigned; 2]),
    (1, "(@ # (@ | 1u))", "/,%", &[Unsigned; 2]),
    (1, "(@ ? @ : @)", "", &[Truth, Unsigned, Unsigned]),
    (1, "CAST", "unsigned", &[]),
    (1, "#(@)", "~,-,(unsigned)!", &[Unsigned]),
    (1, "ARRAY[@ & 7u]", "", &[Unsigned]),
    (1, "(unsigned)(#)(@)", "unsigned char,short,signed char,unsigned short,bool", &[Unsigned]),
    (1, "#(@, @)", "min,max,__umulhi,__umul24", &[Unsigned; 2]),
    (1, "(unsigned)#((int)@)", "__popc,__clz,__ffs,__brev,__popc,__clz", &[Unsigned]),
    (1, "#(@, @, @)", "__byte_perm,__funnelshift_l,__funnelshift_r,__usad", &[Unsigned; 3]),
    (1, "(unsigned)__dp4a((int)@, (int)@, (int)@)", "", &[Unsigned; 3]),
    (1, "#(@, @)", "__urhadd,__uhadd", &[Unsigned; 2]),
    (1, "(unsigned)(@ >> 32)", "", &[Wide]),
    (1, "(@ , @)", "", &[Unsigned; 2]),
    (1, "(unsigned)(sizeof(#) * @)", "unsigned,short,double", &[Unsigned]),
    (1, "plain(__float_as_uint(@))", "", &[Float]),
    (1, "pair_sum(make_pair(@, @))", "", &[Unsigned; 2]),
    (1, "make_uint4(@, @, @, 7u).y", "", &[Unsigned; 3]),
    (1, "folded<#>(@)", "1,3,5", &[Unsigned]),
];

const SIGNED: &[Pattern] = &[
    (4, "((@ & 1023) # (@ & 1023))", "+,-,*", &[Signed; 2]),
    (1, "(@ >> (@ & 15))", "", &[Signed; 2]),
    (1, "(@ # ((@ & 63) + 1))", "/,%", &[Signed; 2]),
    (1, "(int)(@ & 0xffffu)", "", &[Unsigned]),
    (1, "(@ ? @ : @)", "", &[Truth, Signed, Signed]),
    (1, "(int)(#)@", "signed char,short,char", &[Unsigned]),
    (1, "#(@, @)", "min,max", &[Signed; 2]),
    (1, "abs(@ & 4095)", "", &[Signed]),
    (1, "__float2int_#(fminf(fmaxf(@, -9999.0f), 9999.0f))", "rz,rn,ru,rd", &[Float]),
    (1, "(int)@", "", &[Truth]),
];

const WIDE: &[Pattern] = &[
    (4, "(@ # @)", "+,-,*,&,|,^", &[Wide; 2]),
    (1, "(@ # (@ & 63u))", "<<,>>", &[Wide, Unsigned]),
    (1, "CAST", "unsigned long long", &[]),
    (1, "(unsigned long long)(long long)@", "", &[Signed]),
    (1, "(@ # (@ | 1ull))", "/,%", &[Wide; 2]),
    (1, "(@ ? @ : @)", "", &[Truth, Wide, Wide]),
    (1, "#(@, @)", "min,max,__umul64hi", &[Wide; 2]),
    (1, "(unsigned long long)#((long long)@)", "__popcll,__clzll,__ffsll,__brevll", &[Wide]),
    (1, "#(@)", "~,-", &[Wide]),
];

const LONG: &[Pattern] = &[
    (3, "((@ & 1048575ll) # (@ & 1048575ll))", "+,-,*", &[Long; 2]),
    (1, "(@ >> (@ & 31))", "", &[Long; 2]),
    (1, "(@ # ((@ & 1023ll) + 1ll))", "/,%", &[Long; 2]),
    (1, "(long long)@", "", &[Signed]),
    (1, "(long long)(@ & 0xffffffffull)", "", &[Wide]),
    (1, "(@ ? @ : @)", "", &[Truth, Long, Long]),
    (1, "#(@, @)", "min,max", &[Long; 2]),
];

const FLOAT: &[Pattern] = &[
    (6, "(@ # @)", "+,-,*,+,*", &[Float; 2]),
    (1, "CAST", "float", &[]),
    (1, "(@ ? @ : @)", "", &[Truth, Float, Float]),
    (1, "#(@)", "fabsf,-,floorf,ceilf,truncf,rintf", &[Float]),
    (1, "#(@, @)", "fminf,fmaxf", &[Float; 2]),
    (1, "(@ / @)", "", &[Float; 2]),
    (1, "sqrtf(fabsf(@))", "", &[Float]),
    (1, "fmaf(@, @, @)", "", &[Float; 3]),
    (1, "#(@, @)", "__fadd_rz,__fmul_ru,__fsub_rd,__fadd_rn,__fmul_rn,__fdiv_rn", &[Float; 2]),
    (1, "#(@, @)", "fmodf,fdimf", &[Float; 2]),
    (1, "make_float4(@, @, 1.5f, @).z", "", &[Float; 3]),
    (1, "__saturatef(@)", "", &[Float]),
];

const DOUBLE: &[Pattern] = &[
    (5, "(@ # @)", "+,-,*,+,*", &[Double; 2]),
    (1, "CAST", "double", &[]),
    (1, "(@ ? @ : @)", "", &[Truth, Double, Double]),
    (1, "#(@)", "fabs,-,floor,ceil,trunc,rint", &[Double]),
    (1, "#(@, @)", "fmin,fmax", &[Double; 2]),
    (1, "(@ / @)", "", &[Double; 2]),
    (1, "sqrt(fabs(@))", "", &[Double]),
    (1, "fma(@, @, @)", "", &[Double; 3]),
    (1, "#(@, @)", "__dadd_rz,__dmul_rn,__dsub_ru", &[Double; 2]),
];

/// The patterns of a kind; `None` for truth values.
fn patterns(kind: NodeKind) -> Option<&'static [Pattern]> {
    match kind {
        Unsigned => Some(UNSIGNED),
        Signed => Some(SIGNED),
        Wide => Some(WIDE),
        Long => Some(LONG),
        Float => Some(FLOAT),
        Double => Some(DOUBLE),
        _ => None,
    }
}

impl Generator {
    /// Generates an expression of a kind, with at most `depth` nested operations.
    pub(crate) fn expression(&mut self, kind: NodeKind, depth: u32) -> Tree {
        if depth == 0 {
            return self.simple_expression(kind);
        }
        if self.random.one_in(14)
            && let Some(call) = self.call(kind, depth)
        {
            return call;
        }
        match patterns(kind) {
            Some(patterns) => self.draw_pattern(kind, depth - 1, patterns),
            None => self.truth(depth - 1),
        }
    }

    /// Generates an expression from a random pattern, drawn with probabilities proportional to the weights.
    fn draw_pattern(&mut self, kind: NodeKind, depth: u32, patterns: &[Pattern]) -> Tree {
        let array = match kind {
            Unsigned => self.scope.array(&mut self.random),
            _ => String::new(),
        };
        let mut number = self.random.below(patterns.iter().map(|row| row.0).sum());
        let mut drawn = 0;
        while number >= patterns[drawn].0 {
            number -= patterns[drawn].0;
            drawn += 1;
        }
        if patterns[drawn].1.contains("ARRAY") && array.is_empty() {
            drawn = patterns.len() - 1;
        }
        let (_, pattern, operators, kinds) = patterns[drawn];
        let operators: Vec<&str> = operators.split(',').collect();
        match pattern {
            "CAST" => self.cast(kind, depth, operators[0]),
            _ if pattern.contains('#') => {
                self.pattern_with(kind, depth, pattern, &operators, kinds)
            }
            _ => self.pattern(kind, depth, &pattern.replace("ARRAY", &array), kinds),
        }
    }

    fn simple_expression(&mut self, kind: NodeKind) -> Tree {
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

    /// Generates an expression as [`pattern`](Self::pattern) does; `#` in the pattern is replaced by one of
    /// `operators`.
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

    /// Generates an expression of another kind, cast to this kind.
    fn cast(&mut self, kind: NodeKind, depth: u32, to: &str) -> Tree {
        let from = [Unsigned, Signed, Wide, Long, Float, Double, Truth];
        let from = from[self.random.below(7) as usize];
        // In C, converting a float that is outside an integer type's range is undefined.
        let integer = !matches!(kind, Float | Double);
        let pattern = match from {
            Float if integer => format!("({to})fminf(fmaxf(@, 0.0f), 99999.0f)"),
            Double if integer => format!("({to})fmin(fmax(@, 0.0), 99999.0)"),
            _ => format!("({to})(@)"),
        };
        self.pattern(kind, depth, &pattern, &[from])
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
