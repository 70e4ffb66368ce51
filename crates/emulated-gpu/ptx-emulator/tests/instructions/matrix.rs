//! Every form of the matrix instructions, as listed in the PTX ISA 8.8 for sm_70 to sm_90.

/// A form: the instruction's name and its operands.
#[derive(Clone, Debug)]
pub(crate) struct MatrixForm {
    pub(crate) name: String,
    pub(crate) operands: Vec<Operand>,
}

/// An operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operand {
    /// A vector with this number of registers of a class: `r` for 32 bits, `d` for 64.
    Vector(usize, char),
    /// An address: `g` for generic or global, `s` for shared.
    Address(char),
    /// One register.
    One,
    /// A constant.
    Number(u32),
}

/// A product of `mma.sp`, which always has 16 rows and 8 columns.
#[derive(Clone, Debug)]
pub(crate) struct SparseProduct {
    /// The number of columns of a.
    pub(crate) k: usize,
    pub(crate) d: &'static str,
    pub(crate) a: &'static str,
    pub(crate) b: &'static str,
    /// `satfinite`, or empty.
    pub(crate) modifier: &'static str,
    /// `::ordered_metadata`, or empty.
    pub(crate) metadata: &'static str,
    pub(crate) selector: u32,
}

impl SparseProduct {
    pub(crate) fn name(&self) -> String {
        let Self { k, d, a, b, modifier, metadata, .. } = self;
        let before = if modifier.is_empty() { String::new() } else { format!(".{modifier}") };
        format!("mma.sp{metadata}.sync.aligned.m16n8k{k}.row.col{before}.{d}.{a}.{b}.{d}")
    }

    /// The numbers of registers of d, a, b and c.
    pub(crate) fn registers(&self) -> [usize; 4] {
        let of = |elements: usize, ty: &str| elements / 32 / (32 / bits(ty));
        let sums = of(16 * 8, self.d);
        [sums, of(16 * self.k / 2, self.a), of(self.k * 8, self.b), sums]
    }
}

/// All forms of `mma.sp`, with each selector.
pub(crate) fn sparse_products() -> Vec<SparseProduct> {
    let mut found = Vec::new();
    let mut add = |k, types: [&'static str; 3], modifier, selectors| {
        let [d, a, b] = types;
        for metadata in ["", "::ordered_metadata"] {
            for selector in 0..selectors {
                found.push(SparseProduct { k, d, a, b, modifier, metadata, selector });
            }
        }
    };
    for (k, selectors) in [(16, 4), (32, 2)] {
        add(k, ["f16", "f16", "f16"], "", selectors);
        add(k, ["f32", "f16", "f16"], "", selectors);
        add(k, ["f32", "bf16", "bf16"], "", selectors);
        add(k / 2, ["f32", "tf32", "tf32"], "", selectors);
    }
    for a in ["e4m3", "e5m2"] {
        for b in ["e4m3", "e5m2"] {
            add(64, ["f32", a, b], "", 1);
        }
    }
    for modifier in ["", "satfinite"] {
        for (k, selectors) in [(32, 2), (64, 1)] {
            for (a, b) in [("s8", "s8"), ("s8", "u8"), ("u8", "s8"), ("u8", "u8")] {
                add(k, ["s32", a, b], modifier, selectors);
            }
            for (a, b) in [("s4", "s4"), ("s4", "u4"), ("u4", "s4"), ("u4", "u4")] {
                add(2 * k, ["s32", a, b], modifier, selectors);
            }
        }
    }
    found
}

/// A product of `mma`.
#[derive(Clone, Debug)]
pub(crate) struct Product {
    pub(crate) shape: (usize, usize, usize),
    /// Whether a and b are `.row`.
    pub(crate) rows: (bool, bool),
    pub(crate) d: &'static str,
    pub(crate) a: &'static str,
    pub(crate) b: &'static str,
    pub(crate) c: &'static str,
    /// `satfinite`, `xor.popc`, …, or empty.
    pub(crate) modifier: &'static str,
}

/// Whether a word of a name is an element type.
pub(crate) fn is_type(word: &str) -> bool {
    let types = "f16 bf16 tf32 f32 f64 e4m3 e5m2 s8 u8 s4 u4 b1 s32";
    types.split(' ').any(|ty| ty == word)
}

/// The width of an element in bits.
pub(crate) fn bits(ty: &str) -> usize {
    match ty {
        "b1" => 1,
        "s4" | "u4" => 4,
        "s8" | "u8" | "e4m3" | "e5m2" => 8,
        "f16" | "bf16" => 16,
        "f64" => 64,
        _ => 32,
    }
}

fn layout(rows: bool) -> &'static str {
    if rows { "row" } else { "col" }
}

