//! The positions of marks' names, chosen so that none covers another.

/// The height of a line of text, in pixels.
pub(super) const LINE: i32 = 14;
/// An upper bound of the average width of a character, in pixels.
pub(super) const CHARACTER: i32 = 7;
/// The distance between a mark and its name, in pixels.
const GAP: i32 = 8;

/// A rectangle: left, top, right, bottom.
pub(super) type Area = (i32, i32, i32, i32);

/// The upper left corner of each mark's name. It is next to the mark or, if that place is taken, further away, but
/// always inside the area of the chart.
pub(super) fn places(
    marks: &[((i32, i32), &str)],
    mut taken: Vec<Area>,
    within: Area,
) -> Vec<(i32, i32)> {
    let of_mark =
        |&((x, y), _): &((i32, i32), &str)| (x - GAP / 2, y - GAP / 2, x + GAP / 2, y + GAP / 2);
    taken.extend(marks.iter().map(of_mark));
    let mut found = Vec::new();
    for &(at, name) in marks {
        let size = (CHARACTER * name.chars().count() as i32, LINE);
        let area = |(x, y): (i32, i32)| (x, y, x + size.0, y + size.1);
        let free = |place: &(i32, i32)| {
            let own = area(*place);
            own.0 >= within.0
                && own.1 >= within.1
                && own.2 <= within.2
                && own.3 <= within.3
                && !taken.iter().any(|other| overlap(own, *other))
        };
        let place = candidates(at, size).find(free).unwrap_or((at.0 + GAP, at.1));
        taken.push(area(place));
        found.push(place);
    }
    found
}

/// A line connects a mark to its name. This is the line's end at the name.
pub(super) fn corner((x, _): (i32, i32), place: (i32, i32), name: &str) -> (i32, i32) {
    let width = CHARACTER * name.chars().count() as i32;
    let side = if place.0 > x { place.0 - 2 } else { place.0 + width };
    (side, place.1 + LINE / 2)
}

/// Candidate positions for a name, the preferred ones first: to the lower right or upper left of the mark, because
/// roofs rise to the right, then positions further away.
fn candidates((x, y): (i32, i32), (width, height): (i32, i32)) -> impl Iterator<Item = (i32, i32)> {
    (0..12).flat_map(move |step| {
        let (right, left) = (x + GAP, x - GAP - width);
        let (below, above) = (y + step * height, y - (step + 1) * height);
        [(right, below), (left, above)]
    })
}

const fn overlap(a: Area, b: Area) -> bool {
    a.0 < b.2 && b.0 < a.2 && a.1 < b.3 && b.1 < a.3
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_covers_another_or_a_mark() {
        let marks: Vec<((i32, i32), &str)> =
            (0..8).map(|n| ((100 + 3 * n, 100 - 2 * n), "a kernel")).collect();
        let places = places(&marks, vec![(120, 80, 180, 120)], (0, 0, 400, 300));
        let areas: Vec<Area> = places.iter().map(|&(x, y)| (x, y, x + 56, y + LINE)).collect();
        for (n, area) in areas.iter().enumerate() {
            assert!(areas[n + 1..].iter().all(|other| !overlap(*area, *other)), "{areas:?}");
            assert!(!overlap(*area, (120, 80, 180, 120)), "{areas:?}");
            assert!(area.0 >= 0 && area.1 >= 0 && area.2 <= 400 && area.3 <= 300);
            for &((x, y), _) in &marks {
                assert!(!overlap(*area, (x, y, x + 1, y + 1)), "{areas:?}");
            }
        }
    }
}
