//! The exported functions, as `nvrtc.h` declares them.

use std::ffi::{CStr, CString, c_char, c_int, c_void};

use c_abi::export;
use cuda_c::ARCHITECTURES;

use crate::ffi::{In, Out, Result, Status, Text, name, report};
use crate::nvidia;
use crate::program::{self, CancelCallback, Outcome, Program};

/// The handle `nvrtcProgram`, which is a number here, not an address.
type Handle = usize;

/// The version of NVRTC whose functions, options and architectures are emulated.
const VERSION: (c_int, c_int) = (12, 0);

/// Copies `count` C strings from the caller.
///
/// # Safety
/// `from` is null or an array of `count` strings.
unsafe fn strings(from: In<'_, Text<'_>>, count: c_int) -> Result<Vec<CString>> {
    let count = usize::try_from(count).map_err(|_| Status::InvalidInput)?;
    // SAFETY: guaranteed by the caller.
    unsafe { from.elements(count)? }.map(|text| text.c_str().map(CStr::to_owned)).collect()
}

/// Copies a part of the compilation's outcome to the caller's buffer.
///
/// # Safety
/// `to` is null or writable for all bytes of the part.
unsafe fn copy_bytes(handle: Handle, to: Out<'_, u8>, part: fn(&Outcome) -> &Vec<u8>) -> Result {
    program::with_program(handle, |program| match program.output_part(part)? {
        [] => Err(Status::InvalidProgram),
        // SAFETY: guaranteed by the caller.
        bytes => unsafe { to.set_list(bytes) },
    })
}

/// Calls `work` if NVIDIA's compiler is used. Otherwise, fails with a message on standard error
/// that only NVIDIA's compiler makes `output`.
fn nvidia_only(handle: Handle, output: &str, work: impl FnOnce(&Program) -> Result) -> Result {
    let uses_nvidias = nvidia::library()?.is_some();
    program::with_program(handle, |program| if uses_nvidias { work(program) } else { Ok(()) })?;
    if uses_nvidias {
        return Ok(());
    }
    report(&format!("there is no {output}, only PTX: use nvrtcGetPTX"));
    Err(Status::InvalidProgram)
}

/// The name of a result code.
///
/// # Safety
/// Always safe to call.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvrtcGetErrorString(result: c_int) -> *const c_char {
    name(result).as_ptr()
}

/// Marker symbol that lets callers recognise the emulated library; NVIDIA's doesn't have it.
///
/// # Safety
/// Always safe to call.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn emulatedNvrtc() -> *const c_char {
    c"cuda-c".as_ptr()
}

