//! Generation of statements, and of collective operations of a block.

use crate::generate::{Generator, type_of};
use crate::tree::NodeKind::{Double, Float, Frame, Long, Signed, Statement, Truth, Unsigned, Wide};
use crate::tree::{NodeKind, Tree, leaf, sequence, tree};

impl Generator {
    /// Generates one to `most` statements in a scope.
    pub(crate) fn statements(&mut self, depth: u32, most: u64) -> Tree {
        let count = 1 + self.random.below(most);
        let scope = self.scope.clone();
        let inner: Vec<Tree> = (0..count).map(|_| self.statement(depth)).collect();
        self.scope = scope;
        sequence(Frame, inner)
    }

    pub(crate) fn statement(&mut self, depth: u32) -> Tree {
        if depth > 0 && self.random.below(10) < 4 {
            self.nested(depth - 1)
        } else {
            self.simple_statement()
        }
    }

    /// `variable operator expression;`
    fn assignment(&mut self, kind: NodeKind, operators: &[&str]) -> Tree {
        let Some(name) = self.scope.writable(kind, &mut self.random) else {
            return leaf(Statement, ";");
        };
        let operator = self.random.choice(operators);
        let value = self.expression(kind, 3);
        tree(Statement, &format!("{name} {operator} @;"), [value])
    }

    fn simple_statement(&mut self) -> Tree {
        let array = self.scope.array(&mut self.random);
        let narrow: Vec<&str> = self.scope.narrow.iter().map(String::as_str).collect();
        let narrow = if narrow.is_empty() { "" } else { self.random.choice(&narrow) }.to_owned();
        match self.random.below(18) {
            0..=3 => self.assignment(Unsigned, &["=", "+=", "-=", "*=", "^=", "|=", "&="]),
            4 | 5 => self.assignment(Signed, &["="]),
            6 => self.assignment(Wide, &["=", "+=", "^=", "-=", "*="]),
            7 => self.assignment(Long, &["="]),
            8 | 9 => self.assignment(Float, &["=", "+=", "*=", "-="]),
            10 => self.assignment(Double, &["=", "+=", "*=", "-="]),
            11 => self.assignment(Truth, &["="]),
            12 | 13 if !array.is_empty() => {
                let operator = self.random.choice(&["=", "+=", "^=", "*="]);
                let (at, value) = (self.expression(Unsigned, 1), self.expression(Unsigned, 2));
                tree(Statement, &format!("{array}[@ & 7u] {operator} @;"), [at, value])
            }
            14 if !narrow.is_empty() => {
                let operator = self.random.choice(&["=", "+=", "^=", "-=", "*=", "|=", "&="]);
                let value = self.expression(Unsigned, 2);
                tree(Statement, &format!("{narrow} {operator} (@);"), [value])
            }
            15 if !narrow.is_empty() => {
                let pattern = self
                    .random
                    .choice(&["++N;", "N--;", "N >>= 1;", "V = N++;", "V = --N;", "V ^= N;"]);
                let to = self.scope.writable(Unsigned, &mut self.random).unwrap_or_default();
                leaf(Statement, pattern.replace('V', &to).replace('N', &narrow))
            }
            16 => {
                let name = self.scope.writable(Unsigned, &mut self.random).unwrap_or_default();
                let by = self.expression(Unsigned, 1);
                let pattern = self.random.choice(&[
                    "N <<= (@ & 31u);",
                    "N >>= (@ & 31u);",
                    "N %= (@ | 1u);",
                    "N /= (@ | 1u);",
                ]);
                tree(Statement, &pattern.replace('N', &name), [by])
            }
            _ => {
                let name = self.scope.writable(Unsigned, &mut self.random).unwrap_or_default();
                let value = self.expression(Unsigned, 1);
                tree(Statement, &format!("change({name}, @);"), [value])
            }
        }
    }