impl Product {
    pub(crate) fn name(&self) -> String {
        let (m, n, k) = self.shape;
        let (a, b) = (layout(self.rows.0), layout(self.rows.1));
        let (before, behind) = match self.modifier {
            "" => (String::new(), String::new()),
            "satfinite" => (".satfinite".into(), String::new()),
            bits => (String::new(), format!(".{bits}")),
        };
        let Self { d, a: at, b: bt, c, .. } = self;
        format!("mma.sync.aligned.m{m}n{n}k{k}.{a}.{b}{before}.{d}.{at}.{bt}.{c}{behind}")
    }

    /// The numbers of registers of d, a, b and c.
    pub(crate) fn registers(&self) -> [usize; 4] {
        let (m, n, k) = self.shape;
        let fourfold = if self.a == "f16" && self.shape == (8, 8, 4) { 4 } else { 1 };
        let of = |elements: usize, ty: &str| {
            let per_register = if ty == "f64" { 1 } else { 32 / bits(ty) };
            fourfold * elements / 32 / per_register
        };
        [of(m * n, self.d), of(m * k, self.a), of(k * n, self.b), of(m * n, self.c)]
    }
}

/// All forms of `mma`.
pub(crate) fn products() -> Vec<Product> {
    let mut found = Vec::new();
    let mut add = |shape, types: [&'static str; 4], modifier| {
        let [d, a, b, c] = types;
        found.push(Product { shape, rows: (true, false), d, a, b, c, modifier });
    };
    for sum in ["f16", "f32"] {
        for k in [8, 16] {
            add((16, 8, k), [sum, "f16", "f16", sum], "");
        }
        for k in [16, 32] {
            for a in ["e4m3", "e5m2"] {
                for b in ["e4m3", "e5m2"] {
                    add((16, 8, k), [sum, a, b, sum], "");
                }
            }
        }
    }
    for k in [8, 16] {
        add((16, 8, k), ["f32", "bf16", "bf16", "f32"], "");
    }
    for k in [4, 8] {
        add((16, 8, k), ["f32", "tf32", "tf32", "f32"], "");
    }
    for (m, k) in [(8, 4), (16, 4), (16, 8), (16, 16)] {
        add((m, 8, k), ["f64"; 4], "");
    }
    for (m, k) in [(8, 16), (16, 16), (16, 32)] {
        for modifier in ["", "satfinite"] {
            for a in ["s8", "u8"] {
                for b in ["s8", "u8"] {
                    add((m, 8, k), ["s32", a, b, "s32"], modifier);
                }
            }
            for a in ["s4", "u4"] {
                for b in ["s4", "u4"] {
                    add((m, 8, 2 * k), ["s32", a, b, "s32"], modifier);
                }
            }
        }
        for modifier in ["xor.popc", "and.popc"] {
            add((m, 8, 8 * k), ["s32", "b1", "b1", "s32"], modifier);
        }
    }
    for rows in [(true, true), (true, false), (false, true), (false, false)] {
        for (d, c) in [("f16", "f16"), ("f32", "f16"), ("f32", "f32")] {
            let (a, b) = ("f16", "f16");
            found.push(Product { shape: (8, 8, 4), rows, d, a, b, c, modifier: "" });
        }
    }
    found
}

/// A product of `wmma`: the shape, the type of the factors, and the types of the sums (d, c).
type Tile = ((usize, usize, usize), &'static str, &'static [(&'static str, &'static str)]);

const LARGE: [(usize, usize, usize); 3] = [(16, 16, 16), (8, 32, 16), (32, 8, 16)];

fn tiles() -> Vec<Tile> {
    let mut found: Vec<Tile> = Vec::new();
    for shape in LARGE {
        found.push((
            shape,
            "f16",
            &[("f16", "f16"), ("f16", "f32"), ("f32", "f16"), ("f32", "f32")],
        ));
        found.push((shape, "bf16", &[("f32", "f32")]));
        found.push((shape, "s8", &[("s32", "s32")]));
        found.push((shape, "u8", &[("s32", "s32")]));
    }
    found.push(((16, 16, 8), "tf32", &[("f32", "f32")]));
    found.push(((8, 8, 4), "f64", &[("f64", "f64")]));
    found.push(((8, 8, 32), "s4", &[("s32", "s32")]));
    found.push(((8, 8, 32), "u4", &[("s32", "s32")]));
    found.push(((8, 8, 128), "b1", &[("s32", "s32")]));
    found
}

/// The registers of a `wmma` fragment.
fn fragment(elements: usize, ty: &str, factor: bool) -> Operand {
    let class = if ty == "f64" { 'd' } else { 'r' };
    if ty == "f16" && factor {
        return Operand::Vector(8, 'r');
    }
    let per_register = if ty == "f64" { 1 } else { 32 / bits(ty) };
    Operand::Vector(elements / 32 / per_register, class)
}

