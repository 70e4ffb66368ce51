// Bits, hashes, random numbers and number theory.

// launch lcg <<<1, 32>>> u32[32]=iota
extern "C" __global__ void lcg(unsigned *state) {
    unsigned s = state[threadIdx.x];
    for (int i = 0; i < 10; ++i) s = s * 1664525u + 1013904223u;
    state[threadIdx.x] = s;
}

// launch xorshift <<<1, 32>>> u32[32]=7 u64[32]=9
extern "C" __global__ void xorshift(unsigned *a, unsigned long long *b) {
    unsigned x = a[threadIdx.x] + threadIdx.x;
    x ^= x << 13, x ^= x >> 17, x ^= x << 5;
    a[threadIdx.x] = x;
    unsigned long long y = b[threadIdx.x] * (threadIdx.x + 1);
    y ^= y >> 12, y ^= y << 25, y ^= y >> 27;
    b[threadIdx.x] = y * 0x2545F4914F6CDD1Dull;
}

__device__ unsigned int wang_hash(unsigned int seed) {
    seed = (seed ^ 61) ^ (seed >> 16);
    seed *= 9;
    seed = seed ^ (seed >> 4);
    seed *= 0x27d4eb2d;
    return seed ^ (seed >> 15);
}

// launch hash_all <<<2, 32>>> u32[64]=iota
extern "C" __global__ void hash_all(unsigned *x) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    x[i] = wang_hash(x[i]);
}

// launch philox <<<1, 32>>> u32[128]=zero u32=42
extern "C" __global__ void philox(uint4 *out, unsigned key) {
    uint4 c = make_uint4(threadIdx.x, 0, 1, 2);
    uint2 k = make_uint2(key, key ^ 0xdeadbeef);
    for (int i = 0; i < 10; i++) {
        unsigned lo0 = c.x * 0xD2511F53u, hi0 = __umulhi(c.x, 0xD2511F53u);
        unsigned lo1 = c.z * 0xCD9E8D57u, hi1 = __umulhi(c.z, 0xCD9E8D57u);
        c = make_uint4(hi1 ^ c.y ^ k.x, lo1, hi0 ^ c.w ^ k.y, lo0);
        k.x += 0x9E3779B9u;
        k.y += 0xBB67AE85u;
    }
    out[threadIdx.x] = c;
}

// launch bits <<<1, 32>>> u32[32]=drawn u32[192]=zero
extern "C" __global__ void bits(const unsigned *x, unsigned *out) {
    unsigned v = x[threadIdx.x] * 2654435761u, *o = out + 6 * threadIdx.x;
    o[0] = __popc(v);
    o[1] = __clz(v);
    o[2] = __ffs(v);
    o[3] = __brev(v);
    o[4] = __byte_perm(v, ~v, 0x5140);
    o[5] = __funnelshift_l(v, v, 7);
}

// launch bits64 <<<1, 32>>> u64[32]=drawn u64[128]=zero
extern "C" __global__ void bits64(const unsigned long long *x, unsigned long long *out) {
    unsigned long long v = x[threadIdx.x] * 0x9E3779B97F4A7C15ull, *o = out + 4 * threadIdx.x;
    o[0] = __popcll(v);
    o[1] = __clzll(v);
    o[2] = __brevll(v);
    o[3] = __umul64hi(v, v);
}

// launch crc32 <<<1, 8>>> u8[64]=drawn u32[8]=zero
extern "C" __global__ void crc32(const unsigned char *data, unsigned *out) {
    unsigned crc = 0xffffffff;
    for (int i = 0; i < 8; i++) {
        crc ^= data[threadIdx.x * 8 + i];
        for (int k = 0; k < 8; k++) crc = crc & 1 ? (crc >> 1) ^ 0xedb88320 : crc >> 1;
    }
    out[threadIdx.x] = ~crc;
}

