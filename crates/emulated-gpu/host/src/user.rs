//! The user that this process runs as.

/// The user as whom this process opens files (its effective user id).
#[must_use]
#[expect(unsafe_code, reason = "only the C library tells")]
pub fn user() -> u32 {
    // SAFETY: the call takes nothing, and never fails.
    unsafe { libc::geteuid() }
}
