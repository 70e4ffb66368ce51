//! A sentence about a fault with the names of elements: `Thread 5 of block 1 reads x[37], and x has 37 elements`.

use ptx_emulator::commands::launch::{BufferElement, BufferRole, Prepared};
use ptx_emulator::fault::{Fault, FaultKind};

use crate::cuda_c_lines::Origin;

/// The reasons why shared memory is read before it is written.
const UNWRITTEN_SHARED: &str =
    "either a barrier is missing between the write and the read, or nothing writes there.";

/// Describes a fault of a launch; `None` if its element isn't known, or its kind is not about an element.
pub(crate) fn sentence(
    fault: &Fault,
    prepared: &Prepared,
    origin: Option<&Origin>,
) -> Option<String> {
    let who = thread(prepared, fault.thread?, fault.block?);
    let verb = verb(&fault.message);
    let unwritten_shared =
        fault.kind == FaultKind::Uninitialised && fault.message.starts_with("shared");
    let Some((name, index, count)) = element(fault, prepared, origin) else {
        return unwritten_shared.then(|| {
            format!("{who} reads shared memory that no thread has written: {UNWRITTEN_SHARED}")
        });
    };
    let inside = usize::try_from(index).is_ok_and(|index| count.is_none_or(|count| index < count));
    match fault.kind {
        FaultKind::IllegalAddress if !inside => {
            let has = match count? {
                1 => format!("1 element, {name}[0]"),
                count => format!("{count} elements, {name}[0] to {name}[{}]", count - 1),
            };
            Some(format!("{who} {verb} {name}[{index}], and {name} has {has}."))
        }
        FaultKind::Race if inside => {
            let other = fault.other.as_ref()?;
            let whom = thread(prepared, other.thread, other.block);
            let did = if other.wrote { "wrote" } else { "read" };
            Some(format!(
                "{who} {verb} {name}[{index}], which {} {did} before, and nothing orders the two.",
                whom.replacen("Thread", "thread", 1)
            ))
        }
        FaultKind::Uninitialised if inside && unwritten_shared => Some(format!(
            "{who} reads {name}[{index}], which no thread has written: {UNWRITTEN_SHARED}"
        )),
        FaultKind::Uninitialised if inside => {
            Some(format!("{who} reads {name}[{index}], which no thread has written."))
        }
        _ => None,
    }
}

/// `Thread 5 of block 1`, with two or three indices each if the launch has as many axes.
fn thread(prepared: &Prepared, thread: [u32; 3], block: [u32; 3]) -> String {
    let number = |place: [u32; 3], shape: [u32; 3]| match shape {
        [_, 1, 1] => place[0].to_string(),
        [_, _, 1] => format!("({}, {})", place[0], place[1]),
        _ => format!("({}, {}, {})", place[0], place[1], place[2]),
    };
    let launch = &prepared.launch;
    format!("Thread {} of block {}", number(thread, launch.block), number(block, launch.grid))
}

/// The verb for an access, from a message such as `global read of 4 bytes at …`.
fn verb(message: &str) -> &'static str {
    let access = message.split(" of ").next().unwrap_or_default();
    match () {
        () if access.contains("atomic") => "updates",
        () if access.contains("write") => "writes",
        () => "reads",
    }
}

/// The name of the buffer or shared variable that a fault is about, the index of the element, and the number of elements.
fn element(
    fault: &Fault,
    prepared: &Prepared,
    origin: Option<&Origin>,
) -> Option<(String, i64, Option<usize>)> {
    if fault.message.starts_with("shared") {
        let (name, index, count) = shared_element(fault)?;
        // cuda-c puts the kernel's name before that of the variable.
        let prefix = format!("{}_", prepared.kernel.name());
        let own = origin.and_then(|_| name.strip_prefix(&prefix)).unwrap_or(&name);
        return Some((own.to_owned(), index, count));
    }
    let BufferElement { role, index, count } = prepared.element_at(fault.address?)?;
    let kernel = prepared.kernel.name();
    let name = match role {
        BufferRole::Named(name) => name,
        BufferRole::Argument(at) => match origin {
            Some(origin) => origin.variable(kernel, &format!("{kernel}_param_{at}"))?.to_owned(),
            None => {
                let names = prepared.parameter_names(false);
                let name = names.get(at)?;
                name.strip_suffix("_param").unwrap_or(name).to_owned()
            }
        },
    };
    Some((name, index, Some(count)))
}

/// The element of a shared variable, from `shared read of 4 bytes at …` and a note.
fn shared_element(fault: &Fault) -> Option<(String, i64, Option<usize>)> {
    let number = |text: &str, before: &str| -> Option<i64> {
        text.split_once(before)?.1.split_whitespace().next()?.parse().ok()
    };
    let bytes = number(&fault.message, " of ").filter(|bytes| *bytes > 0)?;
    let note = fault.notes.iter().find(|note| note.contains("into the shared variable"))?;
    let offset = number(note, "it is ")?;
    let name = note.split('`').nth(1)?;
    Some((name.to_owned(), offset / bytes, None))
}
