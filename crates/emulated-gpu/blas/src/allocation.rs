//! Fallible allocation for sizes chosen by the caller.

use crate::{Rejection, Result};

/// An empty vector with capacity for `count` elements.
///
/// # Errors
/// `ALLOC_FAILED` if the host is out of memory.
pub fn vec_with_capacity<T>(count: usize) -> Result<Vec<T>> {
    let mut vector = Vec::new();
    vector.try_reserve_exact(count).map_err(|_| {
        let size = (count as u64).saturating_mul(size_of::<T>() as u64);
        Rejection::out_of_memory(format!(
            "the host is out of memory for {size} bytes of intermediate results: multiply smaller \
             matrices, or fewer at once"
        ))
    })?;
    Ok(vector)
}

/// A vector with `count` copies of a value.
///
/// # Errors
/// `ALLOC_FAILED` if the host is out of memory.
pub fn filled<T: Clone>(value: T, count: usize) -> Result<Vec<T>> {
    let mut vector = vec_with_capacity(count)?;
    vector.resize(count, value);
    Ok(vector)
}
