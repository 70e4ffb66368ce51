//! Another machine, for programs that are told to load this library first (`LD_PRELOAD`): one whose
//! `/proc/cpuinfo` is the file that `ANOTHER_MACHINE_CPUINFO` names, and that has as many processors
//! as `ANOTHER_MACHINE_CORES` says.
//!
//! Tests and `scripts/test-machines.sh` run the programs of the workspace on it. It is a library, and
//! an example only because cargo builds those along with the tests. Linux and glibc alone.
#![cfg(all(target_os = "linux", target_env = "gnu", target_pointer_width = "64"))]
#![expect(unsafe_code, reason = "it stands in for functions of the C library")]

use std::ffi::{CStr, c_char, c_int, c_long};

/// The value of a variable, as C sees it: the standard library may not be ready yet.
fn variable(name: &CStr) -> Option<&'static CStr> {
    // SAFETY: the name ends in a zero; the programs under test don't change their environment.
    let value = unsafe { libc::getenv(name.as_ptr()) };
    // SAFETY: `getenv` gives a string that ends in a zero, or null.
    (!value.is_null()).then(|| unsafe { CStr::from_ptr(value) })
}

fn cores() -> Option<usize> {
    variable(c"ANOTHER_MACHINE_CORES")?.to_str().ok()?.parse().ok().filter(|&cores| cores > 0)
}

/// The path itself, or that of the other machine's file in its place.
///
/// # Safety
/// `path` ends in a zero, or is null.
unsafe fn there(path: *const c_char) -> *const c_char {
    // SAFETY: by this function's own contract.
    if path.is_null() || unsafe { CStr::from_ptr(path) } != c"/proc/cpuinfo" {
        return path;
    }
    variable(c"ANOTHER_MACHINE_CPUINFO").map_or(path, CStr::as_ptr)
}

/// `openat(2)`. In C it takes any number of arguments; on the platforms above a caller that passes
/// none for the mode passes what nobody reads.
///
/// # Safety
/// As in C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn openat(
    folder: c_int,
    path: *const c_char,
    flags: c_int,
    mode: libc::mode_t,
) -> c_int {
    // SAFETY: the caller's arguments, with another path that ends in a zero.
    unsafe { libc::syscall(libc::SYS_openat, folder, there(path), flags, mode) as c_int }
}

/// `openat64`
///
/// # Safety
/// As in C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn openat64(
    folder: c_int,
    path: *const c_char,
    flags: c_int,
    mode: libc::mode_t,
) -> c_int {
    // SAFETY: the caller's arguments.
    unsafe { openat(folder, path, flags, mode) }
}

/// `open(2)`
///
/// # Safety
/// As in C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn open(path: *const c_char, flags: c_int, mode: libc::mode_t) -> c_int {
    // SAFETY: the caller's arguments.
    unsafe { openat(libc::AT_FDCWD, path, flags, mode) }
}

/// `open64`
///
/// # Safety
/// As in C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn open64(path: *const c_char, flags: c_int, mode: libc::mode_t) -> c_int {
    // SAFETY: the caller's arguments.
    unsafe { openat(libc::AT_FDCWD, path, flags, mode) }
}

/// `sched_getaffinity(2)`, by which programs count the processors they may use.
///
/// # Safety
/// As in C: `set` has `size` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sched_getaffinity(
    process: libc::pid_t,
    size: usize,
    set: *mut libc::cpu_set_t,
) -> c_int {
    let Some(cores) = cores() else {
        // SAFETY: the caller's arguments.
        let written = unsafe { libc::syscall(libc::SYS_sched_getaffinity, process, size, set) };
        if written < 0 {
            return -1;
        }
        // What the kernel has not written is none, as the C library has it.
        // SAFETY: `set` has `size` bytes, of which the kernel wrote `written`.
        unsafe {
            set.cast::<u8>().add(written as usize).write_bytes(0, size - written as usize);
        }
        return 0;
    };
    for byte in 0..size {
        let bits = cores.saturating_sub(byte * 8).min(8);
        // SAFETY: `set` has `size` bytes.
        unsafe { set.cast::<u8>().add(byte).write(((1_u16 << bits) - 1) as u8) };
    }
    0
}

/// `sysconf(3)`, for the number of processors alone. Everything else is asked of the other name
/// under which the C library has it.
///
/// # Safety
/// As in C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sysconf(name: c_int) -> c_long {
    unsafe extern "C" {
        fn __sysconf(name: c_int) -> c_long;
    }
    let processors = [libc::_SC_NPROCESSORS_ONLN, libc::_SC_NPROCESSORS_CONF].contains(&name);
    match cores().filter(|_| processors) {
        Some(cores) => cores as c_long,
        // SAFETY: the caller's argument.
        None => unsafe { __sysconf(name) },
    }
}
