//! Operations that read something else than their operand: another tensor, or the right one in a
//! wrong way.

use super::formula::Sum;
use super::index::{Map, Operand, Step, Which};
use super::{Hypothesis, Pattern, Scene, hypothesis};
use crate::chain::operation::Axis;
use crate::describe::place::TILES;

/// A bias that is left out, added twice, or another's.
pub(super) fn bias(scene: &Scene<'_>) -> Option<Pattern> {
    let sum = Sum::of(scene)?;
    let (base, name) = (sum.base?, sum.names[2]?);
    let columns = sum.columns;
    let mut family = vec![
        hypothesis(format!("it is {name} alone: the product is not added"), |i| base[i % columns]),
        hypothesis(format!("{name} is not added"), |i| scene.expected[i] - base[i % columns]),
        hypothesis(format!("{name} is added twice"), |i| scene.expected[i] + base[i % columns]),
        hypothesis(format!("{name} is subtracted"), |i| {
            scene.expected[i] - 2.0 * base[i % columns]
        }),
        hypothesis(format!("element 0 of {name} is added to every unit"), |i| {
            scene.expected[i] - base[i % columns] + base[0]
        }),
        hypothesis(format!("{name} is indexed by the sample, not by the unit"), |i| {
            let row = i / columns;
            scene.expected[i] - base[i % columns] + base.get(row).copied().unwrap_or(f64::NAN)
        }),
    ];
    let mut index = |text: String, at: Box<dyn Fn(usize) -> usize>| {
        family.push(hypothesis(format!("{name} is read {text}"), move |i| {
            scene.expected[i] - base[i % columns]
                + base.get(at(i % columns)).copied().unwrap_or(f64::NAN)
        }));
    };
    index("from its end".into(), Box::new(move |j| columns - 1 - j));
    index("with neighbours exchanged".into(), Box::new(|j| j ^ 1));
    for k in 2..columns.min(5) {
        index(format!("with a stride of {k}, round and round"), Box::new(move |j| k * j % columns));
    }
    for tile in TILES.into_iter().filter(|&tile| tile < columns) {
        index(format!("from its first {tile} again and again"), Box::new(move |j| j % tile));
        index(format!("at the first of each {tile} alone"), Box::new(move |j| j / tile * tile));
    }
    for shift in [1_isize, -1] {
        let text =
            format!("{name} is read one element too {}", if shift > 0 { "far" } else { "early" });
        family.push(hypothesis(text, move |i| {
            let other = (i % columns).checked_add_signed(shift).and_then(|at| base.get(at));
            scene.expected[i] - base[i % columns] + other.copied().unwrap_or(f64::NAN)
        }));
    }
    for (text, other, earlier, values) in scene.tensors() {
        if values.len() < columns || (other == name && !earlier) {
            continue;
        }
        let start = if values.len() == columns { "" } else { "the beginning of " };
        family.push(hypothesis(format!("{start}{text} is added in place of {name}"), move |i| {
            scene.expected[i] - base[i % columns] + values[i % columns]
        }));
    }
    scene.first(family)
}

/// A product that reads another tensor in place of a factor, or reads a factor in a wrong way.
pub(super) fn replaced(scene: &Scene<'_>) -> Option<Pattern> {
    let sum = Sum::of(scene)?;
    let family = readings(scene, &sum);
    scene.first(family)
}