// launch fnv <<<1, 4>>> u8[64]=drawn u64[4]=zero
extern "C" __global__ void fnv(const char *text, unsigned long long *out) {
    unsigned long long h = 14695981039346656037ULL;
    for (const char *p = text + 16 * threadIdx.x, *end = p + 16; p != end; ++p) {
        h ^= (unsigned char)*p;
        h *= 1099511628211ULL;
    }
    out[threadIdx.x] = h;
}

// launch gcd <<<1, 64>>> s32[64]=iota s32[64]=drawn
extern "C" __global__ void gcd(const int *a, int *b) {
    int x = a[threadIdx.x] * 6, y = abs(b[threadIdx.x]);
    while (y != 0) {
        int t = x % y;
        x = y;
        y = t;
    }
    b[threadIdx.x] = x;
}

// launch primes <<<2, 64>>> u8[128]=zero
extern "C" __global__ void primes(bool *out) {
    int n = blockIdx.x * blockDim.x + threadIdx.x;
    bool prime = n > 1;
    for (int d = 2; d * d <= n && prime; d++)
        if (n % d == 0) prime = false;
    out[n] = prime;
}

// launch modpow <<<1, 32>>> u64[32]=iota u64=1000000007
extern "C" __global__ void modpow(unsigned long long *x, unsigned long long m) {
    unsigned long long base = x[threadIdx.x] + 2, result = 1, e = 97 + threadIdx.x;
    for (; e; e >>= 1) {
        if (e & 1) result = result * base % m;
        base = base * base % m;
    }
    x[threadIdx.x] = result;
}

// launch divide_all <<<1, 32>>> s32[32]=drawn s32[32]=drawn s32[96]=zero
extern "C" __global__ void divide_all(const int *a, const int *b, int *out) {
    int x = a[threadIdx.x], y = b[threadIdx.x];
    if (y == 0) y = 1;
    out[3 * threadIdx.x] = x / y;
    out[3 * threadIdx.x + 1] = x % y;
    out[3 * threadIdx.x + 2] = (unsigned)x / (unsigned)y;
}

// launch divide_constants <<<1, 64>>> s32[64]=drawn s32[256]=zero
extern "C" __global__ void divide_constants(const int *a, int *out) {
    int x = a[threadIdx.x] * 1000003, *o = out + 4 * threadIdx.x;
    o[0] = x / 7;
    o[1] = x % 10;
    o[2] = x / 16;
    o[3] = x % -8;
}

// launch collatz <<<1, 64>>> u32[64]=iota u16[64]=zero
extern "C" __global__ void collatz(const unsigned *x, unsigned short *steps) {
    unsigned long long n = x[threadIdx.x] + 1;
    unsigned short count = 0;
    for (; n != 1; ++count) n = n & 1 ? 3 * n + 1 : n >> 1;
    steps[threadIdx.x] = count;
}

// launch isqrt <<<1, 64>>> u32[64]=drawn
extern "C" __global__ void isqrt(unsigned *x) {
    unsigned n = x[threadIdx.x] * 10007, root = 0, bit = 1u << 30;
    while (bit > n) bit >>= 2;
    while (bit) {
        if (n >= root + bit) {
            n -= root + bit;
            root = (root >> 1) + bit;
        } else
            root >>= 1;
        bit >>= 2;
    }
    x[threadIdx.x] = root;
}

// launch morton <<<1, (8,8)>>> u32[64]=zero
__device__ unsigned spread(unsigned v) {
    v = (v | v << 8) & 0x00ff00ff;
    v = (v | v << 4) & 0x0f0f0f0f;
    v = (v | v << 2) & 0x33333333;
    return (v | v << 1) & 0x55555555;
}
extern "C" __global__ void morton(unsigned *out) {
    out[threadIdx.y * 8 + threadIdx.x] = spread(threadIdx.x) | spread(threadIdx.y) << 1;
}

