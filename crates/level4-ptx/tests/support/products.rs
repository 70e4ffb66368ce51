//! Generation of the PTX of the three rungs on tensor cores, from their common template.

use level4_ptx::Rung;
use minijinja::{Environment, Error, context};

/// The rungs, and the generated texts of their files.
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
