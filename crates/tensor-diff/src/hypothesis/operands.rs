//! Operations that read something else than their operand: another tensor, or the right one in a
//! wrong way.

use tensor::TensorName;

use super::sum::{Sum, View};
use super::{Hypothesis, Scene, hypothesis};
use crate::pattern::Pattern;

/// A bias that is left out, added twice, or another's.
pub(super) fn bias(scene: &Scene<'_>) -> Option<Pattern> {
    let sum = Sum::of(scene)?;
    let (base, name) = (sum.base?, sum.names[2]?);
    let columns = sum.columns;
    let mut family = vec![
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
            let one = View { values: &ONE, offset: 0, outer: 0, inner: 0 };
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
    }
    let (o, k) = (outer as isize, length as isize);
    let row_major = view.inner == 1;
    let turned = if row_major { (1, o) } else { (k, 1) };
    if (view.outer, view.inner) != turned && outer > 1 && length > 1 {
        let text = format!("{name} is read as if it were stored transposed");
        all.push((text, View { outer: turned.0, inner: turned.1, ..view.clone() }));
    }
    let mut reread = |text: String, offset: isize, outer: isize, inner: isize| {
        all.push((text, View { values: view.values, offset, outer, inner }));
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
    all
}
