//! Room for as many elements as a caller's sizes ask for, which the host may not have.

use crate::Rejection;

/// An empty vector that takes this many elements without asking for more.
///
/// # Errors
/// When the host has not the room.
pub fn room<T>(count: usize) -> Result<Vec<T>, Rejection> {
    let mut vector = Vec::new();
    vector.try_reserve_exact(count).map_err(|_| {
        let size = (count as u64).saturating_mul(size_of::<T>() as u64);
        Rejection::out_of_memory(format!(
            "the host has not the room for {size} bytes of intermediate results: multiply smaller \
             matrices, or fewer at once"
        ))
    })?;
    Ok(vector)
}

/// This many times the same.
///
/// # Errors
/// When the host has not the room.
pub fn filled<T: Clone>(value: T, count: usize) -> Result<Vec<T>, Rejection> {
    let mut vector = room(count)?;
    vector.resize(count, value);
    Ok(vector)
}
