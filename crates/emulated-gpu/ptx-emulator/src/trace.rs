//! The trace of one thread of a launch, instruction by instruction.

use std::fmt;

/// The trace of one thread.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trace {
    /// The thread's warp in the block.
    pub warp: u32,
    /// The thread's lane in the warp.
    pub lane: u32,
    /// The thread's instructions, in order.
    pub events: Vec<Event>,
    /// The number of instructions beyond the limit of events, which were not traced.
    pub left_out: u64,
}

/// One instruction that the thread reached.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Event {
    /// The line in the PTX, from 1.
    pub line: usize,
    /// The instruction, as written, in one line.
    pub text: String,
    /// The depth of calls; 0 in the kernel itself.
    pub depth: usize,
    /// The number of instructions that other lanes of the warp executed without this thread since the previous event.
    pub other_lanes: u64,
    /// The number of instructions that other warps of the block executed since the previous event.
    pub other_warps: u64,
    /// Whether the instruction's predicate was false, so that it had no effect.
    pub skipped: bool,
    /// The values that the instruction read: registers, then memory.
    pub before: Vec<Value>,
    /// The values that the instruction wrote, or the branch that it took.
    pub after: Vec<Value>,
}

/// A register or a memory location, with its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// The name of a register or special register, and its value, decoded by its type. An address inside a
    /// buffer is shown as the parameter that passed it and an offset in bytes.
    Register(String, String),
    /// A memory location, such as `x+16`. Its value is not repeated, because it is the value of the register that the
    /// instruction loads or stores.
    Memory(String),
    /// Anything else, in words.
    Note(String),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Register(name, value) => write!(f, "{name} = {value}"),
            Self::Memory(place) => write!(f, "[{place}]"),
            Self::Note(text) => f.write_str(text),
        }
    }
}

impl Event {
    /// Formats the values that it read and wrote: `%r1 = 2, %r2 = 3 → %r3 = 5`.
    #[must_use]
    pub fn details(&self) -> String {
        let list = |values: &[Value]| -> String {
            values.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
        };
        let before = list(&self.before);
        if self.skipped {
            return format!("{before}: not executed");
        }
        match (before.is_empty(), self.after.is_empty()) {
            (_, true) => before,
            (true, false) => format!("→ {}", list(&self.after)),
            (false, false) => format!("{before} → {}", list(&self.after)),
        }
    }

    /// The instructions of other lanes and warps before it, in words; `None` if there are no such instructions.
    #[must_use]
    pub fn meanwhile(&self) -> Option<String> {
        let count = |n: u64| format!("{n} instruction{}", if n == 1 { "" } else { "s" });
        match (self.other_lanes, self.other_warps) {
            (0, 0) => None,
            (lanes, 0) => Some(format!("{} of other lanes of the warp", count(lanes))),
            (0, warps) => Some(format!("{} of other warps", count(warps))),
            (lanes, warps) => {
                Some(format!("{} of other lanes of the warp, {warps} of other warps", count(lanes)))
            }
        }
    }
}

/// Maximum width of the column of instructions. Longer instructions move their details to the right.
const MAX_WIDTH: usize = 44;

impl fmt::Display for Trace {
    /// One line for each event.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let indented = |event: &Event| format!("{}{}", "  ".repeat(event.depth.min(8)), event.text);
        let widths = self.events.iter().map(|event| indented(event).chars().count());
        let width = widths.max().unwrap_or(0).min(MAX_WIDTH);
        for event in &self.events {
            if let Some(meanwhile) = event.meanwhile() {
                writeln!(f, "      … {meanwhile}")?;
            }
            let (text, details) = (indented(event), event.details());
            writeln!(f, "{}", format!("{:>4}  {text:<width$}  {details}", event.line).trim_end())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trace_is_shown_in_columns() {
        let register = |name: &str, value: &str| Value::Register(name.into(), value.into());
        let event = |line, text: &str| Event { line, text: text.into(), ..Event::default() };
        let trace = Trace {
            events: vec![
                Event {
                    before: vec![register("%r1", "2"), register("%r2", "3")],
                    after: vec![register("%r3", "5")],
                    ..event(7, "add.u32 %r3, %r1, %r2;")
                },
                Event {
                    skipped: true,
                    before: vec![register("%p", "false")],
                    other_lanes: 1,
                    other_warps: 4,
                    ..event(8, "@%p ret;")
                },
                Event {
                    depth: 1,
                    after: vec![Value::Memory("x+4".into()), register("%r3", "5")],
                    ..event(12, "ld.u32 %r3, [%d];")
                },
                event(13, "bra.uni end;"),
            ],
            ..Trace::default()
        };
        let expected = "   7  add.u32 %r3, %r1, %r2;  %r1 = 2, %r2 = 3 → %r3 = 5\n      \
                        … 1 instruction of other lanes of the warp, 4 of other warps\n   \
                        8  @%p ret;                %p = false: not executed\n  \
                        12    ld.u32 %r3, [%d];     → [x+4], %r3 = 5\n  \
                        13  bra.uni end;\n";
        assert_eq!(trace.to_string(), expected);
    }
}
