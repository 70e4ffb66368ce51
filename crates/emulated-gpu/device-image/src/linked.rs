//! Properties of a linked image other than its instructions. They are in a PTX comment on the first
//! line, so that they survive when the image is copied.

/// The comment that precedes the maximum number of registers per thread.
const MAX_REGISTERS: &str = "// CU_JIT_MAX_REGISTERS ";

/// Adds a comment to a PTX text that limits the registers per thread.
#[must_use]
pub fn with_max_registers(text: &str, most: u32) -> String {
    format!("{MAX_REGISTERS}{most}\n{text}")
}

/// The maximum number of registers per thread that a linker noted in a text, if any.
#[must_use]
pub fn max_registers_of(text: &str) -> Option<u32> {
    text.strip_prefix(MAX_REGISTERS)?.lines().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn max_registers_are_read_back() {
        assert_eq!(max_registers_of(&with_max_registers(".version 8.0", 32)), Some(32));
        for text in [".version 8.0", "", MAX_REGISTERS, "// CU_JIT_MAX_REGISTERS many\n"] {
            assert_eq!(max_registers_of(text), None);
        }
    }
}
