//! The trace of one thread of a launch, instruction by instruction.

use std::fmt;

/// The record of one thread.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trace {
    /// Its warp in the block.
    pub warp: u32,
    /// Its lane in the warp.
    pub lane: u32,
    /// What it did, in order.
    pub events: Vec<Event>,
    /// Instructions that it executed beyond as many events as were asked for.
    pub left_out: u64,
}

/// One instruction that the thread came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Event {
    /// The line in the PTX, from 1.
    pub line: usize,
    /// The instruction, as written, in one line.
    pub text: String,
    /// How deep in calls it stands; 0 in the kernel itself.
    pub depth: usize,
    /// Instructions that other lanes of the warp executed since the event before, while this one
    /// was not among them.
    pub other_lanes: u64,
    /// Instructions that other warps of the block executed since the event before.
    pub other_warps: u64,
    /// Its predicate was false: it did nothing.
    pub skipped: bool,
    /// What it read: registers, then memory.
    pub before: Vec<Value>,
    /// What it wrote, likewise, or where it went.
    pub after: Vec<Value>,
}

/// A register or a place in memory, and what is in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// A register or a special register: its name and its value, decoded by its type. An address
    /// inside a buffer is shown as the parameter that named it and an offset in bytes.
    Register(String, String),
    /// A place in memory, such as `x+16`; its value is that of the register beside it.
    Memory(String),
    /// Something else, in words.
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
    /// What it read and wrote: `%r1 = 2, %r2 = 3 → %r3 = 5`.
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

    /// What others did before it, in words; `None` where no other did anything.
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

/// Instructions wider than this push their details to the right.
const WIDEST: usize = 44;

impl fmt::Display for Trace {
    /// One line for each event.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let indented = |event: &Event| format!("{}{}", "  ".repeat(event.depth.min(8)), event.text);
        let widths = self.events.iter().map(|event| indented(event).chars().count());
        let width = widths.max().unwrap_or(0).min(WIDEST);
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
