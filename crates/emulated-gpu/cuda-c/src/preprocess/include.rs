//! `#include`: files that the resolver finds, and headers whose contents are built in.

use super::Preprocessor;
use crate::diagnostic::Problem;
use crate::lex::{Token, TokenKind};
use crate::source::Span;
use crate::unsupported::{COLLECTIVES, COMPLEX, NARROW_FLOATS, RANDOM, TEXTURES};

/// The maximum nesting of includes.
const MAX_NESTING: usize = 32;
/// The maximum number of included files: a file that includes itself twice would cause up to 2^32
/// includes.
const MAX_INCLUDES: usize = 65_536;
/// The maximum size in bytes of all included files together, and so also of each single file.
const MAX_BYTES: usize = 1 << 26;

/// Headers whose contents are built in.
const BUILT_IN: &str = "\
    cuda_runtime.h cuda_runtime_api.h cuda.h device_launch_parameters.h device_functions.h \
    math_functions.h math_constants.h vector_types.h math.h cmath stdio.h cstdio assert.h \
    cassert stdint.h cstdint stddef.h cstddef float.h cfloat limits.h climits stdbool.h \
    cuda_fp16.h cuda_bf16.h cuda_fp8.h mma.h cooperative_groups.h cooperative_groups/reduce.h \
    cooperative_groups/scan.h";

pub(super) fn is_built_in(header: &str) -> bool {
    BUILT_IN.split(' ').any(|known| known == header)
}

/// The name in `"name"` or `<name>`.
pub(super) fn header_name(tokens: &[Token]) -> Option<String> {
    let first = tokens.first()?;
    if first.kind == TokenKind::String {
        return Some(first.text.trim_matches('"').to_owned());
    }
    let inner = tokens[1..].iter().take_while(|token| !token.is(">"));
    first.is("<").then(|| inner.map(|token| &*token.text).collect())
}

impl Preprocessor<'_> {
    pub(super) fn include(&mut self, rest: &[Token], span: Span) {
        let Some(name) = header_name(rest) else {
            let problem = Problem::new(span, "`#include` needs a file");
            return self.error(problem.help("write `#include \"file.cuh\"`"));
        };
        let place = rest[0].span.until(rest[rest.len() - 1].span);
        if self.depth >= MAX_NESTING {
            let problem =
                Problem::new(place, format!("includes are nested more than {MAX_NESTING} deep"));
            return self.stop(problem.help("write `#pragma once` at the top of each"));
        }
        let from = self.sources.get(span.file).name.clone();
        if let Some((path, text)) =
            self.resolver.and_then(|resolver| resolver.resolve(&name, &from))
        {
            if self.once.contains(&path) {
                return;
            }
            self.usage.includes += 1;
            self.usage.bytes = self.usage.bytes.saturating_add(text.len());
            let limit = match () {
                () if self.usage.includes > MAX_INCLUDES => {
                    format!("more than {MAX_INCLUDES} files are included")
                }
                () if self.usage.bytes > MAX_BYTES => {
                    format!("the included files have more than {MAX_BYTES} bytes")
                }
                () => String::new(),
            };
            if !limit.is_empty() {
                let problem = Problem::new(place, limit);
                return self.stop(problem.help("write `#pragma once` at the top of each"));
            }
            let file = self.sources.add(&path, &text);
            self.depth += 1;
            self.file(file);
            self.depth -= 1;
            return;
        }
        if is_built_in(&name) {
            return;
        }
        let problem = Problem::new(place, format!("`{name}` wasn't found"));
        let unsupported =
            |help| Problem::new(place, format!("`{name}` isn't supported")).help(help);
        self.error(match name.split('/').next().unwrap_or_default() {
            "thrust" | "cub" | "cuda" | "cute" | "cutlass" | "cooperative_groups" => {
                unsupported(COLLECTIVES)
            }
            header
                if header.starts_with("cuda_pipeline") || header.starts_with("cuda_awbarrier") =>
            {
                unsupported(COLLECTIVES)
            }
            "cuComplex.h" => unsupported(COMPLEX),
            "cuda_fp4.h" | "cuda_fp6.h" => unsupported(NARROW_FLOATS),
            header if header.starts_with("curand") => unsupported(RANDOM),
            header if header.starts_with("texture_") || header.starts_with("surface_") => {
                unsupported(TEXTURES)
            }
            "iostream" | "vector" | "string" | "algorithm" | "memory" | "map" | "array"
            | "tuple" | "type_traits" | "utility" | "functional" | "stdlib.h" | "cstdlib"
            | "chrono" | "limits" | "numeric" | "random" | "complex" | "atomic"
            | "initializer_list" => {
                Problem::new(place, format!("the C++ library isn't supported: `{name}`")).help(
                    "kernels use arrays, pointers and printf; host code goes into another file",
                )
            }
            _ => problem.help("add its folder to the include folders"),
        });
    }
}
