// Pictures: colours, filters, stencils and fractals.

// launch grey <<<2, 32>>> u8[192]=drawn u8[64]=zero s32=64
extern "C" __global__ void grey(const uchar3 *rgb, unsigned char *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        uchar3 p = rgb[i];
        out[i] = (unsigned char)(.299f * p.x + .587f * p.y + .114f * p.z);
    }
}

// launch box_blur <<<(2,2), (8,8)>>> u8[192]=drawn u8[192]=zero s32=16 s32=12
extern "C" __global__ void box_blur(const unsigned char *in, unsigned char *out, int w, int h) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= w || y >= h) return;
    int sum = 0, pixels = 0;
    for (int dy = -1; dy <= 1; dy++)
        for (int dx = -1; dx <= 1; dx++) {
            int cx = x + dx, cy = y + dy;
            if (cx >= 0 && cx < w && cy >= 0 && cy < h) {
                sum += in[cy * w + cx];
                pixels++;
            }
        }
    out[y * w + x] = (unsigned char)(sum / pixels);
}

__constant__ float weights[9] = {1 / 16.f, 2 / 16.f, 1 / 16.f, 2 / 16.f, 4 / 16.f, 2 / 16.f, 1 / 16.f, 2 / 16.f, 1 / 16.f};

// launch gauss3 <<<(2,2), (8,8)>>> f32[256]=drawn f32[256]=zero s32=16
extern "C" __global__ void gauss3(const float *in, float *out, int n) {
    int x = blockIdx.x * 8 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
    float s = 0.f;
    for (int k = 0; k < 9; k++) {
        int u = min(max(x + k % 3 - 1, 0), n - 1), v = min(max(y + k / 3 - 1, 0), n - 1);
        s += weights[k] * in[v * n + u];
    }
    out[y * n + x] = s;
}

// launch sobel <<<1, (10,10)>>> s32[144]=drawn s32[100]=zero
extern "C" __global__ void sobel(const int *in, int *out) {
    const int w = 12;
    const int *p = in + (threadIdx.y + 1) * w + threadIdx.x + 1;
    int gx = -p[-w - 1] + p[-w + 1] - 2 * p[-1] + 2 * p[1] - p[w - 1] + p[w + 1];
    int gy = -p[-w - 1] - 2 * p[-w] - p[-w + 1] + p[w - 1] + 2 * p[w] + p[w + 1];
    out[threadIdx.y * 10 + threadIdx.x] = abs(gx) + abs(gy);
}

// launch convolve1d <<<2, 32>>> f32[68]=drawn f32[5]=drawn f32[64]=zero
extern "C" __global__ void convolve1d(const float *in, const float *kernel, float *out) {
    __shared__ float tile[36];
    int i = blockIdx.x * 32 + threadIdx.x;
    tile[threadIdx.x] = in[i];
    if (threadIdx.x < 4) tile[threadIdx.x + 32] = in[i + 32];
    __syncthreads();
    float s = 0;
    for (int k = 0; k < 5; k++) s += tile[threadIdx.x + k] * kernel[k];
    out[i] = s;
}

// launch mandelbrot <<<(2,2), (8,8)>>> s32[256]=zero s32=16 s32=60
extern "C" __global__ void mandelbrot(int *out, int n, int limit) {
    int px = blockIdx.x * blockDim.x + threadIdx.x, py = blockIdx.y * blockDim.y + threadIdx.y;
    double cx = -2.0 + 3.0 * px / n, cy = -1.5 + 3.0 * py / n, x = 0, y = 0;
    int i = 0;
    while (x * x + y * y < 4.0 && i < limit) {
        double t = x * x - y * y + cx;
        y = 2 * x * y + cy;
        x = t;
        ++i;
    }
    out[py * n + px] = i;
}

struct Complex {
    float r, i;
    __device__ Complex(float a, float b) : r(a), i(b) {}
    __device__ float magnitude2() const { return r * r + i * i; }
    __device__ Complex operator*(const Complex &a) const { return Complex(r * a.r - i * a.i, i * a.r + r * a.i); }
    __device__ Complex operator+(const Complex &a) const { return Complex(r + a.r, i + a.i); }
};

// launch julia <<<(2,2), (8,8)>>> u8[1024]=zero s32=16
extern "C" __global__ void julia(unsigned char *pixels, int dim) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    float jx = 1.5f * (float)(dim / 2 - x) / (dim / 2), jy = 1.5f * (float)(dim / 2 - y) / (dim / 2);
    Complex c(-0.8f, 0.156f), a(jx, jy);
    int inside = 1;
    for (int i = 0; i < 100; i++) {
        a = a * a + c;
        if (a.magnitude2() > 1000) {
            inside = 0;
            break;
        }
    }
    int offset = x + y * dim;
    pixels[offset * 4] = 255 * inside;
    pixels[offset * 4 + 3] = 255;
}

// launch life <<<1, (12,12)>>> u8[144]=drawn u8[144]=zero
extern "C" __global__ void life(const unsigned char *grid, unsigned char *next) {
    const int n = 12;
    int x = threadIdx.x, y = threadIdx.y, alive = 0;
    for (int dy = -1; dy <= 1; dy++)
        for (int dx = -1; dx <= 1; dx++)
            if (dx || dy) alive += grid[(y + dy + n) % n * n + (x + dx + n) % n] & 1;
    next[y * n + x] = alive == 3 || (alive == 2 && (grid[y * n + x] & 1));
}

