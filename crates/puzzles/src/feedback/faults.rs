//! Messages for faults of the emulator.

use ptx_emulator::{Fault, FaultKind};

use super::Message;
use super::memory::{Element, element};
use crate::case::Case;

/// Describes a fault and its usual cause.
pub(crate) fn fault(fault: &Fault, case: &Case, addresses: &[Option<u64>]) -> Message {
    let at = fault.address.and_then(|address| element(case, addresses, address));
    let shared = fault.message.starts_with("shared");
    let who = position_of_fault(fault, case);
    match fault.kind {
        FaultKind::IllegalAddress => illegal(fault, case, at.as_ref(), &who),
        FaultKind::Misaligned => Message::new(
            format!(
                "{who} uses a misaligned address: it is not a multiple of the size of the value."
            ),
            "A `float` has 4 bytes. In PTX, an index has to be multiplied by 4 before it is \
                 added to an address. In CUDA C, look for a pointer that was cast to another type.",
        ),
        FaultKind::Uninitialised => uninitialised(fault, at.as_ref(), shared, &who),
        FaultKind::Race => race(fault, at.as_ref(), shared, &who),
        FaultKind::BarrierDivergence | FaultKind::Deadlock => Message::new(
            format!("{who} waits at a barrier that not all threads of its block reach."),
            "A barrier waits for every thread of the block. So it must not be in a branch that \
                 only some threads take, in a loop that some leave earlier, or after a `return` for \
                 threads without an element. Let such threads skip the work, and never the barrier.",
        ),
        FaultKind::BadMemberMask | FaultKind::InactiveLane => Message::new(
            format!("{who} exchanges registers with a lane that does not take part."),
            "A shuffle only exchanges registers between lanes that execute it together, and \
                 its mask has to name exactly those. Have all 32 lanes of the warp come to it; \
                 lanes without an element bring a neutral value such as 0.",
        ),
        FaultKind::Runaway => Message::new(
            format!(
                "{who} was stopped: it was still running after many more instructions than a solution needs."
            ),
            "Either a loop never ends (does the value in its condition change in every round?), \
                 or a thread waits for something that no other thread does.",
        ),
        FaultKind::Trap | FaultKind::Assert => {
            Message { what: format!("{who}: {}.", fault.message), teaches: Vec::new() }
        }
        FaultKind::UseAfterFree
        | FaultKind::InvalidLaunch
        | FaultKind::OutOfMemory
        | FaultKind::InvalidInstruction => Message {
            what: format!("The kernel can't be run: {}.", fault.message.trim_end_matches('.')),
            teaches: fault.notes.clone(),
        },
    }
}

/// Names the thread of a fault: `Thread 5 of block 1`, with two indices each if the launch has two
/// axes.
fn position_of_fault(fault: &Fault, case: &Case) -> String {
    let flat = case.grid[1] == 1 && case.block[1] == 1;
    let number = |[x, y, _]: [u32; 3]| match flat {
        true => x.to_string(),
        false => format!("({x}, {y})"),
    };
    match (fault.thread, fault.block) {
        (Some(thread), Some(block)) => {
            format!("Thread {} of block {}", number(thread), number(block))
        }
        _ => "The kernel".into(),
    }
}

/// The index of the fault's thread among all threads of the launch; `None` if the launch has two
/// axes.
fn number(fault: &Fault, case: &Case) -> Option<i64> {
    if case.grid[1] > 1 || case.block[1] > 1 {
        return None;
    }
    let (thread, block) = (fault.thread?, fault.block?);
    Some(i64::from(block[0]) * i64::from(case.block[0]) + i64::from(thread[0]))
}

fn verb(fault: &Fault) -> &'static str {
    // The emulator's message begins with words such as `global read of 4 bytes at …`.
    let access = fault.message.split(" of ").next().unwrap_or_default();
    match () {
        () if access.contains("atomic") => "updates",
        () if access.contains("write") => "writes",
        () => "reads",
    }
}

fn illegal(fault: &Fault, case: &Case, at: Option<&Element<'_>>, who: &str) -> Message {
    let verb = verb(fault);
    let Some(at) = at.filter(|at| !at.is_inside()) else {
        let what = format!("{who} {verb} memory that is in no buffer ({}).", fault.message);
        let teach = "Look at how the address or the index is computed. If it is this far off, usually \
                     something is multiplied that should be added, a pointer is used as an index, or \
                     an unsigned index should have become negative and wrapped around.";
        return Message::new(what, teach);
    };
    let (name, count, index) = (at.buffer.name, at.count(), at.index);
    let has = match count {
        1 => format!("1 element, {name}[0]"),
        _ => format!("{count} elements, {name}[0] to {name}[{}]", count - 1),
    };
    let what = format!("{who} {verb} {}, but {name} has {has}.", at.name());
    let number = number(fault, case);
    let teach = if index < 0 {
        format!(
            "That is before the beginning. The first element has no neighbour before it: check \
             whether there is one before you read it. (In unsigned arithmetic 0 - 1 is {}, which \
             is not < 0.)",
            u32::MAX
        )
    } else if number == Some(index) {
        format!(
            "A launch has whole blocks, so there can be more threads than elements, and thread \
             {index} has no element. It has to find that out before it accesses any memory: \
             compare its number with the size."
        )
    } else if index == count && at.buffer.shape.len() == 1 {
        "That is one too far, although the thread has an element. Is there a `<=` that should be a \
         `<`, a `+ 1` too many, or a neighbour that the last element doesn't have?"
            .into()
    } else if at.buffer.shape.len() == 2 {
        let (rows, columns) = (at.buffer.shape[0], at.buffer.shape[1]);
        format!(
            "{name} is a {rows}×{columns} matrix. Row r, column c is {name}[r * {columns} + c], and \
             both r and c have to be in range: a column that is too large leads into the next row, a \
             row that is too large leads beyond the end. Which of the two has not been checked, or \
             have they changed places?"
        )
    } else {
        format!(
            "The thread may have an element, so its index is computed wrongly: follow how it gets \
             {index}. Is one size used in place of another, or is a block's first element counted \
             twice?"
        )
    };
    Message::new(what, teach)
}

