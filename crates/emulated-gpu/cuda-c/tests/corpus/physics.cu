// Simulations, Monte Carlo, finance and signal processing.

// launch nbody within 64 <<<1, 16>>> f32[64]=drawn f32[64]=zero f32=0.01
extern "C" __global__ void nbody(const float4 *p, float4 *v, float dt) {
    __shared__ float4 tile[16];
    float4 me = p[threadIdx.x];
    float ax = 0, ay = 0, az = 0;
    tile[threadIdx.x] = me;
    __syncthreads();
#pragma unroll
    for (int j = 0; j < 16; j++) {
        float dx = tile[j].x - me.x, dy = tile[j].y - me.y, dz = tile[j].z - me.z;
        float inv = rsqrtf(dx * dx + dy * dy + dz * dz + 0.01f), inv3 = inv * inv * inv;
        ax += dx * inv3, ay += dy * inv3, az += dz * inv3;
    }
    v[threadIdx.x].x += dt * ax;
    v[threadIdx.x].y += dt * ay;
    v[threadIdx.x].z += dt * az;
}

// launch leapfrog <<<1, 32>>> f32[32]=drawn f32[32]=drawn
extern "C" __global__ void leapfrog(float *x, float *v) {
    float q = x[threadIdx.x], p = v[threadIdx.x], h = 0.05f;
    for (int i = 0; i < 20; i++) {
        p -= 0.5f * h * q;
        q += h * p;
        p -= 0.5f * h * q;
    }
    x[threadIdx.x] = q;
    v[threadIdx.x] = p;
}

// launch pi_darts <<<2, 32>>> u32[1]=zero
extern "C" __global__ void pi_darts(unsigned *inside) {
    unsigned s = 12345u + blockIdx.x * blockDim.x + threadIdx.x, mine = 0;
    for (int i = 0; i < 50; i++) {
        s = s * 1664525u + 1013904223u;
        float x = (s >> 8) * (1.0f / 16777216.0f);
        s = s * 1664525u + 1013904223u;
        float y = (s >> 8) * (1.0f / 16777216.0f);
        if (x * x + y * y < 1.0f) mine++;
    }
    atomicAdd(inside, mine);
}

__device__ double normal_cdf(double d) {
    const double A1 = 0.31938153, A2 = -0.356563782, A3 = 1.781477937, A4 = -1.821255978, A5 = 1.330274429;
    double K = 1.0 / (1.0 + 0.2316419 * fabs(d));
    double c = 0.39894228040143267794 * exp(-0.5 * d * d) * (K * (A1 + K * (A2 + K * (A3 + K * (A4 + K * A5)))));
    return d > 0 ? 1.0 - c : c;
}

// launch black_scholes <<<1, 8>>> f64[8]=100 f64[8]=105 f64[8]=zero f64=0.02 f64=0.3
extern "C" __global__ void black_scholes(const double *S, const double *X, double *call, double r, double v) {
    double T = 0.25 * (threadIdx.x + 1), root = sqrt(T);
    double d1 = (log(S[threadIdx.x] / X[threadIdx.x]) + (r + 0.5 * v * v) * T) / (v * root), d2 = d1 - v * root;
    double price = S[threadIdx.x] * normal_cdf(d1) - X[threadIdx.x] * exp(-r * T) * normal_cdf(d2);
    call[threadIdx.x] = floor(price * 1e6) / 1e6;
}

// launch binomial <<<1, 32>>> f32[1]=zero
extern "C" __global__ void binomial(float *out) {
    __shared__ float v[33];
    int t = threadIdx.x;
    v[t] = fmaxf(t * 4.0f - 50.0f, 0.0f);
    for (int step = 31; step > 0; step--) {
        __syncthreads();
        float next = t < step ? 0.99f * (0.52f * v[t + 1] + 0.48f * v[t]) : 0;
        __syncthreads();
        if (t < step) v[t] = next;
    }
    if (t == 0) *out = v[0];
}

// launch dft within 4096 <<<1, 16>>> f32[16]=drawn f32[32]=zero
extern "C" __global__ void dft(const float *x, float2 *out) {
    const float w = -6.283185307f / 16;
    float re = 0, im = 0;
    for (int n = 0; n < 16; n++) {
        float a = w * ((threadIdx.x * n) % 16);
        re += x[n] * cosf(a) + 8;
        im += x[n] * sinf(a) + 8;
    }
    out[threadIdx.x] = make_float2(re, im);
}

// launch haar <<<1, 32>>> f32[64]=drawn
extern "C" __global__ void haar(float *x) {
    __shared__ float s[64];
    for (int n = 64; n > 1; n /= 2) {
        int t = threadIdx.x;
        float a = 0, b = 0;
        __syncthreads();
        if (t < n / 2) a = x[2 * t], b = x[2 * t + 1];
        __syncthreads();
        if (t < n / 2) {
            s[t] = (a + b) * 0.5f;
            s[t + n / 2] = (a - b) * 0.5f;
            x[t] = s[t];
            x[t + n / 2] = s[t + n / 2];
        }
    }
}

// launch fir <<<1, 32>>> f32[40]=drawn f32[9]=drawn f32[32]=zero
extern "C" __global__ void fir(const float *x, const float *h, float *y) {
    float acc = 0;
    for (int k = 0; k < 9; ++k) acc = __fmaf_rn(h[k], x[threadIdx.x + 8 - k], acc);
    y[threadIdx.x] = acc;
}

// launch iir <<<1, 4>>> f32[64]=drawn
extern "C" __global__ void iir(float *x) {
    float *row = x + 16 * threadIdx.x, y1 = 0, y2 = 0;
    for (int i = 0; i < 16; i++) {
        float y = 0.2f * row[i] + 1.1f * y1 - 0.3f * y2;
        y2 = y1;
        y1 = y;
        row[i] = y;
    }
}