    fn nested(&mut self, depth: u32) -> Tree {
        match self.random.below(15) {
            0..=2 => {
                let (asked, yes) = (self.expression(Truth, 2), self.statements(depth, 3));
                tree(Statement, "if (@) { @ }", [asked, yes])
            }
            3..=5 => {
                let asked = self.expression(Truth, 2);
                let (yes, no) = (self.statements(depth, 3), self.statements(depth, 3));
                tree(Statement, "if (@) { @ } else { @ }", [asked, yes, no])
            }
            6..=8 => self.counted_loop(depth),
            9 => self.conditional_loop(depth),
            10 => self.switch(),
            11 => self.local(depth),
            12 => {
                let (asked, first) = (self.expression(Truth, 1), self.statements(depth, 2));
                let (number, second) = (self.number(), self.statements(0, 2));
                let pattern = format!("{{ if (@) goto l{number}; @ l{number}: @ }}");
                tree(Statement, &pattern, [asked, first, second])
            }
            13 => {
                let array = self.scope.array(&mut self.random);
                if array.is_empty() {
                    return self.simple_statement();
                }
                let number = self.number();
                let (at, value) = (self.expression(Unsigned, 1), self.expression(Unsigned, 1));
                let pattern = format!(
                    "{{ unsigned *z{number} = {array} + (@ & 3u); z{number}[1] += 3u; *z{number}++ ^= @; *(z{number} + 1) -= {array}[2]; }}"
                );
                tree(Statement, &pattern, [at, value])
            }
            _ => {
                let name = self.scope.writable(Unsigned, &mut self.random).unwrap_or_default();
                let (asked, value) = (self.expression(Truth, 1), self.expression(Truth, 1));
                tree(
                    Statement,
                    &format!("if (@ && ({name} += 3u) > 5u || @) {name} ^= 77u;"),
                    [asked, value],
                )
            }
        }
    }

    /// Generates a local variable, and statements that use it.
    fn local(&mut self, depth: u32) -> Tree {
        let (kind, number) = (self.kind(), self.number());
        let value = self.expression(kind, 2);
        let before = self.scope.clone();
        let name = format!("z{number}");
        let word = self.random.choice(&["", "", "", "volatile "]);
        // A reference without `volatile` can't refer to a volatile variable, so it is only read.
        self.scope.variables.push((kind, name.clone(), word.is_empty()));
        let inner = self.statements(depth, 3);
        self.scope = before;
        let target = self.scope.writable(Unsigned, &mut self.random).unwrap_or_default();
        let end = match kind {
            Float => format!("plain(__float_as_uint({name}))"),
            Double => format!("plain_wide({name})"),
            _ => format!("(unsigned){name}"),
        };
        let pattern = format!("{{ {word}{} {name} = @; @ {target} ^= {end}; }}", type_of(kind));
        tree(Statement, &pattern, [value, inner])
    }

    fn leave_loop(&mut self) -> Tree {
        let asked = self.expression(Truth, 1);
        match self.random.below(4) {
            0 => tree(Statement, "if (@) break;", [asked]),
            1 => tree(Statement, "if (@) continue;", [asked]),
            _ => leaf(Statement, ""),
        }
    }

    fn counted_loop(&mut self, depth: u32) -> Tree {
        if self.loops >= 3 {
            return self.simple_statement();
        }
        let name = format!("n{}", self.number());
        let limit = match self.random.below(4) {
            0 | 1 => leaf(Frame, format!("{}u", 1 + self.random.below(9))),
            2 => {
                let limit = self.expression(Unsigned, 1);
                tree(Frame, "(@ & 7u)", [limit])
            }
            _ => leaf(Frame, "(t & 7u)"),
        };
        let pragma = self.random.choice(&[
            "",
            "",
            "",
            "#pragma unroll\n",
            "#pragma unroll 2\n",
            "#pragma unroll 1\n",
        ]);
        let start = self.random.below(2);
        let step = self.random.choice(&["++N", "N++", "N += 2u", "N += 3u"]).replace('N', &name);
        let before = self.scope.clone();
        self.scope.variables.push((Unsigned, name.clone(), false));
        self.loops += 1;
        let (body, leave) = (self.statements(depth, 3), self.leave_loop());
        self.loops -= 1;
        self.scope = before;
        let target = self.scope.writable(Unsigned, &mut self.random).unwrap_or_default();
        let head = format!("for (unsigned {name} = {start}u; {name} < @; {step})");
        let pragma = if pragma.is_empty() { String::new() } else { format!("\n{pragma}") };
        tree(
            Statement,
            &format!("{pragma}{head} {{ @ @ {target} += {name}; }}"),
            [limit, body, leave],
        )
    }

