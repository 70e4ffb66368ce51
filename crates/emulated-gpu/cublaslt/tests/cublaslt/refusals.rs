//! Tests of calls that cuBLASLt refuses, or whose behaviour it leaves undefined, and of the
//! messages that name the argument. Expected statuses are pairs: the status of the heuristic, and
//! the status of the product.

use cudarc::cublaslt::sys::cublasComputeType_t;

use crate::messages::Messages;
use crate::support::{Call, CublasLt, Shape, Type};

const INVALID: i32 = 7;
const UNSUPPORTED: i32 = 15;
const F32: Type = Type::F32;

/// A product of 8 x 3 and 3 x 4 with larger buffers than necessary, and memory for a bias, a mask
/// or an auxiliary matrix.
struct PaddedProduct {
    lt: CublasLt,
    messages: Messages,
    memory: [cudarc::driver::CudaSlice<u8>; 3],
    spare: cudarc::driver::CudaSlice<u8>,
}

impl PaddedProduct {
    fn new() -> Self {
        let messages = Messages::capture();
        let lt = CublasLt::new();
        let memory = [24, 12, 32].map(|count| lt.numbers(F32, &vec![1.0; count]));
        let spare = lt.numbers(F32, &[0.0; 64]);
        Self { lt, messages, memory, spare }
    }

    fn call(&self) -> Call {
        let [a, b, d] = [0, 1, 2].map(|index: usize| self.lt.address(&self.memory[index]));
        let result = Shape::new(F32, 8, 4);
        Call::new([Shape::new(F32, 8, 3), Shape::new(F32, 3, 4), result, result], [a, b, d, d])
    }

    fn spare(&self) -> u64 {
        self.lt.address(&self.spare)
    }

    fn expect(&self, call: &Call, statuses: (i32, i32), message: &[&str]) {
        assert_eq!(call.run(&self.lt), statuses, "{call:?}: {:?}", self.messages.take_messages());
        self.messages.expect(message);
    }
}

#[test]
fn the_unchanged_call_succeeds() {
    let fixture = PaddedProduct::new();
    assert_eq!(fixture.call().run(&fixture.lt), (0, 0));
}

/// The statuses are those of cuBLASLt 13.0 on an RTX 3060, in single precision.
#[test]
fn invalid_masks_and_auxiliary_matrices_are_refused() {
    let fixture = PaddedProduct::new();
    let spare = fixture.spare();
    let relu = Call { epilogue: 130, aux: spare, aux_ld: 128, ..fixture.call() };
    assert_eq!(relu.run(&fixture.lt), (0, 0));
    let unpadded = Call { aux_ld: 8, ..relu.clone() };
    let message = "CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD is 8: the auxiliary bit mask has 8 rows, and \
                its columns are padded to a multiple of 128 elements: 128 or more";
    fixture.expect(&unpadded, (INVALID, INVALID), &[message]);
    let half = Call { aux_ld: 64, ..relu.clone() };
    fixture.expect(&half, (INVALID, INVALID), &["EPILOGUE_AUX_LD is 64"]);
    let none = Call { aux_ld: 0, ..relu.clone() };
    fixture.expect(&none, (INVALID, INVALID), &["EPILOGUE_AUX_LD is 0"]);
    let null = Call { aux: 0, aux_ld: 0, ..relu };
    let message = "CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER is null: CUBLASLT_EPILOGUE_RELU_AUX";
    fixture.expect(&null, (0, UNSUPPORTED), &[message]);
    let gelu = Call { epilogue: 160, aux: spare, aux_ld: 8, ..fixture.call() };
    assert_eq!(gelu.run(&fixture.lt), (0, 0));
    let short = Call { aux_ld: 7, ..gelu.clone() };
    fixture.expect(&short, (INVALID, INVALID), &["EPILOGUE_AUX_LD is 7"]);
    let other_type = Call { aux_type: 2, ..gelu.clone() };
    fixture.expect(&other_type, (INVALID, INVALID), &["AUX_DATA_TYPE is 2: it must be 0"]);
    fixture.expect(&Call { aux: 0, ..gelu }, (0, UNSUPPORTED), &["CUBLASLT_EPILOGUE_GELU_AUX"]);
    let gradient = Call { epilogue: 192, ..fixture.call() };
    fixture.expect(&gradient, (0, INVALID), &["CUBLASLT_EPILOGUE_DGELU needs it"]);
}

