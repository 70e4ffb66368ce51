//! Functions for matrix products.

/// `libcublas.so`
pub(super) const CUBLAS: &str = "
cublasCreate_v2 +cublas
cublasDestroy_v2 cublas
cublasGetAtomicsMode cublas out
cublasGetMathMode cublas out
cublasGetPointerMode_v2 cublas out
cublasGetProperty int out
cublasGetStream_v2 cublas out
cublasGetVersion_v2 cublas out
cublasSetAtomicsMode cublas int
cublasSetMathMode cublas int
cublasSetPointerMode_v2 cublas int
cublasSetSmCountTarget cublas int
cublasSetStream_v2 cublas stream
cublasSetWorkspace_v2 cublas device size
cublasSasum_v2 cublas dim device dim buffer
cublasDasum_v2_64 cublas dim device dim buffer
cublasSgemm_v2 cublas int int dim dim dim buffer device dim device dim buffer device dim
cublasDgemm_v2_64 cublas int int dim dim dim buffer device dim device dim buffer device dim
cublasHgemm cublas int int dim dim dim buffer device dim device dim buffer device dim
cublasGemmEx cublas int int dim dim dim buffer device type dim device type dim buffer device type dim compute int
cublasSgemmStridedBatched cublas int int dim dim dim buffer device dim dim device dim dim buffer device dim dim dim
cublasSgemmBatched cublas int int dim dim dim buffer device dim device dim buffer device dim dim
cublasHgemmBatched_64 cublas int int dim dim dim buffer device dim device dim buffer device dim dim
cublasGemmBatchedEx cublas int int dim dim dim buffer device type dim device type dim buffer device type dim dim compute int
cublasGemmStridedBatchedEx cublas int int dim dim dim buffer device type dim dim device type dim dim buffer device type dim dim dim compute int
cublasSgemmGroupedBatched cublas ints ints dims dims dims buffer device dims device dims buffer device dims count dims
cublasGemmGroupedBatchedEx cublas ints ints dims dims dims buffer device type dims device type dims buffer device type dims count dims compute
cublasSgemv_v2 cublas int dim dim buffer device dim device dim buffer device dim
cublasSgemvStridedBatched cublas int dim dim buffer device dim dim device dim dim buffer device dim dim dim
cublasDgemv_v2_64 cublas int dim dim buffer device dim device dim buffer device dim
";

/// `libcublasLt.so`
pub(super) const CUBLASLT: &str = "
cublasLtCreate +cublaslt
cublasLtDestroy cublaslt
cublasLtGetProperty int out
cublasLtHeuristicsCacheGetCapacity out
cublasLtHeuristicsCacheSetCapacity size
cublasLtMatmul cublaslt descriptor buffer device layout device layout buffer device layout device layout null device size stream
cublasLtMatmul cublaslt descriptor buffer device layout device layout buffer device layout device layout algorithm device size stream
cublasLtMatmulAlgoCapGetAttribute algorithm int out small out
cublasLtMatmulAlgoCheck cublaslt descriptor layout layout layout layout algorithm out
cublasLtMatmulAlgoConfigGetAttribute algorithm int out small out
cublasLtMatmulAlgoConfigSetAttribute algorithm int value small
cublasLtMatmulAlgoGetHeuristic cublaslt descriptor layout layout layout layout preference one out out
cublasLtMatmulAlgoGetIds cublaslt compute type type type type type small out out
cublasLtMatmulAlgoInit cublaslt compute type type type type type int algorithm
cublasLtMatmulDescCreate +descriptor compute type
cublasLtMatmulDescDestroy -descriptor
cublasLtMatmulDescGetAttribute descriptor int out small out
cublasLtMatmulDescSetAttribute descriptor int value width
cublasLtMatmulPreferenceCreate +preference
cublasLtMatmulPreferenceDestroy -preference
cublasLtMatmulPreferenceGetAttribute preference int out small out
cublasLtMatmulPreferenceSetAttribute preference int value width
cublasLtMatrixLayoutCreate +layout type dim dim dim
cublasLtMatrixLayoutDestroy -layout
cublasLtMatrixLayoutGetAttribute layout int out small out
cublasLtMatrixLayoutSetAttribute layout int value width
";
