// Products, transpositions and factorisations.

#define TILE 8

// launch matmul_naive <<<(2,2), (8,8)>>> f32[120]=drawn f32[96]=drawn f32[180]=zero s32=15 s32=12 s32=8
extern "C" __global__ void matmul_naive(const float *A, const float *B, float *C, int M, int N, int K) {
    int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < M && col < N) {
        float acc = 0.f;
        for (int k = 0; k < K; ++k) acc += A[row * K + k] * B[k * N + col];
        C[row * N + col] = acc;
    }
}

// launch matmul_tiled <<<(2,2), (8,8)>>> f32[256]=drawn f32[256]=drawn f32[256]=zero s32=16
extern "C" __global__ void matmul_tiled(const float *A, const float *B, float *C, int n) {
    __shared__ float as[TILE][TILE], bs[TILE][TILE];
    int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * TILE + ty, col = blockIdx.x * TILE + tx;
    float value = 0;
    for (int m = 0; m < n / TILE; ++m) {
        as[ty][tx] = A[row * n + m * TILE + tx];
        bs[ty][tx] = B[(m * TILE + ty) * n + col];
        __syncthreads();
        for (int k = 0; k < TILE; ++k) value += as[ty][k] * bs[k][tx];
        __syncthreads();
    }
    C[row * n + col] = value;
}

// launch matmul_edges <<<(2,2), (8,8)>>> f32[143]=drawn f32[117]=drawn f32[99]=zero s32=11 s32=9 s32=13
extern "C" __global__ void matmul_edges(const float *A, const float *B, float *C, int M, int N, int K) {
    __shared__ float as[TILE][TILE + 1];
    __shared__ float bs[TILE][TILE + 1];
    const int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * TILE + y, col = blockIdx.x * TILE + x;
    float sum = 0.0f;
    for (int t = 0; t < (K + TILE - 1) / TILE; t++) {
        as[y][x] = row < M && t * TILE + x < K ? A[row * K + t * TILE + x] : 0.0f;
        bs[y][x] = col < N && t * TILE + y < K ? B[(t * TILE + y) * N + col] : 0.0f;
        __syncthreads();
#pragma unroll
        for (int k = 0; k < TILE; k++) sum = fmaf(as[y][k], bs[k][x], sum);
        __syncthreads();
    }
    if (row < M && col < N) C[row * N + col] = sum;
}

// launch matmul_registers <<<1, 16>>> f32[256]=drawn f32[256]=drawn f32[256]=zero
extern "C" __global__ void matmul_registers(const float *A, const float *B, float *C) {
    float acc[4][4] = {};
    int r0 = threadIdx.x / 4 * 4, c0 = threadIdx.x % 4 * 4;
    for (int k = 0; k < 16; k++) {
        float a[4], b[4];
        for (int i = 0; i < 4; i++) a[i] = A[(r0 + i) * 16 + k];
        for (int j = 0; j < 4; j++) b[j] = B[k * 16 + c0 + j];
        for (int i = 0; i < 4; i++)
            for (int j = 0; j < 4; j++) acc[i][j] += a[i] * b[j];
    }
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++) C[(r0 + i) * 16 + c0 + j] = acc[i][j];
}

// launch transpose_naive <<<(2,2), (8,8)>>> f32[195]=drawn f32[195]=zero s32=15 s32=13
extern "C" __global__ void transpose_naive(const float *in, float *out, int width, int height) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < width && y < height) out[x * height + y] = in[y * width + x];
}

// launch transpose_padded <<<(2,2), (8,4)>>> s32[256]=iota s32[256]=zero s32=16
extern "C" __global__ void transpose_padded(const int *in, int *out, int n) {
    __shared__ int tile[TILE][TILE + 1];
    int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
    for (int j = 0; j < TILE; j += 4) tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * n + x];
    __syncthreads();
    x = blockIdx.y * TILE + threadIdx.x;
    y = blockIdx.x * TILE + threadIdx.y;
    for (int j = 0; j < TILE; j += 4) out[(y + j) * n + x] = tile[threadIdx.x][threadIdx.y + j];
}

// launch gemv <<<2, 16>>> f32[600]=drawn f32[20]=drawn f32[30]=zero f32=1.5 f32=0.5 s32=30 s32=20
extern "C" __global__ void gemv(const float *A, const float *x, float *y, float alpha, float beta, int m, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= m) return;
    float s = 0;
    for (int j = 0; j < n; j++) s += A[i * n + j] * x[j];
    y[i] = alpha * s + beta * y[i];
}

// launch outer <<<1, (8,8)>>> f32[8]=drawn f32[8]=drawn f32[64]=drawn
extern "C" __global__ void outer(const float *u, const float *v, float *m) {
    m[threadIdx.y * 8 + threadIdx.x] -= 0.1f * u[threadIdx.y] * v[threadIdx.x];
}