/// All forms.
pub(crate) fn all() -> Vec<MatrixForm> {
    let mut found: Vec<MatrixForm> = Vec::new();
    for product in products() {
        let types = [product.d, product.a, product.b, product.c];
        let class = |ty: &str| if ty == "f64" { 'd' } else { 'r' };
        let vectors = product.registers().into_iter().zip(types);
        let operands = vectors.map(|(count, ty)| Operand::Vector(count, class(ty))).collect();
        found.push(MatrixForm { name: product.name(), operands });
    }
    for product in sparse_products() {
        let [d, a, b, c] = product.registers().map(|count| Operand::Vector(count, 'r'));
        let selector = Operand::Number(product.selector);
        found.push(MatrixForm {
            name: product.name(),
            operands: vec![d, a, b, c, Operand::One, selector],
        });
    }
    let layouts = |ty: &str| -> &'static [(bool, bool)] {
        if matches!(ty, "s4" | "u4" | "b1") {
            &[(true, false)]
        } else {
            &[(true, true), (true, false), (false, true), (false, false)]
        }
    };
    for ((m, n, k), ty, sums) in tiles() {
        let shape = format!("m{m}n{n}k{k}");
        let vectors = [fragment(m * k, ty, true), fragment(k * n, ty, true)];
        for &(a_rows, b_rows) in layouts(ty) {
            let (a, b) = (layout(a_rows), layout(b_rows));
            for &(d, c) in sums {
                let types =
                    if ty == "f16" { format!("{d}.{c}") } else { format!("{d}.{ty}.{ty}.{c}") };
                let (before, behinds): (&[&str], &[&str]) = match ty {
                    "b1" => (&[".xor.popc", ".and.popc"], &[""]),
                    "f64" => (&[""], &["", ".rn", ".rz", ".rm", ".rp"]),
                    "s8" | "u8" | "s4" | "u4" => (&[""], &["", ".satfinite"]),
                    _ => (&[""], &[""]),
                };
                for bitwise in before {
                    for behind in behinds {
                        let (middle, last) =
                            if ty == "f64" { (*behind, "") } else { ("", *behind) };
                        found.push(MatrixForm {
                            name: format!(
                                "wmma.mma{bitwise}.sync.aligned.{a}.{b}.{shape}{middle}.{types}{last}"
                            ),
                            operands: vec![
                                fragment(m * n, d, false),
                                vectors[0],
                                vectors[1],
                                fragment(m * n, c, false),
                            ],
                        });
                    }
                }
            }
        }
        let mut sums: Vec<&str> = sums.iter().map(|(_, c)| *c).collect();
        sums.dedup();
        sums.truncate(2);
        let spaces = [("", 'g'), (".global", 'g'), (".shared", 's'), (".shared::cta", 's')];
        for (space, address) in spaces {
            for rows in [true, false] {
                let order = layout(rows);
                for (which, vector) in [("a", vectors[0]), ("b", vectors[1])] {
                    let narrow = matches!(ty, "s4" | "u4" | "b1");
                    if narrow && rows != (which == "a") {
                        continue;
                    }
                    found.push(MatrixForm {
                        name: format!("wmma.load.{which}.sync.aligned.{order}.{shape}{space}.{ty}"),
                        operands: vec![vector, Operand::Address(address), Operand::One],
                    });
                }
                for sum in &sums {
                    let vector = fragment(m * n, sum, false);
                    found.push(MatrixForm {
                        name: format!("wmma.load.c.sync.aligned.{order}.{shape}{space}.{sum}"),
                        operands: vec![vector, Operand::Address(address), Operand::One],
                    });
                    found.push(MatrixForm {
                        name: format!("wmma.store.d.sync.aligned.{order}.{shape}{space}.{sum}"),
                        operands: vec![Operand::Address(address), vector, Operand::One],
                    });
                }
            }
        }
    }
    for (count, number) in [(1, "x1"), (2, "x2"), (4, "x4")] {
        for transposed in ["", ".trans"] {
            for (space, address) in [("", 'g'), (".shared", 's'), (".shared::cta", 's')] {
                let (vector, address) = (Operand::Vector(count, 'r'), Operand::Address(address));
                let rest = format!("sync.aligned.m8n8.{number}{transposed}{space}.b16");
                found.push(MatrixForm {
                    name: format!("ldmatrix.{rest}"),
                    operands: vec![vector, address],
                });
                found.push(MatrixForm {
                    name: format!("stmatrix.{rest}"),
                    operands: vec![address, vector],
                });
            }
        }
    }
    found.push(MatrixForm {
        name: "movmatrix.sync.aligned.m8n8.trans.b16".into(),
        operands: vec![Operand::One, Operand::One],
    });
    found
}

impl MatrixForm {
    /// The form as a statement: registers are `%r0` and so on for each vector, addresses are `%g` or `%s`.
    pub(crate) fn statement(&self) -> String {
        let operand = |operand: &Operand| match operand {
            Operand::Vector(count, class) => {
                let list: Vec<String> = (0..*count).map(|i| format!("%{class}{i}")).collect();
                format!("{{{}}}", list.join(","))
            }
            Operand::Address(which) => format!("[%{which}]"),
            Operand::One => "%r1".into(),
            Operand::Number(number) => number.to_string(),
        };
        let list: Vec<String> = self.operands.iter().map(operand).collect();
        format!("{} {}", self.name, list.join(", "))
    }
}
