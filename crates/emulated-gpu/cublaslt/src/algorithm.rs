//! `cublasLtMatmulAlgo_t`: an algorithm's tile, its split of sums (split-K), and the alignments
//! that it requires.
//!
//! The CPU doesn't use an algorithm's tile; it only determines the number of blocks that a card
//! would use. The split of sums changes the result, so it is carried out.

use std::ffi::{c_int, c_void};

use c_abi::export;
use emulated_blas::{Compute, DataType, Rejection, Result, Split, reject_if, scale_type};

use crate::alignment;
use crate::attribute::opaque;
use crate::ffi::Out;
use crate::handle::{Handle, open};
use crate::preference::Preference;
use crate::problem::Problem;
use crate::{attribute, epilogue::Bias};

/// The number of the only family of algorithms.
const ID: c_int = 0;
/// The available tiles: the `cublasLtMatmulTile_t` number, rows and columns.
const TILES: [(i32, u64, u64); 4] = [(20, 128, 128), (15, 64, 64), (11, 32, 32), (5, 16, 16)];
/// The number of parts of split sums.
const SPLIT_PARTS: i32 = 4;
/// The minimum number of terms for which splitting a sum is worth its overhead.
const MIN_SPLIT_TERMS: u64 = 256;
/// `CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE`: partial sums are added in the compute type.
const REDUCTION: i32 = 2;
/// The maximum number of parts.
const MAX_PARTS: i32 = 256;

opaque! {
    /// The structure of an algorithm, which programs may copy as 64 bytes.
    Algorithm: "algorithm of this library", "CUBLASLT_ALGO_CONFIG_…", b"LtAl", 64;
    new(alignments: [u8; 6]);
    others: |_, _| None;
    id: i32 = ID, 0;
    tile: i32 = 0, 1;
    split_k: i32 = 1, 2;
    reduction_scheme: i32 = 0, 3;
    /// This field and the following ones up to `cluster_shape` (`CTA_SWIZZLING` to
    /// `CLUSTER_SHAPE_ID`) are stored, but have no effect.
    swizzling: i32 = 0, 4;
    custom_option: i32 = 0, 5;
    stages: i32 = 0, 6;
    inner_shape: u16 = 0, 7;
    cluster_shape: u16 = 0, 8;
    /// The required alignments of `A`, `B`, `C`, `D`, the bias and the auxiliary matrix, in bytes.
    pub(crate) alignments: [u8; 6] = alignments;
    reserved: [u8; 22] = [0; 22];
}

const _: () = assert!(size_of::<Algorithm>() == 64, "cublasLtMatmulAlgo_t has 64 bytes");

impl Algorithm {
    /// The number of parts of each sum.
    pub(crate) fn parts(&self) -> u64 {
        self.split_k.clamp(1, MAX_PARTS).unsigned_abs().into()
    }

    /// The required workspace in bytes.
    pub(crate) fn workspace(&self, problem: &Problem) -> u64 {
        let (m, n, _) = problem.sizes;
        let ty = problem.compute.sum_type(problem.a.ty);
        Split::workspace(self.parts(), m.saturating_mul(n), ty)
    }

    /// The number of blocks that a card would use for a problem.
    pub(crate) fn blocks(&self, problem: &Problem) -> u64 {
        let (m, n, _) = problem.sizes;
        let row = TILES.iter().find(|(id, ..)| *id == self.tile);
        let &(_, rows, columns) = row.unwrap_or(&TILES[1]);
        let tiles = m.div_ceil(rows).saturating_mul(n.div_ceil(columns));
        tiles.saturating_mul(self.parts()).saturating_mul(problem.d.batch)
    }

