//! Operations that read something else than their operand: another tensor, or the right one in a
//! wrong way.

use tensor::TensorName;

use super::place::TILES;
use super::sum::{Fold, Sum, View};
use super::{Hypothesis, Scene, hypothesis};
use crate::pattern::Pattern;

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

/// A factor of a product, or the operand of an elementwise operation, in whose place something else
/// is read.
pub(super) fn replaced(scene: &Scene<'_>) -> Option<Pattern> {
    let sum = Sum::of(scene)?;
    let mut family: Vec<Hypothesis<'_>> = Vec::new();
    let sum = &sum;
    for (which, (view, name)) in
        [(&sum.left, sum.names[0]), (&sum.right, sum.names[1])].into_iter().enumerate()
    {
        let Some(name) = name else { continue };
        family.push(hypothesis(format!("{name} is left out of the product"), move |i| {
            const ONE: [f64; 1] = [1.0];
            let one = View { values: &ONE, offset: 0, outer: 0, inner: 0, fold: Fold::Right };
            if which == 0 { sum.with(i, &one, &sum.right) } else { sum.with(i, &sum.left, &one) }
        }));
        for (text, other) in views(scene, view, name, sum.outer[which], sum.length) {
            family.push(hypothesis(text, move |i| {
                if which == 0 {
                    sum.with(i, &other, &sum.right)
                } else {
                    sum.with(i, &sum.left, &other)
                }
            }));
        }
    }
    scene.first(family)
}

/// Every other way to read an operand.
fn views<'a>(
    scene: &'a Scene<'a>,
    view: &View<'a>,
    name: TensorName,
    outer: usize,
    length: usize,
) -> Vec<(String, View<'a>)> {
    let mut all = Vec::new();
    let elements = outer * length;
    for (text, other, earlier, values) in scene.tensors() {
        if values.len() >= elements && (other != name || earlier) {
            let part = if values.len() == elements { "" } else { "the beginning of " };
            let text = format!("{part}{text} is read in place of {name}");
            all.push((text, View { values, ..view.clone() }));
        }
        // Its rows, which are longer.
        let (rows, row) = if view.inner == 1 { (outer, length) } else { (length, outer) };
        let longer = match scene.chain.shape(other).as_deref() {
            Some(&[own_rows, own_row]) if own_rows >= rows && own_row > row => own_row as isize,
            _ => continue,
        };
        let text = format!("{text} is read in place of {name}, of each row the first {row}");
        let (outer, inner) = if view.inner == 1 { (longer, 1) } else { (1, longer) };
        all.push((text, View { values, outer, inner, ..view.clone() }));
    }
    let (o, k) = (outer as isize, length as isize);
    let row_major = view.inner == 1;
    let turned = if row_major { (1, o) } else { (k, 1) };
    if (view.outer, view.inner) != turned && outer > 1 && length > 1 {
        let text = format!("{name} is read as if it were stored transposed");
        all.push((text, View { outer: turned.0, inner: turned.1, ..view.clone() }));
    }
    let mut reread = |text: String, offset: isize, outer: isize, inner: isize| {
        all.push((text, View { values: view.values, offset, outer, inner, fold: Fold::Right }));
    };
    let along = if row_major { k } else { o };
    for (offset, how) in [
        (1, "one element too far"),
        (-1, "one element too early"),
        (along, "one row too far"),
        (-along, "one row too early"),
    ] {
        reread(format!("{name} is read {how}"), offset, view.outer, view.inner);
    }
    let (row, column) = if row_major { ("row", "column") } else { ("column", "row") };
    reread(format!("{row} 0 of {name} is read for every {row}"), 0, 0, view.inner);
    reread(format!("{column} 0 of {name} is read for every {column}"), 0, view.outer, 0);
    // Strides: any size of the network, one off, or rounded up to what a tile holds.
    let stride = if row_major { view.outer } else { view.inner };
    let mut strides: Vec<isize> = scene.sizes().iter().map(|(n, _)| *n as isize).collect();
    strides.extend([stride - 1, stride + 1]);
    strides.extend([4, 8, 16, 32, 64, 128].map(|tile| (stride + tile - 1) / tile * tile));
    strides.sort_unstable();
    strides.dedup();
    for other in strides.into_iter().filter(|&other| other > 0 && other != stride) {
        let text = format!("{name} is read with rows of {other} elements, not of {stride}");
        if row_major {
            reread(text, 0, other, view.inner);
        } else {
            reread(text, 0, view.outer, other);
        }
    }
    for along in [true, false] {
        all.extend(folded(view, name, along, if along { length } else { outer }));
    }
    all
}

/// An operand whose index along the sum, or across it, is mistaken.
fn folded<'a>(
    view: &View<'a>,
    name: TensorName,
    along: bool,
    length: usize,
) -> Vec<(String, View<'a>)> {
    let what = if along { "along the sum" } else { "across the sum" };
    // Tiles, and as many chunks as a few blocks make of the length.
    let mut tiles: Vec<usize> = TILES.to_vec();
    tiles.extend((2..=8).map(|chunks| length.div_ceil(chunks)));
    tiles.retain(|&tile| 1 < tile && tile < length);
    tiles.sort_unstable();
    tiles.dedup();
    let mut all = Vec::new();
    let mut push = |text: String, fold| all.push((text, View { fold, ..view.clone() }));
    for tile in tiles {
        push(
            format!(
                "{name} is read from its first {tile} again and again, {what}: the cursor isn't moved on"
            ),
            Fold::FirstTile { along, tile },
        );
        push(
            format!("{name} is read at the first of each {tile} alone, {what}"),
            Fold::StartOfTile { along, tile },
        );
    }
    if length > 2 {
        push(format!("{name} is read from its end, {what}"), Fold::Reversed { along, of: length });
        push(format!("{name} is read with neighbours exchanged, {what}"), Fold::Paired { along });
    }
    if length > 1 {
        // One row of a matrix that is summed along its columns, one element of a row else.
        let one = if along == (view.inner == 1) { "element" } else { "row" };
        push(
            format!("{name} is read one {one} too far, and the first behind the last"),
            Fold::Rotated { along, by: 1, of: length },
        );
        push(
            format!("{name} is read one {one} too early, and the last before the first"),
            Fold::Rotated { along, by: length - 1, of: length },
        );
    }
    all
}
