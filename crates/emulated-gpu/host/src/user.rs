//! The user that runs this process.

/// The effective user id, with which this process opens files.
#[must_use]
#[expect(unsafe_code, reason = "the standard library has no such function")]
pub fn user() -> u32 {
    // SAFETY: the call has no arguments and never fails.
    unsafe { libc::geteuid() }
}