// launch wave <<<1, 64>>> f32[64]=drawn f32[64]=drawn f32[64]=zero
extern "C" __global__ void wave(const float *before, const float *now, float *next) {
    int i = threadIdx.x;
    next[i] = i == 0 || i == 63 ? 0.f : 2 * now[i] - before[i] + 0.25f * (now[i - 1] - 2 * now[i] + now[i + 1]);
}

// launch advect <<<1, 64>>> f32[64]=drawn f32[64]=zero f32=0.5
extern "C" __global__ void advect(const float *u, float *out, float c) {
    int i = threadIdx.x, left = (i + 63) % 64;
    out[i] = u[i] - c * (u[i] - u[left]);
}

// launch lattice <<<1, 16>>> f32[144]=0.1 f32[48]=zero
extern "C" __global__ void lattice(const float *f, float *moments) {
    const int cx[9] = {0, 1, 0, -1, 0, 1, -1, -1, 1}, cy[9] = {0, 0, 1, 0, -1, 1, 1, -1, -1};
    float rho = 0, ux = 0, uy = 0;
    for (int k = 0; k < 9; k++) {
        float v = f[k * 16 + threadIdx.x] * (k + 1);
        rho += v;
        ux += cx[k] * v;
        uy += cy[k] * v;
    }
    moments[3 * threadIdx.x] = rho;
    moments[3 * threadIdx.x + 1] = ux / rho;
    moments[3 * threadIdx.x + 2] = uy / rho;
}

// launch ising <<<1, (8,8)>>> s32[64]=drawn
extern "C" __global__ void ising(int *spin) {
    int x = threadIdx.x, y = threadIdx.y;
    int me = spin[y * 8 + x] > 0 ? 1 : -1;
    spin[y * 8 + x] = me;
    for (int colour = 0; colour < 2; colour++) {
        __syncthreads();
        int sum = spin[y * 8 + (x + 1) % 8] + spin[y * 8 + (x + 7) % 8] + spin[(y + 1) % 8 * 8 + x] + spin[(y + 7) % 8 * 8 + x];
        bool flip = ((x + y) & 1) == colour && me * sum < 0;
        __syncthreads();
        if (flip) spin[y * 8 + x] = me = -me;
    }
}

// launch kmeans_assign <<<1, 32>>> f32[64]=drawn f32[6]=drawn s32[32]=zero
extern "C" __global__ void kmeans_assign(const float2 *points, const float2 *centres, int *cluster) {
    float2 p = points[threadIdx.x];
    float best = 3.402823e38f;
    for (int k = 0; k < 3; k++) {
        float dx = p.x - centres[k].x, dy = p.y - centres[k].y, d = dx * dx + dy * dy;
        if (d < best) {
            best = d;
            cluster[threadIdx.x] = k;
        }
    }
}

// launch ray_sphere within 16 <<<1, (8,8)>>> f32[64]=zero
extern "C" __global__ void ray_sphere(float *depth) {
    float ox = threadIdx.x - 3.5f, oy = threadIdx.y - 3.5f, r = 3.0f;
    float d2 = r * r - ox * ox - oy * oy;
    depth[threadIdx.y * 8 + threadIdx.x] = d2 > 0 ? sqrtf(d2) : -1.0f;
}

// launch haversine within 64 <<<1, 16>>> f32[64]=drawn f32[16]=zero
extern "C" __global__ void haversine(const float4 *pairs, float *out) {
    float4 p = pairs[threadIdx.x];
    float s1 = sinf((p.z - p.x) / 2), s2 = sinf((p.w - p.y) / 2);
    out[threadIdx.x] = s1 * s1 + cosf(p.x) * cosf(p.z) * s2 * s2 + 1.0f;
}

// launch runge_kutta <<<1, 16>>> f64[16]=drawn
__device__ double f(double t, double v) { return t - 0.5 * v; }
extern "C" __global__ void runge_kutta(double *y) {
    double v = y[threadIdx.x], t = 0, h = 0.1;
    for (int i = 0; i < 10; i++, t += h) {
        double k1 = f(t, v), k2 = f(t + h / 2, v + h / 2 * k1), k3 = f(t + h / 2, v + h / 2 * k2), k4 = f(t + h, v + h * k3);
        v += h / 6 * (k1 + 2 * k2 + 2 * k3 + k4);
    }
    y[threadIdx.x] = v;
}

// launch bisect <<<1, 16>>> f32[16]=drawn
extern "C" __global__ void bisect(float *x) {
    float low = 0, high = 8, target = fabsf(x[threadIdx.x]) + 1;
    for (int i = 0; i < 30; i++) {
        float m = 0.5f * (low + high);
        if (m * m * m < target)
            low = m;
        else
            high = m;
    }
    x[threadIdx.x] = low;
}

// launch newton <<<1, 16>>> f64[16]=drawn
extern "C" __global__ void newton(double *x) {
    double a = fabs(x[threadIdx.x]) + 1, r = a;
    for (int i = 0; i < 20; i++) r = 0.5 * (r + a / r);
    x[threadIdx.x] = r;
}

// launch simpson <<<1, 8>>> f64[8]=zero
extern "C" __global__ void simpson(double *out) {
    double a = threadIdx.x, h = 1.0 / 16, s = 0;
    for (int i = 0; i <= 16; i++) {
        double x = a + i * h, w = i == 0 || i == 16 ? 1 : i & 1 ? 4 : 2;
        s += w / (1 + x * x);
    }
    out[threadIdx.x] = s * h / 3;
}