export! {
    /// The version of NVRTC.
    fn nvrtcVersion(major: Out<'_, c_int>, minor: Out<'_, c_int>) {
        major.required()?;
        minor.required()?;
        let mut version = VERSION;
        if let Some(nvidia) = nvidia::library()? {
            // SAFETY: both fields of `version` live until the call has ended.
            Status::check(unsafe { (nvidia.version)(&raw mut version.0, &raw mut version.1) })?;
        }
        major.set(version.0)?;
        minor.set(version.1)
    }

    /// The number of supported architectures.
    fn nvrtcGetNumSupportedArchs(count: Out<'_, c_int>) {
        let mut number = ARCHITECTURES.len() as c_int;
        if let Some(nvidia) = nvidia::library()? {
            // SAFETY: `number` lives until the call has ended.
            Status::check(unsafe { (nvidia.architecture_count)(&raw mut number) })?;
        }
        count.set(number)
    }

    /// The supported architectures, in ascending order.
    fn nvrtcGetSupportedArchs(list: Out<'_, c_int>) {
        list.required()?;
        if let Some(nvidia) = nvidia::library()? {
            // SAFETY: the list has room for the number that `nvrtcGetNumSupportedArchs` returns.
            return Status::check(unsafe { (nvidia.architectures)(list.address() as *mut c_int) });
        }
        // SAFETY: as above.
        unsafe { list.set_all(ARCHITECTURES.iter().map(|&number| number as c_int)) };
        Ok(())
    }

    /// Creates a program from a source and headers with their names.
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
        // SAFETY: the caller guarantees `header_count` strings in each array.
        let (headers, names) =
            unsafe { (strings(headers, header_count)?, strings(include_names, header_count)?) };
        let headers = names.into_iter().zip(headers).collect();
        let program = Program { source, name, headers, ..Program::default() };
        handle.set(program::insert(program))
    }

    /// Destroys a program.
    fn nvrtcDestroyProgram(handle: Out<'_, Handle>) {
        // SAFETY: guaranteed by the caller, who has stored a handle at this pointer.
        program::remove(unsafe { handle.get() }.map_err(|_| Status::InvalidProgram)?)?;
        handle.set(0)
    }

    /// Requests a kernel or a variable by its C++ name.
    fn nvrtcAddNameExpression(handle: Handle, expression: Text<'_>) {
        program::with_program(handle, |program| {
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

    /// Compiles a program.
    fn nvrtcCompileProgram(handle: Handle, count: c_int, options: In<'_, Text<'_>>) {
        // SAFETY: the caller guarantees `count` options.
        program::with_program(handle, |program| program.compile(&unsafe { strings(options, count)? }))
    }

    /// The size of the PTX in bytes, including the final zero.
    fn nvrtcGetPTXSize(handle: Handle, size: Out<'_, usize>) {
        program::with_program(handle, |program| size.set(program.ptx()?.count_bytes() + 1))
    }

    /// The PTX.
    fn nvrtcGetPTX(handle: Handle, ptx: Out<'_, u8>) {
        // SAFETY: the buffer has the size that `nvrtcGetPTXSize` returns.
        program::with_program(handle, |program| unsafe { ptx.set_list(program.ptx()?.to_bytes_with_nul()) })
    }

    /// The size of the log in bytes, including the final zero.
    fn nvrtcGetProgramLogSize(handle: Handle, size: Out<'_, usize>) {
        program::with_program(handle, |program| {
            size.set(program.outcome.as_ref().map_or(0, |one| one.log.count_bytes()) + 1)
        })
    }

    /// The log.
    fn nvrtcGetProgramLog(handle: Handle, log: Out<'_, u8>) {
        program::with_program(handle, |program| {
            let text = program.outcome.as_ref().map_or(c"", |one| &one.log);
            // SAFETY: the buffer has the size that `nvrtcGetProgramLogSize` returns.
            unsafe { log.set_list(text.to_bytes_with_nul()) }
        })
    }

    /// The mangled name of a name expression. The string lives as long as the program.
    fn nvrtcGetLoweredName(
        handle: Handle,
        expression: Text<'_>,
        lowered: Out<'_, *const c_char>,
    ) {
        program::with_program(handle, |program| lowered.set(program.lowered(expression.c_str()?)?.as_ptr()))
    }

    /// The size of the image in bytes; 0 if the program was compiled for a virtual architecture.
    fn nvrtcGetCUBINSize(handle: Handle, size: Out<'_, usize>) {
        program::with_program(handle, |program| size.set(program.output_part(|compiled| &compiled.image)?.len()))
    }

    /// The image: a fatbin with the PTX.
    fn nvrtcGetCUBIN(handle: Handle, image: Out<'_, u8>) {
        // SAFETY: the buffer has the size that `nvrtcGetCUBINSize` returns.
        unsafe { copy_bytes(handle, image, |compiled| &compiled.image) }
    }

    /// The size of the LTO-IR in bytes. Only NVIDIA's compiler makes it.
    fn nvrtcGetLTOIRSize(handle: Handle, size: Out<'_, usize>) {
        nvidia_only(handle, "LTO IR", |program| size.set(program.output_part(|compiled| &compiled.lto)?.len()))
    }

    /// The LTO-IR.
    fn nvrtcGetLTOIR(handle: Handle, ir: Out<'_, u8>) {
        nvidia_only(handle, "LTO IR", |_| Ok(()))?;
        // SAFETY: the buffer has the size that `nvrtcGetLTOIRSize` returns.
        unsafe { copy_bytes(handle, ir, |compiled| &compiled.lto) }
    }

    /// The size of the OptiX IR in bytes. Only NVIDIA's compiler makes it.
    fn nvrtcGetOptiXIRSize(handle: Handle, size: Out<'_, usize>) {
        nvidia_only(handle, "OptiX IR", |program| size.set(program.output_part(|compiled| &compiled.optix)?.len()))
    }

    /// The OptiX IR.
    fn nvrtcGetOptiXIR(handle: Handle, ir: Out<'_, u8>) {
        nvidia_only(handle, "OptiX IR", |_| Ok(()))?;
        // SAFETY: the buffer has the size that `nvrtcGetOptiXIRSize` returns.
        unsafe { copy_bytes(handle, ir, |compiled| &compiled.optix) }
    }

    /// Sets a function that is called from time to time, and can cancel the compilation.
    fn nvrtcSetFlowCallback(
        handle: Handle,
        function: Option<unsafe extern "C" fn(*mut c_void, *mut c_void) -> c_int>,
        data: *mut c_void,
    ) {
        let function = function.ok_or(Status::InvalidInput)?;
        program::with_program(handle, |program| {
            program.cancel_callback = Some(CancelCallback { function, data: data as usize });
            Ok(())
        })
    }

    /// The result of creating a precompiled header.
    fn nvrtcGetPCHCreateStatus(handle: Handle) {
        program::with_program(handle, |program| {
            let outcome = program.outcome.as_ref().ok_or(Status::NoPchCreateAttempted)?;
            Status::check(outcome.pch_status)
        })
    }

    /// The size in bytes of the heap that the precompiled header needs.
    fn nvrtcGetPCHHeapSizeRequired(handle: Handle, size: Out<'_, usize>) {
        program::with_program(handle, |program| {
            let outcome = program.outcome.as_ref().ok_or(Status::InvalidProgram)?;
            Status::check(outcome.pch_status)?;
            size.set(outcome.pch_heap)
        })
    }

    /// The size in bytes of the heap for precompiled headers; 0 unless NVIDIA's compiler is used.
    fn nvrtcGetPCHHeapSize(size: Out<'_, usize>) {
        let mut bytes = 0;
        if let Some(get) = nvidia::library()?.and_then(|nvidia| nvidia.pch_heap_size) {
            // SAFETY: `bytes` lives until the call has ended.
            Status::check(unsafe { get(&raw mut bytes) })?;
        }
        size.set(bytes)
    }

    /// Sets the size of the heap for precompiled headers.
    fn nvrtcSetPCHHeapSize(size: usize) {
        match nvidia::library()?.and_then(|nvidia| nvidia.set_pch_heap_size) {
            // SAFETY: the argument is a number.
            Some(set) => Status::check(unsafe { set(size) }),
            None if size == 0 => Ok(()),
            None => Err(Status::OutOfMemory),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// NVIDIA's library on x86 accepts unaligned pointers, too.
    #[test]
    fn pointers_to_arrays_and_results_may_be_unaligned() {
        let option = c"--gpu-architecture=compute_80";
        let mut bytes = [0u8; 9];
        let odd = bytes.as_mut_ptr().wrapping_add(1);
        let (source, name) = (c"__global__ void nothing() {}", c"nothing.cu");
        // SAFETY: from its second byte on, the array has room for a pointer or a number.
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
