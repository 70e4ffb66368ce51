//! The exported functions, as `nvrtc.h` declares them.

use std::ffi::{CStr, CString, c_char, c_int, c_void};

use c_abi::export;
use cuda_c::ARCHITECTURES;

use crate::ffi::{In, Out, Result, Status, Text, name, say};
use crate::nvidia;
use crate::program::{self, Flow, Outcome, Program};

/// `nvrtcProgram`: a number that is no address.
type Handle = usize;

/// The version of NVRTC whose functions, options and architectures these are.
const VERSION: (c_int, c_int) = (12, 0);

/// As many C strings of the caller.
///
/// # Safety
/// An array that is not null has as many.
unsafe fn strings(from: In<'_, Text<'_>>, count: c_int) -> Result<Vec<CString>> {
    let count = usize::try_from(count).map_err(|_| Status::InvalidInput)?;
    // SAFETY: the caller's promise.
    unsafe { from.elements(count)? }.map(|text| text.c_str().map(CStr::to_owned)).collect()
}

/// Copies bytes to where the caller has room for them.
///
/// # Safety
/// A place that is not null has room for as many bytes as the function for the size says.
unsafe fn copy_bytes(handle: Handle, to: Out<'_, u8>, part: fn(&Outcome) -> &Vec<u8>) -> Result {
    program::with(handle, |program| match program.part(part)? {
        [] => Err(Status::InvalidProgram),
        // SAFETY: the caller's promise.
        bytes => unsafe { to.set_list(bytes) },
    })
}