    /// The algorithms for a problem: first the algorithms without split sums, then those with split
    /// sums, both in order of decreasing tiles. Their required alignments are the largest that the
    /// preferences, the leading dimensions and the addresses in the descriptor allow.
    ///
    /// # Errors
    /// `NOT_SUPPORTED` if the preferences only promise an alignment smaller than an element.
    pub(crate) fn choose_algorithm(
        problem: &Problem,
        preference: &Preference,
    ) -> Result<Vec<Self>> {
        let mut alignments = [16; 6];
        let matrices = [&problem.a, &problem.b, &problem.c, &problem.d];
        for (index, (matrix, promised)) in
            matrices.into_iter().zip(preference.alignments).enumerate()
        {
            let size = matrix.ty.size();
            let promised = u64::try_from(promised).unwrap_or(0);
            if promised < size {
                return Err(Rejection::unsupported(format!(
                    "CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_{}_BYTES is {promised}: every algorithm \
                     needs elements of {size} bytes to be aligned",
                    matrix.name
                )));
            }
            // If the product overflows, its lower 64 bits have the same alignment as the whole
            // product.
            let apart = |elements: i64| {
                alignment::largest_power(elements.unsigned_abs().wrapping_mul(size))
            };
            let width = alignment::largest_power(promised)
                .min(apart(matrix.ld))
                .min(apart(matrix.batch_stride));
            alignments[index] = width.max(size) as u8;
        }
        let size = problem.d.ty.size();
        let descriptor = &problem.descriptor;
        if problem.epilogue.bias != Bias::None {
            alignments[4] =
                alignment::largest_power(descriptor.bias.cast_unsigned()).max(size) as u8;
        }
        if problem.epilogue.has_aux() {
            let least = if problem.epilogue.has_mask() { 1 } else { size };
            alignments[5] =
                alignment::largest_power(descriptor.aux.cast_unsigned()).max(least) as u8;
        }
        let plain = TILES.map(|(tile, ..)| Self { tile, ..Self::new(alignments) });
        let split =
            plain.map(|one| Self { split_k: SPLIT_PARTS, reduction_scheme: REDUCTION, ..one });
        let allowed = |one: &Self| {
            problem.sizes.2 >= MIN_SPLIT_TERMS
                && preference.allows(one.workspace(problem), REDUCTION)
        };
        Ok(plain.into_iter().chain(split.into_iter().filter(allowed)).collect())
    }
}

/// A capability of the algorithm with a single value (`cublasLtMatmulAlgoCapAttributes_t`).
fn capability(attribute: c_int) -> Option<u32> {
    Some(match attribute {
        // SPLITK_SUPPORT
        0 => 1,
        // REDUCTION_SCHEME_MASK
        1 => REDUCTION.unsigned_abs(),
        // CTA_SWIZZLING_SUPPORT
        2 => 0,
        // STRIDED_BATCH_SUPPORT, OUT_OF_PLACE_RESULT_SUPPORT
        3 | 4 => 1,
        // UPLO_SUPPORT, CUSTOM_OPTION_MAX
        5 | 7 => 0,
        // CUSTOM_MEMORY_ORDER: row order is also supported
        10 => 1,
        // POINTER_MODE_MASK: host and device
        11 => 3,
        // EPILOGUE_MASK: all bits that epilogues are made of
        12 => 1023,
        // LD_NEGATIVE
        14 => 0,
        // MIN_ALIGNMENT_A_BYTES to MIN_ALIGNMENT_D_BYTES
        16..=19 => 2,
        _ => return None,
    })
}

/// A capability of the algorithm with a list of values.
fn list_capability(attribute: c_int) -> Option<Vec<u32>> {
    Some(match attribute {
        // TILE_IDS
        6 => TILES.map(|(tile, ..)| tile.unsigned_abs()).to_vec(),
        // STAGES_IDS: CUBLASLT_MATMUL_STAGES_UNDEFINED
        13 => vec![0],
        _ => return None,
    })
}

/// Writes as much of a list as fits into `size` bytes, or returns the list's size if `size` is 0.
///
/// # Safety
/// The buffer must be null or have `size` writable bytes.
unsafe fn write_list(
    list: &[u32],
    buf: Out<'_, u32>,
    size: usize,
    written: Out<'_, usize>,
) -> Result {
    let width = size_of::<u32>();
    if size == 0 {
        return written.set_as(size_of_val(list), "sizeWritten");
    }
    let list = &list[..list.len().min(size / width)];
    if !list.is_empty() {
        buf.require_as("buf")?;
        // SAFETY: guaranteed by the caller.
        unsafe { buf.set_list(list)? };
    }
    written.set_if_wanted(size_of_val(list));
    Ok(())
}

