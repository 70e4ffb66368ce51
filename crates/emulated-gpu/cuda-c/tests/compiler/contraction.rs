//! Tests that the products contracted to `fma` are those that NVRTC contracts in the same texts.

use crate::kernel::compile;

/// The arithmetic instructions of a kernel that loads `a`, `b`, `c`, `d`, with these names for the
/// registers.
fn arithmetic(body: &str) -> Vec<String> {
    let source = format!(
        "extern \"C\" __global__ void k(float *o, const float *p) {{
            float a = p[0], b = p[1], c = p[2], d = p[3];
            {body}
        }}"
    );
    let text = compile(&source);
    let mut names: Vec<(String, &str)> = Vec::new();
    let mut found = Vec::new();
    for line in text.lines().map(str::trim) {
        let registers: Vec<String> = line
            .split([' ', '\t', ',', ';', '[', ']'])
            .filter(|word| word.starts_with("%f") || word.starts_with("0f"))
            .map(|word| {
                let known = names.iter().find(|(register, _)| register == word);
                known.map_or(word.to_owned(), |(_, name)| (*name).to_owned())
            })
            .collect();
        if line.starts_with("ld.global.f32") {
            let at = ["]", "+4]", "+8]", "+12]"].iter().rposition(|end| line.contains(end));
            names.push((registers[0].clone(), ["a", "b", "c", "d"][at.unwrap_or(0)]));
        } else if ["fma", "mul.f", "add.f", "sub.f"].iter().any(|name| line.starts_with(name)) {
            let name = line.split('.').next().unwrap_or_default();
            let operands: Vec<&str> = registers[1..]
                .iter()
                .map(|register| if register.starts_with('%') { "_" } else { register.as_str() })
                .collect();
            found.push(format!("{name} {}", operands.join(" ")));
        }
    }
    found
}

#[test]
fn the_product_of_the_first_loads_is_contracted() {
    for body in ["o[0] = a * b + c * d;", "o[0] = c * d + a * b;"] {
        assert_eq!(arithmetic(body), ["mul c d", "fma a b _"], "{body}");
    }
    for body in ["o[0] = a * b * c + a * d;", "o[0] = a * d + a * b * c;"] {
        let found = arithmetic(body);
        assert!(found.contains(&"fma _ c _".to_owned()), "{body}: {found:?}");
    }
}

#[test]
fn a_product_with_a_negative_constant_is_not_contracted_first() {
    let found = arithmetic("o[0] = a * -1.5f + d * d;");
    assert!(found.contains(&"fma d d _".to_owned()), "{found:?}");
}

#[test]
fn a_subtracted_product_is_contracted_if_a_constant_can_be_negated() {
    assert_eq!(arithmetic("o[0] = c - a * 2.5f;"), ["fma a 0fC0200000 c"]);
    assert_eq!(arithmetic("o[0] = c - a * -2.5f;"), ["fma a 0f40200000 c"]);
    assert_eq!(arithmetic("o[0] = c - a * b;"), ["mul a b", "sub c _"]);
}

#[test]
fn a_product_with_other_uses_is_not_contracted() {
    assert_eq!(arithmetic("float m = a * b; o[0] = m + c; o[1] = m * d;")[0], "mul a b");
    let twice = arithmetic("o[0] = a * b + c; o[1] = (b * a) * d;");
    assert_eq!(twice.iter().filter(|one| one.starts_with("fma")).count(), 0, "{twice:?}");
}
