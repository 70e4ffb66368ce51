//! Tests of faults that the assembler rejects.

use ptx_emulator::parse;
use ptx_emulator::source::Source;

use crate::expect;
use crate::run::read;

#[test]
fn the_assembler_rejects_these_faults() {
    for name in [
        "non_ascii_comment",
        "atom_without_destination",
        "mixed_widths",
        "non_constant_expression",
        "undeclared_register",
        "not_an_instruction",
        "div_without_rounding",
    ] {
        let check = |name: &str| parse(&Source { name: format!("{name}.ptx"), text: read(name) });
        let Err(diagnostics) = check(name) else { panic!("{name} is accepted") };
        let said: Vec<String> = diagnostics.iter().map(ToString::to_string).collect();
        expect(name, &said.join("\n"));
        if let Err(diagnostics) = check(&format!("{name}_fixed")) {
            panic!("{}", diagnostics[0]);
        }
    }
}
