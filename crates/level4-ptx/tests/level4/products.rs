//! Tests of the three files that are generated from `ptx/products.jinja`.

use crate::generated::generated;

#[test]
fn the_committed_files_are_those_of_the_template() {
    for (rung, text) in generated().unwrap() {
        let committed = rung.row().ptx.replace("\r\n", "\n");
        let first = committed.lines().zip(text.lines()).position(|(a, b)| a != b);
        assert!(
            committed == text,
            "{} differs from ptx/products.jinja, first in line {:?}: cargo run -p level4-ptx --example \
             generate_products writes it",
            rung.row().file,
            first.map(|line| line + 1)
        );
    }
}
