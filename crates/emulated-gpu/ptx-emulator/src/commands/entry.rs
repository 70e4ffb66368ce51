//! Finds the kernel that `--entry` names: by its PTX name, or by its CUDA C name, such as `reverse<double>`.

use crate::{Kernel, Loaded};

use super::Failure;

/// Maximum nesting of types and arguments in a demangled name.
const MAX_NESTING: u32 = 64;
/// Maximum length of a demangled name. A substitution may double the length at each step.
const MAX_LENGTH: usize = 4096;

/// Finds the kernel with a name, or the only kernel.
///
/// # Errors
/// If no entry has the name, or several have it.
pub(super) fn find(loaded: &Loaded, name: Option<&str>) -> Result<Kernel, Failure> {
    let names = loaded.kernels();
    let list = || match names.is_empty() {
        true => "none".to_owned(),
        false => names.iter().map(|kernel| display_name(kernel)).collect::<Vec<_>>().join(", "),
    };
    let Some(name) = name else {
        let only = if let [only] = &names[..] { loaded.kernel(only) } else { None };
        return only.ok_or_else(|| {
            Failure::Usage(format!("name one of the entries with --entry: {}", list()))
        });
    };
    if let Some(kernel) = loaded.kernel(name) {
        return Ok(kernel);
    }
    let wanted = normalised(name);
    let is_called = |kernel: &&String| {
        cuda_c::source_name(kernel) == name
            || instance(kernel).is_some_and(|instance| normalised(&instance) == wanted)
    };
    let fitting: Vec<&String> = names.iter().filter(is_called).collect();
    match fitting[..] {
        [one] => loaded.kernel(one),
        _ => None,
    }
    .ok_or_else(|| {
        Failure::Usage(match fitting.len() {
            0 | 1 => format!("unknown entry point {name}: the file has {}", list()),
            count => format!("{count} entries are called {name}: name one of {}", list()),
        })
    })
}

/// A kernel's name, with its CUDA C name if it is an instance of a template.
fn display_name(kernel: &str) -> String {
    match instance(kernel) {
        Some(instance) => format!("{kernel} ({instance})"),
        None => kernel.to_owned(),
    }
}

/// A name without optional spelling: spaces, and the suffixes of integers.
fn normalised(name: &str) -> String {
    let mut text: String = name.chars().filter(|c| !c.is_whitespace()).collect();
    for (long, short) in [
        ("unsignedint", "unsigned"),
        ("longint", "long"),
        ("shortint", "short"),
        ("signedint", "int"),
    ] {
        text = text.replace(long, short);
    }
    let mut out = String::new();
    let mut number = false;
    for c in text.chars() {
        if number && matches!(c, 'u' | 'U' | 'l' | 'L') {
            continue;
        }
        number = c.is_ascii_digit()
            && (number || !out.ends_with(|c: char| c.is_alphanumeric() || c == '_'));
        out.push(c);
    }
    out
}

/// Demangles an instance of a template to its CUDA C name, such as `reverse<double>` (Itanium C++ ABI,
/// "Mangling"). `None` for other names, and for anything but types and integers as arguments.
fn instance(kernel: &str) -> Option<String> {
    let mut reader = Reader { rest: kernel.strip_prefix("_Z")?, known: Vec::new(), depth: 0 };
    let name = reader.name()?;
    name.ends_with('>').then_some(name)
}

struct Reader<'n> {
    rest: &'n str,
    /// The texts that substitutions refer to.
    known: Vec<String>,
    depth: u32,
}