/// The statuses are those of cuBLASLt 13.0 on an RTX 3060.
#[test]
fn gradients_of_biases() {
    let fixture = PaddedProduct::new();
    let spare = fixture.spare();
    let gradient = Call { epilogue: 152, aux: spare, aux_ld: 128, ..fixture.call() };
    let message =
        "CUBLASLT_MATMUL_DESC_BIAS_POINTER is null: CUBLASLT_EPILOGUE_DRELU_BGRAD needs it";
    fixture.expect(&gradient, (0, INVALID), &[message]);
    let [a, b, c, d] = fixture.call().shapes;
    let turned = |index: usize, shape: Shape| {
        let mut shapes = [a, b, c, d];
        shapes[index] = Shape::new(F32, shape.columns, shape.rows);
        shapes
    };
    let from_a = Call {
        epilogue: 256,
        bias: spare,
        operations: (1, 0),
        shapes: turned(0, a),
        ..fixture.call()
    };
    let message = "CUBLASLT_EPILOGUE_BGRADA needs contiguous columns of op(A)";
    fixture.expect(&from_a, (UNSUPPORTED, UNSUPPORTED), &[message]);
    let from_b = Call { epilogue: 512, bias: spare, ..fixture.call() };
    let message = "CUBLASLT_EPILOGUE_BGRADB needs contiguous rows of op(B)";
    fixture.expect(&from_b, (UNSUPPORTED, UNSUPPORTED), &[message]);
    let null = Call { bias: 0, operations: (0, 1), shapes: turned(1, b), ..from_b };
    fixture.expect(&null, (0, INVALID), &["BIAS_POINTER is null"]);
    assert_eq!(Call { bias: spare, ..null }.run(&fixture.lt), (0, 0));
}

/// For these shapes, there is no algorithm with a gradient epilogue.
#[test]
fn shapes_without_an_algorithm() {
    let fixture = PaddedProduct::new();
    let spare = fixture.spare();
    for epilogue in [136, 152, 192, 208] {
        let gradient = Call { epilogue, aux: spare, aux_ld: 128, bias: spare, ..fixture.call() };
        let result = Shape::new(F32, 8, 4);
        let flat = [Shape::new(F32, 8, 1), Shape::new(F32, 1, 4), result, result];
        fixture.expect(
            &Call { shapes: flat, ..gradient },
            (UNSUPPORTED, UNSUPPORTED),
            &["K is 1", "no algorithm"],
        );
    }
}

#[test]
fn column_epilogues_refuse_row_major_results() {
    let fixture = PaddedProduct::new();
    let mut call = Call { epilogue: 4, bias: fixture.spare(), ..fixture.call() };
    call.shapes[2] = Shape::in_row_order(F32, 8, 4);
    call.shapes[3] = call.shapes[2];
    let message = "CUBLASLT_EPILOGUE_BIAS needs D in CUBLASLT_ORDER_COL";
    fixture.expect(&call, (UNSUPPORTED, UNSUPPORTED), &[message]);
    assert_eq!(Call { epilogue: 2, ..call }.run(&fixture.lt), (0, 0));
}