    /// Generates a `while` or `do` loop, with a counter that limits the iterations.
    fn conditional_loop(&mut self, depth: u32) -> Tree {
        if self.loops >= 3 {
            return self.simple_statement();
        }
        let name = format!("n{}", self.number());
        let most = 1 + self.random.below(6);
        let asked = self.expression(Truth, 2);
        let before = self.scope.clone();
        self.scope.variables.push((Signed, name.clone(), false));
        self.loops += 1;
        let (body, leave) = (self.statements(depth, 2), self.leave_loop());
        self.loops -= 1;
        self.scope = before;
        let pattern = match self.random.below(3) {
            0 => format!("{{ int {name} = {most}; do {{ @ @ }} while (--{name} > 0 && @); }}"),
            1 => format!("for (int {name} = {most}; {name}-- > 0;) {{ @ @ if (@) break; }}"),
            _ => {
                let pattern = format!(
                    "{{ int {name} = 0; while ({name} < {most} && @) {{ {name} += 1; @ @ }} }}"
                );
                return tree(Statement, &pattern, [asked, body, leave]);
            }
        };
        tree(Statement, &pattern, [body, leave, asked])
    }

    fn switch(&mut self) -> Tree {
        let (kind, mask) = match self.random.below(4) {
            0 => (Signed, "& 3"),
            1 => (Wide, "& 3ull"),
            _ => (Unsigned, "& 3u"),
        };
        let asked = self.expression(kind, 2);
        let inner: Vec<Tree> = (0..4).map(|_| self.statements(0, 2)).collect();
        let stops: Vec<&str> =
            (0..3).map(|_| self.random.choice(&["break;", "break;", ""])).collect();
        let pattern = format!(
            "switch (@ {mask}) {{ case 2: @ {} case 0: @ {} default: @ {} case 1: @ }}",
            stops[0], stops[1], stops[2]
        );
        tree(Statement, &pattern, std::iter::once(asked).chain(inner))
    }

    /// An operation that all threads of the block execute together.
    pub(crate) fn collective(&mut self) -> Tree {
        let k = self.random.below(32);
        let name = self.scope.writable(Unsigned, &mut self.random).unwrap_or_default();
        let value = self.expression(Unsigned, 2);
        let one = |pattern: &str| {
            tree(Statement, &pattern.replace('N', &name), [value.clone(), value.clone()])
        };
        match self.random.below(13) {
            0 | 1 => one(&format!(
                "shared[t] = @; __syncthreads(); N = shared[(t + {k}u) & 63u]; __syncthreads();"
            )),
            2 => one(&format!("N ^= __shfl_xor_sync(0xffffffffu, @, {k});")),
            3 => one(&format!(
                "N += __shfl_sync(0xffffffffu, @, (int)(t + {k}u), {});",
                1 << (k % 6)
            )),
            4 => one(&format!("N -= __shfl_down_sync(0xffffffffu, @, {}u);", k)),
            5 => {
                one(&format!("N ^= __shfl_up_sync(0xffffffffu, @, {}u, {});", k % 9, 1 << (k % 6)))
            }
            6 => one("N ^= __ballot_sync(0xffffffffu, (@ & 1u) != 0u);"),
            7 => one(
                "N += (unsigned)__any_sync(0xffffffffu, (int)@) * 2u + (unsigned)__all_sync(0xffffffffu, (int)@);",
            ),
            8 => one("N ^= __match_any_sync(0xffffffffu, @ & 7u);"),
            9 => {
                one("N ^= __reduce_add_sync(0xffffffffu, @) + __reduce_max_sync(0xffffffffu, 7u);")
            }
            10 => one(&format!(
                "atomic{}(&sums[{k}u & 7u], @);",
                ["Add", "Xor", "Max", "Min", "Or", "And", "Add", "Max"][k as usize & 7]
            )),
            11 => {
                let asked = self.expression(Truth, 2);
                tree(
                    Statement,
                    &format!("{name} += (unsigned)__syncthreads_count((int)@);"),
                    [asked],
                )
            }
            _ => {
                let kind = if k & 1 == 0 { Float } else { Double };
                let value = self.expression(kind, 2);
                let Some(name) = self.scope.writable(kind, &mut self.random) else {
                    return one("N = @;");
                };
                tree(Statement, &format!("{name} = __shfl_xor_sync(0xffffffffu, @, {k});"), [value])
            }
        }
    }

    /// Generates collective operations in a loop, and in a branch that all threads take.
    pub(crate) fn collective_in_a_loop(&mut self) -> Tree {
        let name = format!("n{}", self.number());
        let count = 2 + self.random.below(4);
        let before = self.scope.clone();
        self.scope.variables.push((Unsigned, name.clone(), false));
        let (first, second, third) =
            (self.collective(), self.simple_statement(), self.collective());
        self.scope = before;
        let head = format!("for (unsigned {name} = 0u; {name} < {count}u; ++{name})");
        let pattern = format!("{head} {{ @ @ if (blockDim.x > {name} + 1u) {{ @ }} }}");
        tree(Statement, &pattern, [first, second, third])
    }
}
