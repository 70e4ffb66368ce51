//! Import cycles among the crate's files.

use std::collections::BTreeMap;

use emulated_gpu_test_support::layers;

#[test]
fn no_more_than_three_files_import_each_other() {
    layers::assert_no_large_cycle(env!("CARGO_MANIFEST_DIR"));
}

#[test]
fn an_import_cycle_is_found() {
    let text = |uses: &str| uses.to_owned();
    let modules: BTreeMap<String, String> = [
        ("a", text("use crate::b::{C, d::E};\nuse std::fmt;\n")),
        ("b", text("pub(crate) use d::E;\nuse super::c::{\n    self,\n    X,\n};\n")),
        ("b::d", text("use super::super::c::Y as Z;\n")),
        (
            "c",
            text(
                "fn f() {}\nuse crate::a::A;\n#[cfg(test)]\nmod tests {\n    use crate::e::E;\n}\n",
            ),
        ),
        ("e", text("use crate::c::Y;\n")),
    ]
    .map(|(name, text)| (name.to_owned(), text))
    .into();
    let graph = layers::imports(&modules);
    let targets = |name: &str| graph[name].iter().map(String::as_str).collect::<Vec<_>>();
    assert_eq!(targets("a"), ["b", "b::d"]);
    let expected = (vec!["b::d", "c"], vec!["c"], vec!["a"]);
    assert_eq!((targets("b"), targets("b::d"), targets("c")), expected);
    assert_eq!(layers::cycles(&graph), [vec!["a", "b", "b::d", "c"]].into());
}