fn check_types(
    compute_type: c_int,
    scale: c_int,
    types: (c_int, c_int, c_int, c_int),
) -> Result<bool> {
    let compute = Compute::from_code(compute_type)?;
    let scale = DataType::from_argument(scale, "scaleType")?;
    let (a, b) =
        (DataType::from_argument(types.0, "Atype")?, DataType::from_argument(types.1, "Btype")?);
    let (c, d) =
        (DataType::from_argument(types.2, "Ctype")?, DataType::from_argument(types.3, "Dtype")?);
    Ok(scale == scale_type(compute, a) && a == b && c == d && compute.supports(a, c))
}

export! {
    /// Returns the algorithm numbers for these types.
    fn cublasLtMatmulAlgoGetIds(
        handle: Handle,
        compute_type: c_int,
        scale: c_int,
        a: c_int,
        b: c_int,
        c: c_int,
        d: c_int,
        requested: c_int,
        ids: Out<'_, c_int>,
        returned: Out<'_, c_int>,
    ) {
        open(handle)?;
        reject_if!(requested < 1, invalid, "requestedAlgoCount is {requested}");
        let is_supported = check_types(compute_type, scale, (a, b, c, d))?;
        if is_supported {
            ids.set_as(ID, "algoIdsArray")?;
        }
        returned.set_as(is_supported.into(), "returnAlgoCount")
    }

    /// Creates an algorithm from its number. The algorithm requires no alignment.
    fn cublasLtMatmulAlgoInit(
        handle: Handle,
        compute_type: c_int,
        scale: c_int,
        a: c_int,
        b: c_int,
        c: c_int,
        d: c_int,
        id: c_int,
        algorithm: Out<'_, Algorithm>,
    ) {
        open(handle)?;
        reject_if!(id != ID, invalid, "algoId is {id}, but the only algorithm is {ID}");
        if !check_types(compute_type, scale, (a, b, c, d))? {
            return Err(Rejection::unsupported("these types are not supported with the compute type"));
        }
        algorithm.set_as(Algorithm::new([1; 6]), "algo")
    }

    /// Returns an attribute of the configuration.
    fn cublasLtMatmulAlgoConfigGetAttribute(
        algorithm: *const Algorithm,
        attr: c_int,
        buf: *mut c_void,
        size: usize,
        written: Out<'_, usize>,
    ) {
        attribute::get(algorithm, attr, buf, size, written, "algo")
    }

    /// Sets an attribute of the configuration. Only `SPLITK_NUM` has an effect.
    fn cublasLtMatmulAlgoConfigSetAttribute(
        algorithm: Out<'_, Algorithm>,
        attr: c_int,
        buf: *const c_void,
        size: usize,
    ) {
        reject_if!(attr == 0, invalid, "CUBLASLT_ALGO_CONFIG_ID can't be set");
        attribute::set(algorithm.as_ptr(), attr, buf, size, "algo")
    }

    /// Returns a capability of the algorithm.
    fn cublasLtMatmulAlgoCapGetAttribute(
        algorithm: *const Algorithm,
        attr: c_int,
        buf: Out<'_, u32>,
        size: usize,
        written: Out<'_, usize>,
    ) {
        attribute::read(algorithm, "algo")?;
        if let Some(list) = list_capability(attr) {
            return write_list(&list, buf, size, written);
        }
        let value = capability(attr).ok_or_else(|| {
            Rejection::invalid(format!("attr is {attr}, which the emulated library does not support"))
        })?;
        if size == 0 {
            return written.set_as(4, "sizeWritten");
        }
        reject_if!(size != 4, invalid, "sizeInBytes is {size}: it has 4 bytes");
        buf.set_as(value, "buf")?;
        written.set_if_wanted(4);
        Ok(())
    }
}