#[test]
fn inconsistent_shapes_and_leading_dimensions_are_refused() {
    let fixture = PaddedProduct::new();
    let with = |index: usize, shape: Shape| {
        let mut call = fixture.call();
        call.shapes[index] = shape;
        call
    };
    let short = with(0, Shape { ld: 7, ..Shape::new(F32, 8, 3) });
    let message = "the leading dimension of Adesc is 7: A is stored as 8 x 3 in column-major order";
    fixture.expect(&short, (INVALID, INVALID), &[message]);
    let rows = with(1, Shape { ld: 3, ..Shape::in_row_order(F32, 3, 4) });
    fixture.expect(&rows, (INVALID, INVALID), &["Bdesc is 3", "at least its number of columns, 4"]);
    let inner = with(1, Shape::new(F32, 4, 3));
    fixture.expect(&inner, (INVALID, INVALID), &["A is 8 x 3 and B is 4 x 3"]);
    let outer = with(3, Shape::new(F32, 4, 8));
    fixture.expect(&outer, (INVALID, INVALID), &["D is 4 x 8, but A · B is 8 x 4"]);
    let forgotten = Call { operations: (1, 0), ..fixture.call() };
    fixture.expect(&forgotten, (INVALID, INVALID), &["Aᵀ is 3 x 8 and B is 3 x 4"]);
    let mut batch = fixture.call();
    batch.shapes[0].batch = 2;
    fixture.expect(&batch, (INVALID, INVALID), &["BATCH_COUNT is 2 for A and 1 for D"]);
    let mut overlap = fixture.call();
    for shape in &mut overlap.shapes {
        shape.batch = 2;
    }
    fixture.expect(&overlap, (INVALID, INVALID), &["STRIDED_BATCH_OFFSET of D is 0", "overlap"]);
}

#[test]
fn incompatible_types_are_refused() {
    let fixture = PaddedProduct::new();
    let mut call = fixture.call();
    call.shapes[1].ty = Type::F16;
    fixture.expect(
        &call,
        (UNSUPPORTED, UNSUPPORTED),
        &["A is CUDA_R_32F, B CUDA_R_16F", "CUBLAS_COMPUTE_32F"],
    );
    let half = Call { compute: cublasComputeType_t::CUBLAS_COMPUTE_16F, ..fixture.call() };
    fixture.expect(&half, (UNSUPPORTED, UNSUPPORTED), &["the scale type is CUDA_R_32F"]);
    let bias = Call { epilogue: 4, bias: fixture.spare(), bias_type: 2, ..fixture.call() };
    fixture.expect(&bias, (INVALID, INVALID), &["BIAS_DATA_TYPE is 2"]);
    let none = Call { epilogue: 3, ..fixture.call() };
    fixture.expect(&none, (INVALID, INVALID), &["CUBLASLT_MATMUL_DESC_EPILOGUE is 3"]);
}

/// The real library accepts these calls, and reads or writes out of bounds.
#[test]
fn operands_outside_their_allocations_are_refused() {
    let fixture = PaddedProduct::new();
    let mut wide = fixture.call();
    wide.shapes[0].ld = 9;
    fixture.expect(&wide, (0, INVALID), &["A is 8 x 3 CUDA_R_32F", "A ends 8 bytes after it"]);
    let small = fixture.lt.numbers(F32, &[0.0; 4]);
    let small = fixture.lt.address(&small);
    let bias = Call { epilogue: 4, bias: small, ..fixture.call() };
    let message = "the vector at CUBLASLT_MATMUL_DESC_BIAS_POINTER: 32 bytes";
    fixture.expect(&bias, (0, INVALID), &[message, "ends 16 bytes after it"]);
    let mask = Call { epilogue: 130, aux: small, aux_ld: 128, ..fixture.call() };
    let message = "the matrix at CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER: 49 bytes";
    fixture.expect(&mask, (0, INVALID), &[message, "ends 33 bytes after it"]);
    let mut nowhere = fixture.call();
    nowhere.addresses[1] = 0x1000;
    fixture.expect(
        &nowhere,
        (0, INVALID),
        &["B is at 0x1000, which is not inside a device allocation"],
    );
    let mut null = fixture.call();
    null.addresses[3] = 0;
    fixture.expect(&null, (0, INVALID), &["D is a null pointer"]);
    let mut same = fixture.call();
    same.addresses[3] = same.addresses[0];
    same.addresses[2] = same.addresses[0];
    let square = Shape::new(F32, 3, 3);
    same.shapes = [square; 4];
    fixture.expect(&same, (0, INVALID), &["D and A are the same memory"]);
}