fn uninitialised(fault: &Fault, at: Option<&Element<'_>>, shared: bool, who: &str) -> Message {
    let (what, teach) = if shared {
        let what = format!("{who} reads shared memory that no thread has written.");
        let teach = "Shared memory is not cleared at the start, so its contents are arbitrary. Either \
                     between the write and the read a barrier is missing (`__syncthreads()`, \
                     `bar.sync 0`), so that the thread which writes this element has not got that \
                     far. Or no thread writes it at all, such as an element at an edge, which needs \
                     a 0 if the input has no value for it.";
        (what, teach)
    } else if let Some(at) = at {
        let what = format!("{who} reads {}, which no thread has written.", at.name());
        let teach = "This buffer is for results: it is uninitialised when the kernel begins. Add up \
                     in a local variable that begins with 0, and write the result once. If you meant \
                     to read an input, you used the wrong pointer.";
        (what, teach)
    } else {
        let what = format!("{who} uses a value that was never set ({}).", fault.message);
        let teach = "Variables and registers are not initialised. On some path through the kernel \
                     this one is used before it gets its first value: a sum has to begin with 0.";
        (what, teach)
    };
    Message::new(what, teach)
}

fn race(fault: &Fault, at: Option<&Element<'_>>, shared: bool, who: &str) -> Message {
    let own = verb(fault);
    let Some(other) = &fault.other else {
        return Message {
            what: format!("{who}: {}.", fault.message),
            teaches: fault.notes.clone(),
        };
    };
    let [thread, block] = [other.thread, other.block].map(|[x, y, _]| match y {
        0 => x.to_string(),
        _ => format!("({x}, {y})"),
    });
    let same_block = fault.block == Some(other.block);
    let where_ = match at {
        _ if shared => "the same place in shared memory".to_owned(),
        Some(at) => at.name(),
        None => "the same place".to_owned(),
    };
    let (theirs, of) = (
        if other.wrote { "wrote" } else { "read" },
        if same_block { "the same block".to_owned() } else { format!("block {block}") },
    );
    let what = format!(
        "{who} {own} {where_}, which thread {thread} of {of} {theirs} before, and nothing orders the \
         two accesses."
    );
    let one_line = fault.place.as_ref().is_some_and(|place| place.line == other.place.line);
    let teach = if own == "writes" && other.wrote && one_line && !same_block {
        "Threads of different blocks write the same place with one instruction. Usually a thread's \
         number in its block has been taken for the number among all threads, which is \
         blockIdx.x * blockDim.x + threadIdx.x; or in a loop a thread steps by the threads of its \
         block, and not by those of all blocks, gridDim.x * blockDim.x. If they really have to \
         update one place, the update has to be atomic (`atomicAdd`; `red` and `atom` in PTX)."
    } else if own == "writes" && other.wrote && one_line {
        "Many threads write the same place with one instruction, and one of them wins: the updates \
         of the others are lost. Have each thread write its own place, let only one thread write, \
         or make the update atomic (`atomicAdd`; `red` and `atom` in PTX)."
    } else if !same_block {
        "Blocks run in any order, and a barrier only holds the threads of one block. A value for \
         another block has to be written, made visible (`__threadfence()`, `membar.gl`), and then \
         announced by an atomic update that the other block waits for."
    } else if other.wrote {
        "On hardware the reading thread may be faster than the writing one, and get the old value. \
         Between the write and the read there has to be a barrier (`__syncthreads()`, \
         `bar.sync 0`) that the whole block reaches."
    } else if !shared {
        "The other thread may not have read yet when this one writes, and then gets the new value. \
         If each of them only reads or only writes, there has to be a barrier between the read and \
         the write (`__syncthreads()`, `bar.sync 0`). If all of them change one element, as += does, \
         no barrier helps, and the update has to be atomic (`atomicAdd`; `red` and `atom` in PTX)."
    } else {
        "The other thread may not have read yet when this one writes, and then gets the new value. \
         There has to be a barrier between the read and the write (`__syncthreads()`, \
         `bar.sync 0`). A loop needs one at its end too, before the next round overwrites values \
         that this round still reads."
    };
    Message::new(what, teach)
}
