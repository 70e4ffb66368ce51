//! The PTX of the three products on tensor cores, from the template that they have in common.

use level4_ptx::Rung;
use minijinja::{Environment, Error, context};

/// The rungs, and the text of their files.
pub(crate) fn generated() -> Result<[(Rung, String); 3], Error> {
    let mut environment = Environment::new();
    environment.set_trim_blocks(true);
    environment.set_lstrip_blocks(true);
    environment.set_keep_trailing_newline(true);
    let template = environment.template_from_str(include_str!("../../../../ptx/products.jinja"))?;
    let text = |bf16: bool, three: bool| template.render(context! { bf16, three });
    Ok([
        (Rung::TensorCores, text(false, false)?),
        (Rung::Bf16, text(true, false)?),
        (Rung::ThreeTf32, text(false, true)?),
    ])
}
