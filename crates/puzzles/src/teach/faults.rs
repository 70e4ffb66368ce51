//! What is said when a thread broke a rule.

use ptx_emulator::{Fault, FaultKind};

use super::Said;
use super::memory::{Element, element};
use crate::case::Case;

/// What happened and what it means.
pub(crate) fn fault(fault: &Fault, case: &Case, addresses: &[Option<u64>]) -> Said {
    let at = fault.address.and_then(|address| element(case, addresses, address));
    let shared = fault.message.starts_with("shared");
    let who = who(fault, case);
    match fault.kind {
        FaultKind::IllegalAddress => illegal(fault, case, at.as_ref(), &who),
        FaultKind::Misaligned => Said {
            what: format!("{who} uses an address that is no multiple of the size of what is there."),
            teaches: vec![
                "A `float` has 4 bytes. In PTX an index has to be multiplied by 4 before it is \
                 added to an address; in CUDA C a pointer of another type was made."
                    .into(),
            ],
        },
        FaultKind::Uninitialised => uninitialised(fault, at.as_ref(), shared, &who),
        FaultKind::Race => race(fault, at.as_ref(), shared, &who),
        FaultKind::BarrierDivergence | FaultKind::Deadlock => Said {
            what: format!("{who} waits at a barrier that not all threads of its block come to."),
            teaches: vec![
                "A barrier waits for every thread of the block. So it may not stand in a branch that \
                 only some take, nor in a loop that some leave earlier, nor behind a `return` for \
                 threads without an element. Let such threads skip the work, and never the barrier."
                    .into(),
            ],
        },
        FaultKind::BadMemberMask | FaultKind::InactiveLane => Said {
            what: format!("{who} exchanges registers with a lane that does not take part."),
            teaches: vec![
                "A shuffle hands a register over only between lanes that execute it together, and \
                 its mask has to name exactly those. Have all 32 lanes of the warp come to it, \
                 lanes without an element with a neutral value such as 0."
                    .into(),
            ],
        },
        FaultKind::Runaway => Said {
            what: format!("{who} was still running after more instructions than a solution needs, and was stopped."),
            teaches: vec![
                "Either a loop never ends (does what its condition looks at change in every round?), \
                 or a thread waits for something that no other thread does."
                    .into(),
            ],
        },
        FaultKind::Trap | FaultKind::Assert => {
            Said { what: format!("{who}: {}.", fault.message), teaches: Vec::new() }
        }
        FaultKind::UseAfterFree
        | FaultKind::InvalidLaunch
        | FaultKind::OutOfMemory
        | FaultKind::InvalidInstruction => Said {
            what: format!("It can't be run: {}.", fault.message.trim_end_matches('.')),
            teaches: fault.notes.clone(),
        },
    }
}

/// `Thread 5 of block 1`, with two numbers each where the launch has two axes.
fn who(fault: &Fault, case: &Case) -> String {
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

/// The number that a thread of a launch along x has among all.
fn number(fault: &Fault, case: &Case) -> Option<i64> {
    if case.grid[1] > 1 || case.block[1] > 1 {
        return None;
    }
    let (thread, block) = (fault.thread?, fault.block?);
    Some(i64::from(block[0]) * i64::from(case.block[0]) + i64::from(thread[0]))
}

fn verb(fault: &Fault) -> &'static str {
    // `global read of 4 bytes at …`
    let access = fault.message.split(" of ").next().unwrap_or_default();
    match () {
        () if access.contains("atomic") => "updates",
        () if access.contains("write") => "writes",
        () => "reads",
    }
}

