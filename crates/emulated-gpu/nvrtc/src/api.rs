//! The exported functions, as `nvrtc.h` declares them.

use std::ffi::{CStr, CString, c_char, c_int, c_void};

use cuda_c::ARCHITECTURES;

use crate::nvidia;
use crate::program::{self, Flow, Outcome, Program};
use crate::status::{Status, guard, name};

/// `nvrtcProgram`: a number that is no address.
type Handle = *mut c_void;

/// The version of NVRTC whose functions, options and architectures these are.
const VERSION: (c_int, c_int) = (12, 0);

/// Declares exported functions that return a status.
macro_rules! export {
    ($(
        $(#[$meta:meta])*
        fn $name:ident($($argument:ident: $type:ty),* $(,)?) $body:block
    )*) => {$(
        $(#[$meta])*
        ///
        /// # Safety
        /// As NVIDIA's documentation of the function has it: pointers lead to what they are said to
        /// lead to, or are null.
        #[unsafe(no_mangle)]
        #[allow(unused_unsafe, reason = "not every function has pointers")]
        pub(crate) unsafe extern "C" fn $name($($argument: $type),*) -> c_int {
            guard(move || {
                // SAFETY: the caller of the C function vouches for its arguments, as its documentation has it.
                unsafe { $body }
            })
        }
    )*};
}

/// Writes to where the caller wants a result, at any address.
///
/// # Safety
/// A place that is not null is writable.
unsafe fn put<T>(to: *mut T, value: T) -> Result<(), Status> {
    if to.is_null() {
        return Err(Status::InvalidInput);
    }
    // SAFETY: the caller's promise.
    unsafe { to.write_unaligned(value) };
    Ok(())
}

/// A C string of the caller.
///
/// # Safety
/// A pointer that is not null leads to a text that ends in a zero.
unsafe fn string(from: *const c_char) -> Result<CString, Status> {
    if from.is_null() {
        return Err(Status::InvalidInput);
    }
    // SAFETY: the caller's promise.
    Ok(unsafe { CStr::from_ptr(from) }.to_owned())
}

/// As many C strings of the caller, from an array at any address.
///
/// # Safety
/// An array that is not null has as many pointers, each as of [`string`].
unsafe fn strings(from: *const *const c_char, count: c_int) -> Result<Vec<CString>, Status> {
    let count = usize::try_from(count).map_err(|_| Status::InvalidInput)?;
    if count > 0 && from.is_null() {
        return Err(Status::InvalidInput);
    }
    // SAFETY: the caller's promise.
    (0..count).map(|index| unsafe { string(from.add(index).read_unaligned()) }).collect()
}

/// Copies a text with its zero to where the caller has room for it.
///
/// # Safety
/// A place that is not null has room for as many bytes as the function for the size says.
unsafe fn copy(text: &CStr, to: *mut c_char) -> Result<(), Status> {
    if to.is_null() {
        return Err(Status::InvalidInput);
    }
    let bytes = text.to_bytes_with_nul();
    // SAFETY: the caller's promise.
    unsafe { to.copy_from_nonoverlapping(bytes.as_ptr().cast(), bytes.len()) };
    Ok(())
}

/// Copies bytes to where the caller has room for them.
///
/// # Safety
/// As of [`copy`].
unsafe fn copy_bytes(
    handle: Handle,
    to: *mut c_char,
    part: fn(&Outcome) -> &Vec<u8>,
) -> Result<(), Status> {
    program::with(handle as usize, |program| match program.part(part)? {
        [] => Err(Status::InvalidProgram),
        _ if to.is_null() => Err(Status::InvalidInput),
        bytes => {
            // SAFETY: the caller's promise.
            unsafe { to.copy_from_nonoverlapping(bytes.as_ptr().cast(), bytes.len()) };
            Ok(())
        }
    })
}

/// The bytes of a part that only NVIDIA's compiler makes. Without it says so on standard error, and refuses.
fn theirs(
    handle: Handle,
    what: &str,
    work: impl FnOnce(&Program) -> Result<(), Status>,
) -> Result<(), Status> {
    let is_theirs = nvidia::library()?.is_some();
    program::with(handle as usize, |program| if is_theirs { work(program) } else { Ok(()) })?;
    if is_theirs {
        return Ok(());
    }
    let said = format!("emulated NVRTC: there is no {what}, only PTX: use nvrtcGetPTX\n");
    // Where standard error is full or closed, there is nobody to tell.
    let _ = std::io::Write::write_all(&mut std::io::stderr().lock(), said.as_bytes());
    Err(Status::InvalidProgram)
}

/// The name of a result.
///
/// # Safety
/// None is needed.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvrtcGetErrorString(result: c_int) -> *const c_char {
    name(result).as_ptr()
}

/// By this function, which NVIDIA's library doesn't have, it is known for what it is.
///
/// # Safety
/// None is needed.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn emulatedNvrtc() -> *const c_char {
    c"cuda-c".as_ptr()
}