/// The bytes of a part that only NVIDIA's compiler makes. Without it says so on standard error, and refuses.
fn theirs(handle: Handle, what: &str, work: impl FnOnce(&Program) -> Result) -> Result {
    let is_theirs = nvidia::library()?.is_some();
    program::with(handle, |program| if is_theirs { work(program) } else { Ok(()) })?;
    if is_theirs {
        return Ok(());
    }
    say(&format!("there is no {what}, only PTX: use nvrtcGetPTX"));
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
    fn nvrtcVersion(major: Out<'_, c_int>, minor: Out<'_, c_int>) {
        major.required()?;
        minor.required()?;
        let mut version = VERSION;
        if let Some(nvidia) = nvidia::library()? {
            // SAFETY: both places live for the call.
            Status::check(unsafe { (nvidia.version)(&raw mut version.0, &raw mut version.1) })?;
        }
        major.set(version.0)?;
        minor.set(version.1)
    }

    /// How many architectures there are.
    fn nvrtcGetNumSupportedArchs(count: Out<'_, c_int>) {
        let mut number = ARCHITECTURES.len() as c_int;
        if let Some(nvidia) = nvidia::library()? {
            // SAFETY: the place lives for the call.
            Status::check(unsafe { (nvidia.architecture_count)(&raw mut number) })?;
        }
        count.set(number)
    }

    /// The architectures, ascending.
    fn nvrtcGetSupportedArchs(list: Out<'_, c_int>) {
        list.required()?;
        if let Some(nvidia) = nvidia::library()? {
            // SAFETY: the caller has room for as many as the function before said.
            return Status::check(unsafe { (nvidia.architectures)(list.address() as *mut c_int) });
        }
        // SAFETY: as above.
        unsafe { list.set_all(ARCHITECTURES.iter().map(|&number| number as c_int)) };
        Ok(())
    }

    /// Makes a program of a source, with headers by their names.
    fn nvrtcCreateProgram(
        handle: Out<'_, Handle>,
        source: Text<'_>,
        name: Text<'_>,
        header_count: c_int,
        headers: In<'_, Text<'_>>,
        include_names: In<'_, Text<'_>>,
    ) {
        handle.required()?;
        let source = source.c_str()?.to_owned();
        let name = name.c_str().ok().filter(|name| !name.is_empty());
        let name = name.unwrap_or(c"default_program").to_owned();
        // SAFETY: the caller vouches for as many.
        let (headers, names) =
            unsafe { (strings(headers, header_count)?, strings(include_names, header_count)?) };
        let headers = names.into_iter().zip(headers).collect();
        let program = Program { source, name, headers, ..Program::default() };
        handle.set(program::keep(program))
    }

    /// Ends a program.
    fn nvrtcDestroyProgram(handle: Out<'_, Handle>) {
        // SAFETY: the caller has a handle there.
        program::forget(unsafe { handle.get() }.map_err(|_| Status::InvalidProgram)?)?;
        handle.set(0)
    }

    /// Asks for a kernel or a variable by its name in C++.
    fn nvrtcAddNameExpression(handle: Handle, expression: Text<'_>) {
        program::with(handle, |program| {
            let expression = expression.c_str()?.to_owned();
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
    fn nvrtcCompileProgram(handle: Handle, count: c_int, options: In<'_, Text<'_>>) {
        // SAFETY: the caller vouches for as many.
        program::with(handle, |program| program.compile(&unsafe { strings(options, count)? }))
    }

    /// Bytes of the PTX, its zero among them.
    fn nvrtcGetPTXSize(handle: Handle, size: Out<'_, usize>) {
        program::with(handle, |program| size.set(program.ptx()?.count_bytes() + 1))
    }

    /// The PTX.
    fn nvrtcGetPTX(handle: Handle, ptx: Out<'_, u8>) {
        // SAFETY: the caller has room for as many bytes as the function before says.
        program::with(handle, |program| unsafe { ptx.set_list(program.ptx()?.to_bytes_with_nul()) })
    }

    /// Bytes of the log, its zero among them.
    fn nvrtcGetProgramLogSize(handle: Handle, size: Out<'_, usize>) {
        program::with(handle, |program| {
            size.set(program.outcome.as_ref().map_or(0, |one| one.log.count_bytes()) + 1)
        })
    }

    /// The log.
    fn nvrtcGetProgramLog(handle: Handle, log: Out<'_, u8>) {
        program::with(handle, |program| {
            let text = program.outcome.as_ref().map_or(c"", |one| &one.log);
            // SAFETY: the caller has room for as many bytes as the function before says.
            unsafe { log.set_list(text.to_bytes_with_nul()) }
        })
    }

    /// What a name expression is called in the PTX. The name lives as long as the program.
    fn nvrtcGetLoweredName(
        handle: Handle,
        expression: Text<'_>,
        lowered: Out<'_, *const c_char>,
    ) {
        program::with(handle, |program| lowered.set(program.lowered(expression.c_str()?)?.as_ptr()))
    }

    /// Bytes of the image; 0 where it was compiled for no card.
    fn nvrtcGetCUBINSize(handle: Handle, size: Out<'_, usize>) {
        program::with(handle, |program| size.set(program.part(|made| &made.image)?.len()))
    }

    /// The image: a fatbin with the PTX.
    fn nvrtcGetCUBIN(handle: Handle, image: Out<'_, u8>) {
        // SAFETY: the caller has room for as many bytes as the function before says.
        unsafe { copy_bytes(handle, image, |made| &made.image) }
    }

    /// Bytes of what is linked later, of NVIDIA's compiler alone.
    fn nvrtcGetLTOIRSize(handle: Handle, size: Out<'_, usize>) {
        theirs(handle, "LTO IR", |program| size.set(program.part(|made| &made.lto)?.len()))
    }

    /// What is linked later.
    fn nvrtcGetLTOIR(handle: Handle, ir: Out<'_, u8>) {
        theirs(handle, "LTO IR", |_| Ok(()))?;
        // SAFETY: the caller has room for as many bytes as the function before says.
        unsafe { copy_bytes(handle, ir, |made| &made.lto) }
    }

    /// Bytes of what OptiX takes, of NVIDIA's compiler alone.
    fn nvrtcGetOptiXIRSize(handle: Handle, size: Out<'_, usize>) {
        theirs(handle, "OptiX IR", |program| size.set(program.part(|made| &made.optix)?.len()))
    }

    /// What OptiX takes.
    fn nvrtcGetOptiXIR(handle: Handle, ir: Out<'_, u8>) {
        theirs(handle, "OptiX IR", |_| Ok(()))?;
        // SAFETY: the caller has room for as many bytes as the function before says.
        unsafe { copy_bytes(handle, ir, |made| &made.optix) }
    }

    /// A function that is asked now and then whether the compilation is to end.
    fn nvrtcSetFlowCallback(
        handle: Handle,
        function: Option<unsafe extern "C" fn(*mut c_void, *mut c_void) -> c_int>,
        data: *mut c_void,
    ) {
        let function = function.ok_or(Status::InvalidInput)?;
        program::with(handle, |program| {
            program.flow = Some(Flow { function, data: data as usize });
            Ok(())
        })
    }

    /// How making a precompiled header went.
    fn nvrtcGetPCHCreateStatus(handle: Handle) {
        program::with(handle, |program| {
            let outcome = program.outcome.as_ref().ok_or(Status::NoPchCreateAttempted)?;
            Status::check(outcome.pch_status)
        })
    }

    /// Bytes of heap that the precompiled header wants.
    fn nvrtcGetPCHHeapSizeRequired(handle: Handle, size: Out<'_, usize>) {
        program::with(handle, |program| {
            let outcome = program.outcome.as_ref().ok_or(Status::InvalidProgram)?;
            Status::check(outcome.pch_status)?;
            size.set(outcome.pch_heap)
        })
    }

    /// Bytes of the heap for precompiled headers, of which only NVIDIA's compiler has one.
    fn nvrtcGetPCHHeapSize(size: Out<'_, usize>) {
        let mut bytes = 0;
        if let Some(get) = nvidia::library()?.and_then(|nvidia| nvidia.pch_heap_size) {
            // SAFETY: the place lives for the call.
            Status::check(unsafe { get(&raw mut bytes) })?;
        }
        size.set(bytes)
    }

    /// Has another heap for precompiled headers.
    fn nvrtcSetPCHHeapSize(size: usize) {
        match nvidia::library()?.and_then(|nvidia| nvidia.set_pch_heap_size) {
            // SAFETY: a number.
            Some(set) => Status::check(unsafe { set(size) }),
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
            let place = Out::new(odd.cast::<Handle>());
            let (source, name) = (Text::new(source.as_ptr()), Text::new(name.as_ptr()));
            let none = In::null();
            assert_eq!(nvrtcCreateProgram(place, source, name, 0, none, none), 0);
            let handle = place.get().unwrap();
            odd.cast::<*const c_char>().write_unaligned(option.as_ptr());
            assert_eq!(nvrtcCompileProgram(handle, 1, In::new(odd.cast())), 0);
            let size = Out::new(odd.cast::<usize>());
            assert_eq!(nvrtcGetPTXSize(handle, size), 0);
            assert!(size.get().unwrap() > 1);
            place.set(handle).unwrap();
            assert_eq!(nvrtcDestroyProgram(place), 0);
            assert_eq!(place.get(), Ok(0));
            let mut list = [0u8; 4 * ARCHITECTURES.len() + 1];
            assert_eq!(nvrtcGetSupportedArchs(Out::new(list.as_mut_ptr().add(1).cast())), 0);
            assert_eq!(list[1..5], 50_i32.to_ne_bytes());
        }
    }
}
