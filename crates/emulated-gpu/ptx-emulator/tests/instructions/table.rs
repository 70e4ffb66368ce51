//! The tables in rows/*.txt, and the kernels that test their rows.

use std::fs;
use std::path::{Path, PathBuf};

/// An instruction and its test vectors.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    /// The file and line of the row.
    pub(crate) place: String,
    /// The instruction, or several.
    pub(crate) text: String,
    /// Input and output registers, such as `r1`, in the order of their first use.
    pub(crate) inputs: Vec<String>,
    pub(crate) outputs: Vec<String>,
    pub(crate) vectors: Vec<Vector>,
}

/// Operands and their expected results.
#[derive(Clone, Debug)]
pub(crate) struct Vector {
    pub(crate) place: String,
    pub(crate) operands: Vec<u128>,
    pub(crate) results: Vec<Expected>,
}

/// An expected result.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Expected {
    Bits(u128),
    /// Any NaN.
    Nan,
    /// The expected value, and the number of units in the last place by which the result may differ from it.
    Near(u128, u64),
    /// The expected f32, and the maximum absolute error.
    Within(u128, f64),
    /// The upper and lower halves of a packed register.
    Halves(Box<Expected>, Box<Expected>),
}

/// The size of a register in the buffers of a test, in bytes.
pub(crate) const SLOT: usize = 16;

/// Every case of every table.
pub(crate) fn all() -> Vec<Case> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/instructions/rows");
    let mut files: Vec<PathBuf> =
        fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files.iter().flat_map(|path| parse(path)).collect()
}

fn parse(path: &Path) -> Vec<Case> {
    let text = fs::read_to_string(path).unwrap();
    let name = path.file_name().unwrap().to_string_lossy().into_owned();
    let mut cases: Vec<Case> = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let place = format!("{name}:{}", number + 1);
        if line.trim().is_empty() || line.starts_with('#') {
            continue;
        }
        if let Some(vector) = line.strip_prefix("  ") {
            let case = cases.last_mut().unwrap_or_else(|| panic!("{place}: no instruction"));
            let (operands, results) =
                vector.split_once('=').unwrap_or_else(|| panic!("{place}: lacks `=`"));
            let vector = Vector {
                operands: operands.split_whitespace().map(|word| number_of(word, &place)).collect(),
                results: results.split_whitespace().map(|word| expected(word, &place)).collect(),
                place,
            };
            assert_eq!(vector.operands.len(), case.inputs.len(), "{}: operands", vector.place);
            assert_eq!(vector.results.len(), case.outputs.len(), "{}: results", vector.place);
            case.vectors.push(vector);
            continue;
        }
        let registers = |numbers: std::ops::RangeInclusive<char>| {
            let mut found: Vec<String> = Vec::new();
            for (at, _) in line.match_indices('%') {
                let mut rest = line[at + 1..].chars();
                let (Some(class), Some(digit)) = (rest.next(), rest.next()) else { continue };
                let register = format!("{class}{digit}");
                let ends = !rest.next().is_some_and(|next| next.is_alphanumeric());
                if "bhrdqp".contains(class)
                    && numbers.contains(&digit)
                    && ends
                    && !found.contains(&register)
                {
                    found.push(register);
                }
            }
            found
        };
        cases.push(Case {
            place,
            text: line.to_owned(),
            inputs: registers('1'..='4'),
            outputs: registers('5'..='8'),
            vectors: Vec::new(),
        });
    }
    cases
}

/// Parses a number: decimal, negative or hexadecimal.
fn number_of(word: &str, place: &str) -> u128 {
    let parsed = match (word.strip_prefix("0x"), word.strip_prefix('-')) {
        (Some(digits), _) => u128::from_str_radix(digits, 16).ok(),
        (None, Some(digits)) => digits.parse().ok().map(u128::wrapping_neg),
        (None, None) => word.parse().ok(),
    };
    parsed.unwrap_or_else(|| panic!("{place}: `{word}` is not a number"))
}

fn expected(word: &str, place: &str) -> Expected {
    if let Some((high, low)) = word.split_once('/') {
        return Expected::Halves(Box::new(expected(high, place)), Box::new(expected(low, place)));
    }
    if word == "nan" {
        return Expected::Nan;
    }
    if let Some((bits, units)) = word.split_once('~') {
        let units = units.parse().unwrap_or_else(|_| panic!("{place}: `{word}`"));
        return Expected::Near(number_of(bits, place), units);
    }
    if let Some((bits, distance)) = word.split_once('±') {
        let distance = distance.parse().unwrap_or_else(|_| panic!("{place}: `{word}`"));
        return Expected::Within(number_of(bits, place), distance);
    }
    Expected::Bits(number_of(word, place))
}

/// The width of a register class in bits.
pub(crate) fn width(register: &str) -> u32 {
    match register.as_bytes()[0] {
        b'b' => 8,
        b'h' => 16,
        b'r' => 32,
        b'd' => 64,
        b'q' => 128,
        _ => 1,
    }
}

fn mask(width: u32) -> u128 {
    if width == 128 { u128::MAX } else { (1 << width) - 1 }
}

impl Expected {
    /// Whether the bits of a register are as expected. `float` is the format that decides which bits are a NaN.
    pub(crate) fn agrees(&self, bits: u128, width: u32, float: Float) -> bool {
        let bits = bits & mask(width);
        match self {
            Self::Bits(expected) => bits == expected & mask(width),
            Self::Nan => float.is_nan(bits, width),
            Self::Near(expected, units) => {
                // As integers, the encodings of one sign are ordered.
                !float.is_nan(bits, width) && bits.abs_diff(*expected) <= u128::from(*units)
            }
            Self::Within(expected, distance) => {
                let value = |bits: u128| f64::from(f32::from_bits(bits as u32));
                (value(bits) - value(*expected)).abs() <= *distance
            }
            Self::Halves(high, low) => {
                let half = width / 2;
                high.agrees(bits >> half, half, float) && low.agrees(bits & mask(half), half, float)
            }
        }
    }
}