fn readings<'a>(scene: &'a Scene<'a>, sum: &'a Sum<'a>) -> Vec<Hypothesis<'a>> {
    let mut family: Vec<Hypothesis<'_>> = Vec::new();
    for (left, operand, name) in
        [(true, &sum.left, sum.names[0]), (false, &sum.right, sum.names[1])]
    {
        let Some(name) = name else { continue };
        // `other` is another operand or the same one, and `map` how it is read.
        let mut read = |text: String, other: Operand<'a>, map: Map| {
            family.push(hypothesis(text, move |i| {
                let (other, right) = ((&other, map), Map::Right);
                if left {
                    sum.read(i, other, (&sum.right, right))
                } else {
                    sum.read(i, (&sum.left, right), other)
                }
            }));
        };
        let one = Operand { values: &[1.0], by: [Axis::Nothing; 2], ..operand.clone() };
        read(format!("{name} is left out of the product"), one, Map::Right);
        let (rows, columns) = (operand.rows, operand.columns);
        for (text, other, earlier, values) in scene.tensors() {
            if values.len() >= rows * columns && (other != name || earlier) {
                let part = if values.len() == rows * columns { "" } else { "the beginning of " };
                let text = format!("{part}{text} is read in place of {name}");
                read(text, Operand { values, ..operand.clone() }, Map::Right);
            }
            // Its rows, which are longer.
            let longer = match scene.chain.shape(other).as_deref() {
                Some(&[own_rows, longer]) if own_rows >= rows && longer > columns => longer,
                _ => continue,
            };
            let text =
                format!("{text} is read in place of {name}, of each row the first {columns}");
            read(text, Operand { values, ..operand.clone() }, Map::Stride(longer));
        }
        for (text, map) in usual_maps(scene, operand) {
            read(text, operand.clone(), map);
        }
    }
    family
}

/// The usual ways to misread a factor.
fn usual_maps(scene: &Scene<'_>, operand: &Operand<'_>) -> Vec<(String, Map)> {
    let Operand { name, rows, columns, by, .. } = operand;
    let (rows, columns) = (*rows, *columns);
    // The axis that the terms move along, and the other.
    let summed = if by[0] == Axis::Term { Which::Row } else { Which::Column };
    let across = if by[0] == Axis::Term { Which::Column } else { Which::Row };
    let length = |which| if which == Which::Row { rows } else { columns };
    let mut maps = Vec::new();
    if rows > 1 && columns > 1 {
        maps.push(Map::Transposed);
    }
    let far = columns as isize;
    maps.extend([1, -1, far, -far].map(Map::Shifted));
    maps.extend([across, summed].map(|which| Map::Along(which, Step::Fixed(0))));
    // Strides: any size of the network, one off, or rounded up to what a tile holds.
    let mut strides: Vec<usize> = scene.sizes().iter().map(|(n, _)| *n as usize).collect();
    strides.extend([columns.saturating_sub(1), columns + 1]);
    strides.extend([4, 8, 16, 32, 64, 128].map(|tile| columns.div_ceil(tile) * tile));
    strides.sort_unstable();
    strides.dedup();
    maps.extend(strides.into_iter().filter(|&s| s > 0 && s != columns).map(Map::Stride));
    let words = |map| operand.words(map, &|_| "");
    let mut all: Vec<(String, Map)> = maps.into_iter().map(|map| (words(map), map)).collect();
    for (which, what) in [(summed, "along the sum"), (across, "across the sum")] {
        let n = length(which);
        // Tiles, and as many chunks as a few blocks make of the length.
        let mut tiles: Vec<usize> = TILES.to_vec();
        tiles.extend((2..=8).map(|chunks| n.div_ceil(chunks)));
        tiles.retain(|&tile| 1 < tile && tile < n);
        tiles.sort_unstable();
        tiles.dedup();
        let mut push = |text: String, step| all.push((text, Map::Along(which, step)));
        for tile in tiles {
            let again = format!("{name} is read from its first {tile} again and again, {what}");
            push(format!("{again}: the cursor isn't moved on"), Step::Modulo(tile));
            let first = format!("{name} is read at the first of each {tile} alone, {what}");
            push(first, Step::Floored(tile));
        }
        if n > 2 {
            push(format!("{name} is read from its end, {what}"), Step::Reversed);
            push(format!("{name} is read with neighbours exchanged, {what}"), Step::Exchanged(1));
        }
        if n > 1 {
            let one = if which == Which::Column { "element" } else { "row" };
            push(
                format!("{name} is read one {one} too far, and the first behind the last"),
                Step::Rotated(1),
            );
            push(
                format!("{name} is read one {one} too early, and the last before the first"),
                Step::Rotated(n - 1),
            );
        }
    }
    all
}