impl Reader<'_> {
    fn eat(&mut self, prefix: &str) -> bool {
        let rest = self.rest.strip_prefix(prefix);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    /// A name with its arguments: `7reverseIdE` or `N2ns7reverseIdEE`.
    fn name(&mut self) -> Option<String> {
        if self.eat("N") {
            let mut name = String::new();
            while !self.eat("E") {
                name = match self.rest.starts_with('I') {
                    true => name + &self.arguments()?,
                    false if name.is_empty() => self.part()?,
                    false => format!("{name}::{}", self.part()?),
                };
                self.add_substitution(&name)?;
            }
            return Some(name);
        }
        let name = self.part()?;
        if !self.rest.starts_with('I') {
            return Some(name);
        }
        self.add_substitution(&name)?;
        Some(name + &self.arguments()?)
    }

    /// An identifier after its length, or a substitution.
    fn part(&mut self) -> Option<String> {
        if self.rest.starts_with('S') {
            return self.substitution();
        }
        let digits = self.rest.find(|c: char| !c.is_ascii_digit())?;
        let (length, rest) = self.rest.split_at(digits);
        let length: usize = length.parse().ok()?;
        let name = rest.get(..length)?;
        self.rest = &rest[length..];
        Some(name.to_owned())
    }

    fn substitution(&mut self) -> Option<String> {
        self.rest = self.rest.strip_prefix('S')?;
        let (number, rest) = self.rest.split_once('_')?;
        self.rest = rest;
        let index = if number.is_empty() { 0 } else { usize::from_str_radix(number, 36).ok()? + 1 };
        self.known.get(index).cloned()
    }

    fn add_substitution(&mut self, text: &str) -> Option<()> {
        (text.len() <= MAX_LENGTH).then(|| self.known.push(text.to_owned()))
    }

    fn arguments(&mut self) -> Option<String> {
        self.rest = self.rest.strip_prefix('I')?;
        let mut list = Vec::new();
        // `J` to `E` is a template parameter pack; its arguments are listed like arguments outside a pack.
        let mut packs = 0;
        loop {
            if self.eat("J") {
                packs += 1;
            } else if self.eat("E") {
                if packs == 0 {
                    return Some(format!("<{}>", list.join(", ")));
                }
                packs -= 1;
            } else if self.eat("L") {
                list.push(self.literal()?);
            } else {
                list.push(self.ty()?);
            }
        }
    }

    fn literal(&mut self) -> Option<String> {
        let is_bool = self.rest.starts_with('b');
        self.ty()?;
        let (value, rest) = self.rest.split_once('E')?;
        self.rest = rest;
        Some(match (is_bool, value) {
            (true, "0") => "false".to_owned(),
            (true, _) => "true".to_owned(),
            _ => value.replacen('n', "-", 1),
        })
    }

    fn ty(&mut self) -> Option<String> {
        const NAMES: [(&str, &str); 16] = [
            ("v", "void"),
            ("b", "bool"),
            ("c", "char"),
            ("a", "signed char"),
            ("h", "unsigned char"),
            ("s", "short"),
            ("t", "unsigned short"),
            ("i", "int"),
            ("j", "unsigned int"),
            ("l", "long"),
            ("m", "unsigned long"),
            ("x", "long long"),
            ("y", "unsigned long long"),
            ("w", "wchar_t"),
            ("f", "float"),
            ("d", "double"),
        ];
        if let Some((_, name)) = NAMES.iter().find(|(letter, _)| self.rest.starts_with(letter)) {
            self.rest = &self.rest[1..];
            return Some((*name).to_owned());
        }
        self.depth += 1;
        if self.depth > MAX_NESTING {
            return None;
        }
        let text = if self.eat("P") {
            self.ty()? + "*"
        } else if self.eat("R") {
            self.ty()? + "&"
        } else if self.eat("K") {
            let inner = self.ty()?;
            if inner.ends_with('*') { inner + " const" } else { format!("const {inner}") }
        } else {
            let known = self.rest.starts_with('S');
            let name = self.name()?;
            // A substitution, and a name with several parts, have already been recorded.
            if !known && !name.contains("::") {
                self.add_substitution(&name)?;
            }
            self.depth -= 1;
            return Some(name);
        };
        self.depth -= 1;
        self.add_substitution(&text)?;
        Some(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn template_instances_are_demangled() {
        // The names are as NVRTC 12.9 and GCC mangle them. The last names are not instances.
        for (mangled, written) in [
            ("_Z7reverseIdEvPT_i", Some("reverse<double>")),
            ("_Z4rowsILi8EEvPKfS1_Pfii", Some("rows<8>")),
            ("_Z4rowsILin3ELb1EEvv", Some("rows<-3, true>")),
            ("_Z4copyIjLj4EEvPT_", Some("copy<unsigned int, 4>")),
            ("_ZN2ns7reverseIPKfEEvT_", Some("ns::reverse<const float*>")),
            ("_Z4pairI5PointPS0_EvT_T0_", Some("pair<Point, Point*>")),
            ("_Z4packIJifdEEvDpT_", Some("pack<int, float, double>")),
            ("_Z5outerI3VecIfLi4EEEvT_", Some("outer<Vec<float, 4>>")),
            ("_Z4boxyI6__halfEvPT_", Some("boxy<__half>")),
            ("_Z5saxpyjfPKfPf", None),
            ("saxpy", None),
            ("_Z7reverseI", None),
            ("_Z7reverseIS9_EvT_", None),
        ] {
            assert_eq!(instance(mangled).as_deref(), written, "{mangled}");
        }
    }

    #[test]
    fn overlong_names_are_not_demangled() {
        assert_eq!(instance(&format!("_Z1kI{}fEvv", "P".repeat(100_000))), None);
        // Each argument is twice as long as the previous argument.
        let doubled: String = (0..40).map(|index| format!("3VecIS{0}_S{0}_E", index)).collect();
        let actual = instance(&format!("_Z1kIPf{doubled}Evv")).map(|name| name.len() > 1 << 20);
        assert_eq!(actual, None);
    }

    #[test]
    fn spaces_and_suffixes_do_not_matter() {
        for (one, other) in [
            ("copy<unsigned, 4u>", "copy<unsigned int, 4>"),
            ("k< long long int , 16UL >", "k<long long, 16>"),
            ("k<f32u>", "k< f32u >"),
        ] {
            assert_eq!(normalised(one), normalised(other));
        }
        assert_ne!(normalised("k<f32u>"), normalised("k<f32>"));
    }
}