// launch heat <<<(2,2), (8,8)>>> f32[256]=drawn f32[256]=zero s32=16 f32=0.2
extern "C" __global__ void heat(const float *t, float *next, int n, float alpha) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y, at = j * n + i;
    if (i == 0 || j == 0 || i == n - 1 || j == n - 1) {
        next[at] = t[at];
        return;
    }
    next[at] = t[at] + alpha * (t[at - 1] + t[at + 1] + t[at - n] + t[at + n] - 4 * t[at]);
}

// launch threshold <<<1, 64>>> u8[64]=drawn u8=100
extern "C" __global__ void threshold(unsigned char *x, unsigned char at) {
    x[threadIdx.x] = x[threadIdx.x] >= at ? 255 : 0;
}

// launch flip <<<(2,1), (4,8)>>> u32[128]=iota s32=16 s32=8
extern "C" __global__ void flip(unsigned *image, int w, int h) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = threadIdx.y;
    if (x < w / 2 && y < h) {
        unsigned a = image[y * w + x], b = image[y * w + w - 1 - x];
        image[y * w + x] = b;
        image[y * w + w - 1 - x] = a;
    }
}

// launch bilinear <<<1, (6,6)>>> f32[81]=drawn f32[36]=zero
extern "C" __global__ void bilinear(const float *in, float *out) {
    float x = threadIdx.x * 1.5f, y = threadIdx.y * 1.25f;
    int x0 = (int)floorf(x), y0 = (int)floorf(y);
    float fx = x - x0, fy = y - y0;
    const float *p = in + y0 * 9 + x0;
    out[threadIdx.y * 6 + threadIdx.x] = (1 - fy) * ((1 - fx) * p[0] + fx * p[1]) + fy * ((1 - fx) * p[9] + fx * p[10]);
}

// launch blend <<<1, 32>>> u32[32]=drawn u32[32]=drawn
extern "C" __global__ void blend(const unsigned *src, unsigned *dst) {
    unsigned s = src[threadIdx.x] * 2654435761u, d = dst[threadIdx.x] * 40503u, out = 0, alpha = s >> 24;
    for (int shift = 0; shift < 32; shift += 8) {
        unsigned a = s >> shift & 0xff, b = d >> shift & 0xff;
        out |= ((a * alpha + b * (255 - alpha)) / 255) << shift;
    }
    dst[threadIdx.x] = out;
}

// launch median3 <<<1, 30>>> s32[32]=drawn s32[30]=zero
extern "C" __global__ void median3(const int *x, int *out) {
    int a = x[threadIdx.x], b = x[threadIdx.x + 1], c = x[threadIdx.x + 2];
    out[threadIdx.x] = max(min(a, b), min(max(a, b), c));
}

// launch rgb_to_yuv <<<1, 32>>> u8[96]=drawn f32[96]=zero
extern "C" __global__ void rgb_to_yuv(const unsigned char *rgb, float *yuv) {
    const float m[3][3] = {{.299f, .587f, .114f}, {-.14713f, -.28886f, .436f}, {.615f, -.51499f, -.10001f}};
    for (int r = 0; r < 3; r++) {
        float s = 0;
        for (int c = 0; c < 3; c++) s += m[r][c] * rgb[3 * threadIdx.x + c];
        yuv[3 * threadIdx.x + r] = s;
    }
}

// launch pool2 <<<1, (4,4)>>> f32[64]=drawn f32[16]=zero
extern "C" __global__ void pool2(const float *in, float *out) {
    const float *p = in + 16 * threadIdx.y + 2 * threadIdx.x;
    out[threadIdx.y * 4 + threadIdx.x] = fmaxf(fmaxf(p[0], p[1]), fmaxf(p[8], p[9]));
}

// launch im2col <<<1, 36>>> f32[64]=drawn f32[324]=zero
extern "C" __global__ void im2col(const float *im, float *col) {
    int t = threadIdx.x, x = t % 6, y = t / 6;
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j) col[(i * 3 + j) * 36 + t] = im[(y + i) * 8 + x + j];
}

// launch conv2d <<<(1,1,2), (6,6)>>> f32[64]=drawn f32[18]=drawn f32[2]=drawn f32[72]=zero
extern "C" __global__ void conv2d(const float *in, const float *filter, const float *bias, float *out) {
    int f = blockIdx.z;
    float s = bias[f];
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < 3; c++) s += in[(threadIdx.y + r) * 8 + threadIdx.x + c] * filter[f * 9 + r * 3 + c];
    out[f * 36 + threadIdx.y * 6 + threadIdx.x] = s > 0 ? s : 0;
}

// launch integral_rows <<<1, 8>>> s32[64]=drawn
extern "C" __global__ void integral_rows(int *image) {
    int *row = image + 8 * threadIdx.x;
    for (int i = 1; i < 8; i++) row[i] += row[i - 1];
}

// launch dither <<<1, 1>>> s32[32]=drawn
extern "C" __global__ void dither(int *x) {
    int error = 0;
    for (int i = 0; i < 32; i++) {
        int want = x[i] + error, got = want > 0 ? 100 : -100;
        error = want - got;
        x[i] = got;
    }
}