fn illegal(fault: &Fault, case: &Case, at: Option<&Element<'_>>, who: &str) -> Said {
    let verb = verb(fault);
    let Some(at) = at.filter(|at| !at.is_inside()) else {
        let what = format!("{who} {verb} memory that is in no buffer ({}).", fault.message);
        let teach = "Look at how the address or the index is made: far off like this, something is \
                     multiplied that should be added, a pointer is used as an index, or the index \
                     has become negative, which an unsigned number can't be.";
        return Said { what, teaches: vec![teach.into()] };
    };
    let (name, count, index) = (at.buffer.name, at.count(), at.index);
    let has = match count {
        1 => format!("1 element, {name}[0]"),
        _ => format!("{count} elements, {name}[0] to {name}[{}]", count - 1),
    };
    let what = format!("{who} {verb} {}, and {name} has {has}.", at.name());
    let number = number(fault, case);
    let teach = if index < 0 {
        format!(
            "That is before the beginning. The element that comes first has no neighbour before it: \
             ask whether there is one before you look. (In unsigned arithmetic 0 - 1 is \
             {}, which is not < 0.)",
            u32::MAX
        )
    } else if number == Some(index) {
        format!(
            "A launch has whole blocks, so there are more threads than elements, and number {index} \
             is one too many. It has to find out that there is nothing for it to do, before it \
             touches any memory: compare its number with the size."
        )
    } else if index == count && at.buffer.shape.len() == 1 {
        "That is one too far, and its thread is one that has an element. Is there a `<=` that should \
         be a `<`, a `+ 1` too many, or a neighbour that the last element has not?"
            .into()
    } else if at.buffer.shape.len() == 2 {
        let (rows, columns) = (at.buffer.shape[0], at.buffer.shape[1]);
        format!(
            "{name} has {rows} rows of {columns}. Row r, column c is {name}[r * {columns} + c], and \
             both r and c have to be inside: a column that is too large leads into the next row, a \
             row that is too large behind the end. Which of the two has not been asked for, or have \
             they changed places?"
        )
    } else {
        format!(
            "Its thread may have an element, so the index is made wrongly: follow how {index} comes \
             about for this thread. Is a size taken for another, or is a block's first element \
             counted twice?"
        )
    };
    Said { what, teaches: vec![teach] }
}

fn uninitialised(fault: &Fault, at: Option<&Element<'_>>, shared: bool, who: &str) -> Said {
    let (what, teach) = if shared {
        let what = format!("{who} reads shared memory that no thread has written.");
        let teach = "Shared memory begins with whatever was there before. Two ways lead here. Either \
                     between the write and the read a barrier is missing (`__syncthreads()`, \
                     `bar.sync 0`), so that the thread which writes this element has not come that \
                     far. Or no thread writes it at all, such as an element at an edge, which needs \
                     a 0 where the input has nothing for it.";
        (what, teach)
    } else if let Some(at) = at {
        let what = format!("{who} reads {}, which nobody has written.", at.name());
        let teach = "This buffer is for results: nothing is in it when the kernel begins. Add up in \
                     a variable of the thread that begins with 0, and write the result once; and if \
                     you meant to read an input, it is another pointer.";
        (what, teach)
    } else {
        let what = format!("{who} uses a value that was never set ({}).", fault.message);
        let teach = "A variable or register begins with nothing. On some way through the program \
                     this one is used before it gets its first value: a sum has to begin with 0.";
        (what, teach)
    };
    Said { what, teaches: vec![teach.into()] }
}

fn race(fault: &Fault, at: Option<&Element<'_>>, shared: bool, who: &str) -> Said {
    let own = verb(fault);
    let Some(other) = &fault.other else {
        return Said { what: format!("{who}: {}.", fault.message), teaches: fault.notes.clone() };
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
         two."
    );
    let one_line = fault.place.as_ref().is_some_and(|place| place.line == other.place.line);
    let teach = if own == "writes" && other.wrote && one_line && !same_block {
        "Threads of different blocks write one place with one instruction. Usually a thread's number \
         in its block has been taken for the number among all threads, which is \
         blockIdx.x * blockDim.x + threadIdx.x; or in a loop a thread steps by the threads of its \
         block, and not by those of all blocks, gridDim.x * blockDim.x. Where they are really meant \
         to meet in one place, the update has to be atomic (`atomicAdd`; `red` and `atom` in PTX)."
    } else if own == "writes" && other.wrote && one_line {
        "Many threads write one place with one instruction, and one of them wins: the updates of \
         the others are lost. Either each thread writes a place of its own, or only one of them \
         writes, or the update is atomic (`atomicAdd`; `red` and `atom` in PTX)."
    } else if !same_block {
        "Blocks run in any order, and a barrier holds only one of them. What one block leaves for \
         another has to be written, made visible (`__threadfence()`, `membar.gl`), and then \
         announced by an atomic update that the other one waits for."
    } else if other.wrote {
        "On hardware the one that reads may be faster than the one that writes, and finds what was \
         there before. Between the write and the read there has to be a barrier \
         (`__syncthreads()`, `bar.sync 0`) that the whole block comes to."
    } else if !shared {
        "The other one may not have read yet when this one writes: it finds the new value in place \
         of the old. If they only meet by chance, there has to be a barrier between the read and the \
         write (`__syncthreads()`, `bar.sync 0`). If all of them change one element, as += does, no \
         barrier helps, and the update has to be atomic (`atomicAdd`; `red` and `atom` in PTX)."
    } else {
        "The other one may not have read yet when this one writes: it finds the new value in place \
         of the old. Between the read and the write there has to be a barrier \
         (`__syncthreads()`, `bar.sync 0`); in a loop that means one at its end too, before the next \
         round overwrites what this round still reads."
    };
    Said { what, teaches: vec![teach.into()] }
}
