//! Mapping from addresses to elements of buffers.

use crate::case::{Argument, Buffer, Case};
use crate::judge::place;

/// The maximum distance from a buffer at which an address is attributed to it, in multiples of the buffer's length
/// (buffers with fewer than 64 elements count as 64).
const MAX_DISTANCE: i64 = 4;

/// An element of a buffer, or a position in memory before or after the buffer.
pub(crate) struct Element<'case> {
    pub(crate) buffer: &'case Buffer,
    /// The index of the element, which is negative before the buffer.
    pub(crate) index: i64,
}

impl Element<'_> {
    /// The element's name in messages: `x[37]`, or `a[2][5]` for an existing element of a matrix.
    pub(crate) fn name(&self) -> String {
        let name = self.buffer.name;
        if self.buffer.shape.len() < 2 || !self.is_inside() {
            return format!("{name}[{}]", self.index);
        }
        format!("{name}{}", written(&place(&self.buffer.shape, self.index as usize)))
    }

    /// Whether the element exists, rather than being a position outside the buffer.
    pub(crate) fn is_inside(&self) -> bool {
        (0..self.count()).contains(&self.index)
    }

    /// Number of elements of the buffer.
    pub(crate) fn count(&self) -> i64 {
        self.buffer.before.len() as i64
    }
}

/// Writes indices in brackets: `[2][5]`.
pub(crate) fn written(place: &[usize]) -> String {
    place.iter().map(|at| format!("[{at}]")).collect()
}

/// The element at an address, or the position relative to the nearest buffer.
pub(crate) fn element<'case>(
    case: &'case Case,
    addresses: &[Option<u64>],
    address: u64,
) -> Option<Element<'case>> {
    let elements = case.arguments.iter().zip(addresses).filter_map(|(argument, start)| {
        let Argument::Buffer(buffer) = argument else { return None };
        let offset = (address as i64).checked_sub((*start)? as i64)?;
        Some(Element { buffer, index: offset.div_euclid(4) })
    });
    let distance = |element: &Element<'_>| {
        let beyond = (element.index - element.count() + 1).max(0);
        beyond.max(-element.index)
    };
    let nearest = elements.min_by_key(distance)?;
    (distance(&nearest) <= MAX_DISTANCE * nearest.count().max(64)).then_some(nearest)
}