/// The 16-bit floating-point format of a NaN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Float {
    Ieee,
    Brain,
}

impl Float {
    /// The format by the type of an instruction's result.
    pub(crate) fn of_result(text: &str) -> Self {
        let opcode = text.split_whitespace().next().unwrap_or_default();
        let brain =
            opcode.split('.').find(|word| word.starts_with("bf16") || word.starts_with("f16"));
        if brain.is_some_and(|word| word.starts_with('b')) { Self::Brain } else { Self::Ieee }
    }

    fn is_nan(self, bits: u128, width: u32) -> bool {
        let infinity = match (width, self) {
            (16, Self::Ieee) => 0x7c00,
            (16, Self::Brain) => 0x7f80,
            (32, _) => 0x7f80_0000,
            _ => 0x7ff0_0000_0000_0000,
        };
        bits & mask(width - 1) > infinity
    }
}

/// The beginning of every text.
pub(crate) const HEADER: &str = "\
.version 8.8
.target sm_90a
.address_size 64
.const .align 16 .b8 table[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
.global .align 16 .b8 counted[16] = {15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0};
.func (.reg .b32 out) square(.reg .b32 in)
{
    mul.lo.u32 out, in, in;
    ret;
}
.func (.param .b32 out) cube(.param .b32 in)
{
    .reg .b32 %x, %y;
    ld.param.u32 %x, [in];
    mul.lo.u32 %y, %x, %x;
    mul.lo.u32 %y, %y, %x;
    st.param.u32 [out], %y;
    ret;
}
";

/// Declarations of vector registers.
pub(crate) const VECTORS: &str = "\
.reg .v2 .b8 pair8; .reg .v2 .b16 pair16; .reg .v2 .b32 pair32; .reg .v2 .b64 pair64;
.reg .v4 .b8 quad8; .reg .v4 .b16 quad16; .reg .v4 .b32 quad32;
";

impl Case {
    /// An entry with this name that reads the operands of each thread, runs the instructions, and writes the
    /// results. `%g`, `%s` and `%l` are addresses of 64 bytes per thread in global (64 bits), shared (32 bits)
    /// and local (64 bits) memory.
    pub(crate) fn entry(&self, name: &str) -> String {
        let threads = self.vectors.len().max(1);
        let mut text = format!(
            ".visible .entry {name}(.param .u64 from, .param .u64 to, .param .u64 scratch, \
             .param .align 16 .b8 bytes[16])\n{{\n\
             .reg .pred %p<10>; .reg .b8 %b<10>; .reg .b16 %h<10>; .reg .b32 %r<10>; .reg .b64 %d<10>;\n\
             .reg .b128 %q<10>; .reg .b32 %s, %i<4>; .reg .b64 %g, %l, %a<9>;\n\
             {VECTORS}.shared .align 16 .b8 box[{}]; .local .align 16 .b8 own[64];\n\
             mov.u32 %i0, %tid.x;\n\
             ld.param.u64 %a0, [from]; ld.param.u64 %a1, [to]; ld.param.u64 %g, [scratch];\n\
             mul.wide.u32 %a2, %i0, {}; add.u64 %a0, %a0, %a2;\n\
             mul.wide.u32 %a2, %i0, {}; add.u64 %a1, %a1, %a2;\n\
             mul.wide.u32 %a2, %i0, 64; add.u64 %g, %g, %a2;\n\
             mov.u32 %s, box; mad.lo.u32 %s, %i0, 64, %s; mov.u64 %l, own;\n",
            threads * 64,
            self.inputs.len() * SLOT,
            self.outputs.len() * SLOT,
        );
        for (index, register) in self.inputs.iter().enumerate() {
            let at = index * SLOT;
            text += &match width(register) {
                1 => format!("ld.global.u64 %a3, [%a0+{at}]; setp.ne.u64 %{register}, %a3, 0;\n"),
                8 => format!("ld.global.u8 %{register}, [%a0+{at}];\n"),
                16 => format!("ld.global.u16 %{register}, [%a0+{at}];\n"),
                32 => format!("ld.global.u32 %{register}, [%a0+{at}];\n"),
                64 => format!("ld.global.u64 %{register}, [%a0+{at}];\n"),
                _ => format!(
                    "ld.global.v2.u64 {{%a3, %a4}}, [%a0+{at}]; mov.b128 %{register}, {{%a3, %a4}};\n"
                ),
            };
        }
        for statement in self.text.split(';') {
            let end = if statement.trim() == "}" { "" } else { ";" };
            text += &format!("{}{end}\n", statement.trim());
        }
        for (index, register) in self.outputs.iter().enumerate() {
            let at = index * SLOT;
            text += &match width(register) {
                1 => format!("selp.u64 %a3, 1, 0, %{register}; st.global.u64 [%a1+{at}], %a3;\n"),
                8 => format!("st.global.u8 [%a1+{at}], %{register};\n"),
                16 => format!("st.global.u16 [%a1+{at}], %{register};\n"),
                32 => format!("st.global.u32 [%a1+{at}], %{register};\n"),
                64 => format!("st.global.u64 [%a1+{at}], %{register};\n"),
                _ => format!(
                    "mov.b128 {{%a3, %a4}}, %{register}; st.global.v2.u64 [%a1+{at}], {{%a3, %a4}};\n"
                ),
            };
        }
        text + "ret;\n}\n"
    }
}
