//! A library to preload (`LD_PRELOAD`) that imitates another machine: `/proc/cpuinfo` is the file that
//! `ANOTHER_MACHINE_CPUINFO` names, and the number of processors is `ANOTHER_MACHINE_CORES`.
//!
//! Tests and `scripts/test-machines.sh` run the programs of the workspace with it. The library is an example only because
//! cargo builds examples along with the tests. It needs Linux and glibc.
#![cfg(all(target_os = "linux", target_env = "gnu", target_pointer_width = "64"))]
#![expect(unsafe_code, reason = "it replaces functions of the C library")]

use std::ffi::{CStr, c_char, c_int, c_long};

/// The value of a variable, by way of C: Rust's standard library may not be initialised yet.
fn variable(name: &CStr) -> Option<&'static CStr> {
    // SAFETY: the name ends in a zero; the programs under test don't change their environment.
    let value = unsafe { libc::getenv(name.as_ptr()) };
    // SAFETY: `getenv` returns a string that ends in a zero, or null.
    (!value.is_null()).then(|| unsafe { CStr::from_ptr(value) })
}

fn cores() -> Option<usize> {
    variable(c"ANOTHER_MACHINE_CORES")?.to_str().ok()?.parse().ok().filter(|&cores| cores > 0)
}

/// The path, or the path of the imitated file for `/proc/cpuinfo`.
///
/// # Safety
/// `path` ends in a zero, or is null.
unsafe fn redirected(path: *const c_char) -> *const c_char {
    // SAFETY: `path` is null or ends in a zero, as this function requires.
    if path.is_null() || unsafe { CStr::from_ptr(path) } != c"/proc/cpuinfo" {
        return path;
    }
    variable(c"ANOTHER_MACHINE_CPUINFO").map_or(path, CStr::as_ptr)
}

/// `openat(2)`. It is variadic in C; on these platforms `mode` holds an arbitrary value if the caller passed none, and
/// the kernel then ignores it.
///
/// # Safety
/// The requirements are those of the C function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn openat(
    folder: c_int,
    path: *const c_char,
    flags: c_int,
    mode: libc::mode_t,
) -> c_int {
    // SAFETY: the arguments are the caller's, except for the path, which ends in a zero too.
    unsafe { libc::syscall(libc::SYS_openat, folder, redirected(path), flags, mode) as c_int }
}

/// `openat64`
///
/// # Safety
/// The requirements are those of the C function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn openat64(
    folder: c_int,
    path: *const c_char,
    flags: c_int,
    mode: libc::mode_t,
) -> c_int {
    // SAFETY: the caller passes arguments that are valid for the C function.
    unsafe { openat(folder, path, flags, mode) }
}

/// `open(2)`
///
/// # Safety
/// The requirements are those of the C function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn open(path: *const c_char, flags: c_int, mode: libc::mode_t) -> c_int {
    // SAFETY: the caller passes arguments that are valid for the C function.
    unsafe { openat(libc::AT_FDCWD, path, flags, mode) }
}

/// `open64`
///
/// # Safety
/// The requirements are those of the C function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn open64(path: *const c_char, flags: c_int, mode: libc::mode_t) -> c_int {
    // SAFETY: the caller passes arguments that are valid for the C function.
    unsafe { openat(libc::AT_FDCWD, path, flags, mode) }
}

/// `sched_getaffinity(2)`, with which programs count the processors that they may use.
///
/// # Safety
/// The requirements are those of the C function: `set` has `size` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sched_getaffinity(
    process: libc::pid_t,
    size: usize,
    set: *mut libc::cpu_set_t,
) -> c_int {
    let Some(cores) = cores() else {
        // SAFETY: the caller passes arguments that are valid for the C function.
        let written = unsafe { libc::syscall(libc::SYS_sched_getaffinity, process, size, set) };
        if written < 0 {
            return -1;
        }
        // Clears the part that the kernel has not written, as the C library does.
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

/// `sysconf(3)`. Only the number of processors is replaced; other values come from the C library's `__sysconf`.
///
/// # Safety
/// The requirements are those of the C function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sysconf(name: c_int) -> c_long {
    unsafe extern "C" {
        fn __sysconf(name: c_int) -> c_long;
    }
    let processors = [libc::_SC_NPROCESSORS_ONLN, libc::_SC_NPROCESSORS_CONF].contains(&name);
    match cores().filter(|_| processors) {
        Some(cores) => cores as c_long,
        // SAFETY: the caller passes an argument that is valid for the C function.
        None => unsafe { __sysconf(name) },
    }
}