// launch spmv_csr <<<1, 8>>> s32[9]=iota s32[16]=iota f32[16]=drawn f32[16]=drawn f32[8]=zero
extern "C" __global__ void spmv_csr(const int *offsets, const int *columns, const float *values, const float *x,
                                    float *y) {
    int row = threadIdx.x;
    float sum = 0.0f;
    for (int j = offsets[row]; j < offsets[row + 1]; ++j) sum += values[j] * x[columns[j]];
    y[row] = sum;
}

// launch cholesky_step <<<1, 8>>> f64[64]=2 s32=0
extern "C" __global__ void cholesky_step(double *a, int k) {
    int i = threadIdx.x;
    double pivot = sqrt(a[k * 8 + k]);
    __syncthreads();
    if (i == k) a[k * 8 + k] = pivot;
    if (i > k) a[i * 8 + k] /= pivot;
}

// launch gauss_eliminate <<<1, 4>>> f64[20]=drawn
extern "C" __global__ void gauss_eliminate(double *m) {
    int r = threadIdx.x;
    for (int k = 0; k < 4; k++) {
        __syncthreads();
        double factor = r != k ? m[r * 5 + k] / m[k * 5 + k] : 0.0;
        __syncthreads();
        if (r != k)
            for (int c = k; c < 5; c++) m[r * 5 + c] -= factor * m[k * 5 + c];
    }
}

// launch determinant3 <<<1, 7>>> f32[63]=drawn f32[7]=zero
extern "C" __global__ void determinant3(const float (*m)[3][3], float *out) {
    const float(&a)[3][3] = m[threadIdx.x];
    out[threadIdx.x] = a[0][0] * (a[1][1] * a[2][2] - a[1][2] * a[2][1]) - a[0][1] * (a[1][0] * a[2][2] - a[1][2] * a[2][0]) +
                       a[0][2] * (a[1][0] * a[2][1] - a[1][1] * a[2][0]);
}

// launch jacobi <<<1, 16>>> f32[256]=drawn f32[16]=drawn f32[16]=drawn f32[16]=zero
extern "C" __global__ void jacobi(const float *A, const float *b, const float *x, float *next) {
    int i = threadIdx.x;
    float sigma = 0;
    for (int j = 0; j < 16; j++)
        if (j != i) sigma += A[i * 16 + j] * x[j];
    next[i] = (b[i] - sigma) / A[i * 16 + i];
}

// launch power_of_matrix <<<1, 1>>> u64[4]=1 u32=20
extern "C" __global__ void power_of_matrix(unsigned long long *f, unsigned n) {
    unsigned long long a = 1, b = 1, c = 1, d = 0, x = 1, y = 0, z = 0, w = 1;
    while (n) {
        if (n & 1) {
            unsigned long long p = x * a + y * c, q = x * b + y * d, r = z * a + w * c, s = z * b + w * d;
            x = p, y = q, z = r, w = s;
        }
        unsigned long long p = a * a + b * c, q = a * b + b * d, r = c * a + d * c, s = c * b + d * d;
        a = p, b = q, c = r, d = s;
        n >>= 1;
    }
    f[0] = x, f[1] = y, f[2] = z, f[3] = w;
}

// launch batched3 <<<5, (3,3)>>> f32[45]=drawn f32[45]=drawn f32[45]=zero
extern "C" __global__ void batched3(const float *a, const float *b, float *c) {
    a += blockIdx.x * 9, b += blockIdx.x * 9, c += blockIdx.x * 9;
    float s = 0;
    for (int k = 0; k < 3; k++) s += a[threadIdx.y * 3 + k] * b[k * 3 + threadIdx.x];
    c[threadIdx.y * 3 + threadIdx.x] = s;
}

// launch upper <<<1, (6,6)>>> s32[36]=iota
extern "C" __global__ void upper(int *m) {
    if (threadIdx.x < threadIdx.y) m[threadIdx.y * 6 + threadIdx.x] = 0;
}

// launch frobenius <<<1, 32>>> f32[96]=drawn f32[1]=zero
extern "C" __global__ void frobenius(const float *m, float *out) {
    float s = 0;
    for (int i = threadIdx.x; i < 96; i += 32) s = fmaf(m[i], m[i], s);
    for (int d = 16; d; d >>= 1) s += __shfl_down_sync(~0u, s, d);
    if (!threadIdx.x) *out = sqrtf(s);
}

// launch lu_row <<<1, 8>>> f32[64]=drawn
extern "C" __global__ void lu_row(float *a) {
    const int n = 8;
    for (int k = 0; k < n - 1; ++k) {
        if (threadIdx.x > k) a[threadIdx.x * n + k] /= a[k * n + k];
        __syncthreads();
        if (threadIdx.x > k)
            for (int j = k + 1; j < n; ++j) a[threadIdx.x * n + j] -= a[threadIdx.x * n + k] * a[k * n + j];
        __syncthreads();
    }
}
