//! Tests that the rungs have the same order in `Rung::ALL`, in their files and in the book's table.

use clap::ValueEnum;
use level4_ptx::Rung;

#[test]
fn a_rung_has_the_same_number_everywhere() {
    let book = include_str!("../../../../book/src/level4/ladder.md");
    let mut before = 0;
    for (rung, number) in Rung::ALL.into_iter().zip(1..) {
        let row = rung.row();
        let value = rung.to_possible_value().expect("every rung can be named");
        assert_eq!((row.name, rung as usize + 1), (value.get_name(), number));
        assert_eq!(row.file, format!("ptx/{}.ptx", row.name.replace('-', "_")));
        assert!(row.ptx.starts_with(&format!("// Rung {number} of the ladder: ")), "{rung}");
        let (plain, linked) = (format!("\n| `{rung}` |"), format!("\n| [`{rung}`]("));
        let at = book.find(&plain).or_else(|| book.find(&linked)).expect("the table has a row");
        assert!(at > before, "{rung} comes too early in the table of book/src/level4/ladder.md");
        before = at;
    }
}