export! {
    /// The version.
    fn nvrtcVersion(major: *mut c_int, minor: *mut c_int) {
        if major.is_null() || minor.is_null() {
            return Err(Status::InvalidInput);
        }
        if let Some(nvidia) = nvidia::library()? {
            return Status::check((nvidia.version)(major, minor));
        }
        put(major, VERSION.0)?;
        put(minor, VERSION.1)
    }

    /// How many architectures there are.
    fn nvrtcGetNumSupportedArchs(count: *mut c_int) {
        match nvidia::library()? {
            _ if count.is_null() => Err(Status::InvalidInput),
            Some(nvidia) => Status::check((nvidia.architecture_count)(count)),
            None => put(count, ARCHITECTURES.len() as c_int),
        }
    }

    /// The architectures, ascending.
    fn nvrtcGetSupportedArchs(list: *mut c_int) {
        if list.is_null() {
            return Err(Status::InvalidInput);
        }
        if let Some(nvidia) = nvidia::library()? {
            return Status::check((nvidia.architectures)(list));
        }
        for (index, architecture) in ARCHITECTURES.iter().enumerate() {
            list.add(index).write_unaligned(*architecture as c_int);
        }
        Ok(())
    }

    /// Makes a program of a source, with headers by their names.
    fn nvrtcCreateProgram(
        handle: *mut Handle,
        source: *const c_char,
        name: *const c_char,
        header_count: c_int,
        headers: *const *const c_char,
        include_names: *const *const c_char,
    ) {
        if handle.is_null() {
            return Err(Status::InvalidInput);
        }
        let source = string(source)?;
        let name = match string(name) {
            Ok(name) if !name.is_empty() => name,
            _ => c"default_program".to_owned(),
        };
        let headers = strings(headers, header_count)?;
        let names = strings(include_names, header_count)?;
        let headers = names.into_iter().zip(headers).collect();
        let program = Program { source, name, headers, ..Program::default() };
        put(handle, program::keep(program) as Handle)
    }

    /// Ends a program.
    fn nvrtcDestroyProgram(handle: *mut Handle) {
        if handle.is_null() {
            return Err(Status::InvalidProgram);
        }
        program::forget(handle.read_unaligned() as usize)?;
        put(handle, std::ptr::null_mut())
    }

    /// Asks for a kernel or a variable by its name in C++.
    fn nvrtcAddNameExpression(handle: Handle, expression: *const c_char) {
        program::with(handle as usize, |program| {
            let expression = string(expression)?;
            if program.outcome.is_some() {
                return Err(Status::NoNameExpressionsAfterCompilation);
            }
            if !program.expressions.contains(&expression) {
                program.expressions.push(expression);
            }
            Ok(())
        })
    }

    /// Compiles.
    fn nvrtcCompileProgram(handle: Handle, count: c_int, options: *const *const c_char) {
        program::with(handle as usize, |program| program.compile(&strings(options, count)?))
    }

    /// Bytes of the PTX, its zero among them.
    fn nvrtcGetPTXSize(handle: Handle, size: *mut usize) {
        program::with(handle as usize, |program| put(size, program.ptx()?.count_bytes() + 1))
    }

    /// The PTX.
    fn nvrtcGetPTX(handle: Handle, ptx: *mut c_char) {
        program::with(handle as usize, |program| copy(program.ptx()?, ptx))
    }

    /// Bytes of the log, its zero among them.
    fn nvrtcGetProgramLogSize(handle: Handle, size: *mut usize) {
        program::with(handle as usize, |program| {
            put(size, program.outcome.as_ref().map_or(0, |one| one.log.count_bytes()) + 1)
        })
    }

    /// The log.
    fn nvrtcGetProgramLog(handle: Handle, log: *mut c_char) {
        program::with(handle as usize, |program| {
            copy(program.outcome.as_ref().map_or(c"", |one| &one.log), log)
        })
    }

    /// What a name expression is called in the PTX. The name lives as long as the program.
    fn nvrtcGetLoweredName(
        handle: Handle,
        expression: *const c_char,
        lowered: *mut *const c_char,
    ) {
        program::with(handle as usize, |program| {
            put(lowered, program.lowered(&string(expression)?)?.as_ptr())
        })
    }

    /// Bytes of the image; 0 where it was compiled for no card.
    fn nvrtcGetCUBINSize(handle: Handle, size: *mut usize) {
        program::with(handle as usize, |program| put(size, program.part(|made| &made.image)?.len()))
    }

    /// The image: a fatbin with the PTX.
    fn nvrtcGetCUBIN(handle: Handle, image: *mut c_char) {
        copy_bytes(handle, image, |made| &made.image)
    }

    /// Bytes of what is linked later, of NVIDIA's compiler alone.
    fn nvrtcGetLTOIRSize(handle: Handle, size: *mut usize) {
        theirs(handle, "LTO IR", |program| put(size, program.part(|made| &made.lto)?.len()))
    }

    /// What is linked later.
    fn nvrtcGetLTOIR(handle: Handle, ir: *mut c_char) {
        theirs(handle, "LTO IR", |_| Ok(()))?;
        copy_bytes(handle, ir, |made| &made.lto)
    }

    /// Bytes of what OptiX takes, of NVIDIA's compiler alone.
    fn nvrtcGetOptiXIRSize(handle: Handle, size: *mut usize) {
        theirs(handle, "OptiX IR", |program| put(size, program.part(|made| &made.optix)?.len()))
    }

    /// What OptiX takes.
    fn nvrtcGetOptiXIR(handle: Handle, ir: *mut c_char) {
        theirs(handle, "OptiX IR", |_| Ok(()))?;
        copy_bytes(handle, ir, |made| &made.optix)
    }

    /// A function that is asked now and then whether the compilation is to end.
    fn nvrtcSetFlowCallback(
        handle: Handle,
        function: Option<unsafe extern "C" fn(*mut c_void, *mut c_void) -> c_int>,
        data: *mut c_void,
    ) {
        let function = function.ok_or(Status::InvalidInput)?;
        program::with(handle as usize, |program| {
            program.flow = Some(Flow { function, data: data as usize });
            Ok(())
        })
    }

    /// How making a precompiled header went.
    fn nvrtcGetPCHCreateStatus(handle: Handle) {
        program::with(handle as usize, |program| {
            let outcome = program.outcome.as_ref().ok_or(Status::NoPchCreateAttempted)?;
            Status::check(outcome.pch_status)
        })
    }

    /// Bytes of heap that the precompiled header wants.
    fn nvrtcGetPCHHeapSizeRequired(handle: Handle, size: *mut usize) {
        program::with(handle as usize, |program| {
            let outcome = program.outcome.as_ref().ok_or(Status::InvalidProgram)?;
            Status::check(outcome.pch_status)?;
            put(size, outcome.pch_heap)
        })
    }

    /// Bytes of the heap for precompiled headers, of which only NVIDIA's compiler has one.
    fn nvrtcGetPCHHeapSize(size: *mut usize) {
        match nvidia::library()?.and_then(|nvidia| nvidia.pch_heap_size) {
            _ if size.is_null() => Err(Status::InvalidInput),
            Some(get) => Status::check(get(size)),
            None => put(size, 0),
        }
    }

    /// Has another heap for precompiled headers.
    fn nvrtcSetPCHHeapSize(size: usize) {
        match nvidia::library()?.and_then(|nvidia| nvidia.set_pch_heap_size) {
            Some(set) => Status::check(set(size)),
            None if size == 0 => Ok(()),
            None => Err(Status::OutOfMemory),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As NVIDIA's library on x86 takes them.
    #[test]
    fn arrays_and_results_may_be_at_odd_addresses() {
        let option = c"--gpu-architecture=compute_80";
        let mut bytes = [0u8; 9];
        let odd = bytes.as_mut_ptr().wrapping_add(1);
        let (source, name) = (c"__global__ void nothing() {}", c"nothing.cu");
        // SAFETY: a pointer, or a number, is inside of the array from its second byte on.
        unsafe {
            let place: *mut Handle = odd.cast();
            let none = std::ptr::null();
            assert_eq!(nvrtcCreateProgram(place, source.as_ptr(), name.as_ptr(), 0, none, none), 0);
            let handle = place.read_unaligned();
            odd.cast::<*const c_char>().write_unaligned(option.as_ptr());
            assert_eq!(nvrtcCompileProgram(handle, 1, odd.cast()), 0);
            assert_eq!(nvrtcGetPTXSize(handle, odd.cast()), 0);
            assert!(odd.cast::<usize>().read_unaligned() > 1);
            place.write_unaligned(handle);
            assert_eq!(nvrtcDestroyProgram(place), 0);
            assert!(place.read_unaligned().is_null());
            let mut list = [0u8; 4 * ARCHITECTURES.len() + 1];
            assert_eq!(nvrtcGetSupportedArchs(list.as_mut_ptr().add(1).cast()), 0);
            assert_eq!(list[1..5], 50_i32.to_ne_bytes());
        }
    }
}