// launch sha_rounds <<<1, 16>>> u32[16]=iota
extern "C" __global__ void sha_rounds(unsigned *x) {
#define ROTR(v, n) (((v) >> (n)) | ((v) << (32 - (n))))
#define S0(v) (ROTR(v, 2) ^ ROTR(v, 13) ^ ROTR(v, 22))
#define CH(e, f, g) (((e) & (f)) ^ (~(e) & (g)))
    unsigned a = 0x6a09e667, b = 0xbb67ae85, c = 0x3c6ef372, w = x[threadIdx.x];
    for (int i = 0; i < 16; i++) {
        unsigned t = S0(a) + CH(a, b, c) + w;
        c = b;
        b = a;
        a = t;
        w = ROTR(w, 7) ^ (w >> 3) ^ i;
    }
    x[threadIdx.x] = a ^ b ^ c;
}

// launch add_carry <<<1, 16>>> u32[64]=drawn u32[64]=4294967295
extern "C" __global__ void add_carry(const unsigned *a, unsigned *b) {
    unsigned long long carry = 0;
    for (int i = 0; i < 4; i++) {
        unsigned long long s = (unsigned long long)a[4 * threadIdx.x + i] + b[4 * threadIdx.x + i] + carry;
        b[4 * threadIdx.x + i] = (unsigned)s;
        carry = s >> 32;
    }
}

// launch add_carry_asm <<<1, 16>>> u32[32]=4294967290 u32[32]=drawn
extern "C" __global__ void add_carry_asm(const uint2 *a, uint2 *b) {
    uint2 x = a[threadIdx.x], y = b[threadIdx.x], r;
    asm("add.cc.u32 %0, %2, %4;\n\taddc.u32 %1, %3, %5;" : "=r"(r.x), "=r"(r.y) : "r"(x.x), "r"(x.y), "r"(y.x), "r"(y.y));
    b[threadIdx.x] = r;
}

// launch shifts <<<1, 40>>> s32[40]=iota s64[40]=zero
extern "C" __global__ void shifts(const int *n, long long *out) {
    int s = n[threadIdx.x] & 31;
    out[threadIdx.x] = (-77 >> s) + (77u << s) + ((long long)-5 << s) + (1ll << (s + 20) >> 3);
}

// launch simd_bytes <<<1, 32>>> u32[32]=drawn u32[32]=drawn
extern "C" __global__ void simd_bytes(const unsigned *a, unsigned *b) {
    unsigned x = a[threadIdx.x] * 0x01234567u, y = b[threadIdx.x] * 0x89abcdefu;
    b[threadIdx.x] = __vaddus4(x, y) ^ __vabsdiffu4(x, y) ^ __vmaxs2(x, y) ^ __vcmpeq4(x, y);
}

// launch dp4a_sum <<<1, 32>>> s32[32]=drawn s32[32]=drawn s32[32]=zero
extern "C" __global__ void dp4a_sum(const int *a, const int *b, int *c) {
    c[threadIdx.x] = __dp4a(a[threadIdx.x] * 16843009, b[threadIdx.x] * 257, 5);
}

// launch sad <<<1, 32>>> s32[32]=drawn s32[32]=drawn u32[32]=3
extern "C" __global__ void sad(const int *a, const int *b, unsigned *c) {
    c[threadIdx.x] = __sad(a[threadIdx.x], b[threadIdx.x], c[threadIdx.x]) + __mul24(a[threadIdx.x], 3);
}

// launch grey_code <<<1, 64>>> u8[64]=iota
extern "C" __global__ void grey_code(unsigned char *x) {
    x[threadIdx.x] ^= x[threadIdx.x] >> 1;
}

// launch pack_bits <<<1, 64>>> s32[64]=drawn u32[2]=zero
extern "C" __global__ void pack_bits(const int *x, unsigned *words) {
    unsigned word = __ballot_sync(0xffffffff, x[threadIdx.x] & 1);
    if ((threadIdx.x & 31) == 0) words[threadIdx.x >> 5] = word;
}