/// The heuristic assumes an alignment of 256 bytes unless the preferences give a smaller one.
#[test]
fn addresses_below_the_promised_alignment_are_refused() {
    let fixture = PaddedProduct::new();
    let large = fixture.lt.numbers(F32, &[1.0; 64]);
    let mut call = fixture.call();
    call.addresses[0] = fixture.lt.address(&large) + 4;
    let message = "algo was chosen for multiples of 16 bytes: set \
                CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES before calling the heuristic";
    fixture.expect(&call, (0, INVALID), &[message]);
    assert_eq!(Call { alignment: Some(4), ..call.clone() }.run(&fixture.lt), (0, 0));
    let none = Call { alignment: Some(2), ..fixture.call() };
    fixture.expect(&none, (UNSUPPORTED, 0), &["MIN_ALIGNMENT_A_BYTES is 2"]);
    let odd = Call { alignment: Some(4), addresses: call.addresses.map(|x| x + 2), ..call };
    fixture.expect(&odd, (0, INVALID), &["not a multiple of 4, the size of a CUDA_R_32F"]);
}

#[test]
fn bias_and_mask_with_less_alignment_than_for_the_heuristic_are_refused() {
    let fixture = PaddedProduct::new();
    let spare = fixture.spare();
    let bias = Call { epilogue: 4, bias: spare, ..fixture.call() };
    let statuses = bias.run_with(&fixture.lt, |call| call.bias += 4);
    assert_eq!(statuses, (0, INVALID));
    fixture.messages.expect(&["the bias is at", "set CUBLASLT_MATMUL_DESC_BIAS_POINTER before"]);
    let early = Call { bias: spare + 4, ..bias };
    assert_eq!(early.run(&fixture.lt), (0, 0));
    let mask = Call { epilogue: 130, aux: spare, aux_ld: 128, ..fixture.call() };
    assert_eq!(mask.run_with(&fixture.lt, |call| call.aux += 1), (0, INVALID));
    fixture.messages.expect(&["the auxiliary matrix is at", "EPILOGUE_AUX_POINTER before"]);
}

/// Sizes beyond the address space are refused, whether the operand is read or not.
#[test]
fn sizes_beyond_the_address_space_are_refused() {
    let fixture = PaddedProduct::new();
    let spare = fixture.spare();
    for ld in [i64::MAX as usize, 1 << 62, (1 << 61) + 3] {
        for index in 0..3 {
            let mut call = Call { scalars: (1.0, 1.0), alignment: Some(4), ..fixture.call() };
            call.shapes[index].ld = ld;
            // C and D are the same memory with the same layout.
            call.shapes[3].ld = call.shapes[2].ld;
            fixture.expect(&call, (0, INVALID), &["is larger than the address space"]);
        }
        let mut unread = Call { scalars: (0.0, 0.0), alignment: Some(4), ..fixture.call() };
        unread.shapes[0].ld = ld;
        unread.shapes[1].ld = ld;
        assert_eq!(unread.run(&fixture.lt), (0, 0), "{ld}");
    }
    for stride in [i64::MAX, i64::MIN, -(1 << 61)] {
        let mut batch = Call { alignment: Some(4), ..fixture.call() };
        for shape in &mut batch.shapes {
            (shape.batch, shape.stride) = (2, stride);
        }
        fixture.expect(&batch, (0, INVALID), &["is larger than the address space"]);
        let mut bias = Call { epilogue: 4, bias_stride: stride, ..fixture.call() };
        (bias.bias, bias.addresses[2], bias.addresses[3]) = (bias.addresses[0], spare, spare);
        for (shape, apart) in bias.shapes.iter_mut().zip([0, 0, 32, 32]) {
            (shape.batch, shape.stride) = (2, apart);
        }
        fixture.expect(&bias, (0, INVALID), &["BIAS_POINTER is larger than the address space"]);
    }
    let mask = Call { epilogue: 130, aux: spare, aux_ld: i64::MAX & !127, ..fixture.call() };
    fixture.expect(
        &mask,
        (0, INVALID),
        &["the matrix at CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER"],
    );
    let sums =
        Call { epilogue: 164, aux: spare, aux_ld: i64::MAX & !7, bias: spare, ..fixture.call() };
    fixture.expect(&sums, (0, INVALID), &["AUX_POINTER is larger than the address space"]);
    let mut batch = Call { aux_stride: i64::MAX & !127, ..mask.clone() };
    batch.shapes.iter_mut().for_each(|shape| (shape.batch, shape.stride) = (2, 32));
    fixture.expect(&batch, (INVALID, INVALID), &["EPILOGUE_AUX_BATCH_STRIDE is"]);
}
