//! Mapping from addresses to elements of buffers.

use crate::case::{Argument, Buffer, Case};
use crate::judge::place;

/// The maximum distance from a buffer at which an address is attributed to it, in multiples of the buffer's length
/// (of 64 elements, if the buffer is shorter).
const MAX_DISTANCE: i64 = 4;

/// An element of a buffer, or a position before or after its elements.
pub(crate) struct Element<'case> {
    pub(crate) buffer: &'case Buffer,
    /// Index of the element; negative before the beginning.
    pub(crate) index: i64,
}

impl Element<'_> {
    /// `x[37]`; for an existing element of a matrix, `a[2][5]`.
    pub(crate) fn name(&self) -> String {
        let name = self.buffer.name;
        if self.buffer.shape.len() < 2 || !self.is_inside() {
            return format!("{name}[{}]", self.index);
        }
        format!("{name}{}", written(&place(&self.buffer.shape, self.index as usize)))
    }

    /// Whether the element exists.
    pub(crate) fn is_inside(&self) -> bool {
        (0..self.count()).contains(&self.index)
    }

    /// Number of elements of the buffer.
    pub(crate) fn count(&self) -> i64 {
        self.buffer.before.len() as i64
    }
}

/// Indices in brackets: `[2][5]`.
pub(crate) fn written(place: &[usize]) -> String {
    place.iter().map(|at| format!("[{at}]")).collect()
}

/// The element at an address, or the nearest one.
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
