//! What an image that a linker has made says beside its instructions: it stands in the first line, as a
//! comment of PTX, so that whoever copies the image copies it along.

/// Stands before the registers that a thread may have.
const MAX_REGISTERS: &str = "// CU_JIT_MAX_REGISTERS ";

/// A text whose threads may have this many registers each.
#[must_use]
pub fn with_max_registers(text: &str, most: u32) -> String {
    format!("{MAX_REGISTERS}{most}\n{text}")
}

/// How many registers a thread may have of a text that a linker has made, where it says so.
#[must_use]
pub fn max_registers_of(text: &str) -> Option<u32> {
    text.strip_prefix(MAX_REGISTERS)?.lines().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_is_read() {
        assert_eq!(max_registers_of(&with_max_registers(".version 8.0", 32)), Some(32));
        for text in [".version 8.0", "", MAX_REGISTERS, "// CU_JIT_MAX_REGISTERS many\n"] {
            assert_eq!(max_registers_of(text), None);
        }
    }
}
