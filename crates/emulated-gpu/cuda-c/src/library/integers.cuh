// Integer functions: SIMD operations on the 16-bit halves and the bytes of a word, averages, dot
// products of bytes.

// The instruction replicates the sign if the highest bit of a selector is set; the function
// doesn't.
__device__ unsigned __byte_perm(unsigned a, unsigned b, unsigned selectors) { return __prmt(a, b, selectors & 0x7777u); }
__device__ int __hadd(int a, int b) { return (a & b) + ((a ^ b) >> 1); }
__device__ int __rhadd(int a, int b) { return (a | b) - ((a ^ b) >> 1); }
__device__ unsigned __uhadd(unsigned a, unsigned b) { return (a & b) + ((a ^ b) >> 1); }
__device__ unsigned __urhadd(unsigned a, unsigned b) { return (a | b) - ((a ^ b) >> 1); }
__device__ int __dp4a(int a, int b, int c) { int r; asm("dp4a.s32.s32 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(c)); return r; }
__device__ unsigned __dp4a(unsigned a, unsigned b, unsigned c) { unsigned r; asm("dp4a.u32.u32 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(c)); return r; }
__device__ int __dp4a(char4 a, char4 b, int c) { return __dp4a(*(int *)&a, *(int *)&b, c); }
__device__ unsigned __dp4a(uchar4 a, uchar4 b, unsigned c) { return __dp4a(*(unsigned *)&a, *(unsigned *)&b, c); }
__device__ int __dp2a_lo(int a, int b, int c) { int r; asm("dp2a.lo.s32.s32 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(c)); return r; }
__device__ int __dp2a_hi(int a, int b, int c) { int r; asm("dp2a.hi.s32.s32 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(c)); return r; }
__device__ unsigned __dp2a_lo(unsigned a, unsigned b, unsigned c) { unsigned r; asm("dp2a.lo.u32.u32 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(c)); return r; }
__device__ unsigned __dp2a_hi(unsigned a, unsigned b, unsigned c) { unsigned r; asm("dp2a.hi.u32.u32 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(c)); return r; }
__device__ int __dp2a_lo(short2 a, char4 b, int c) { return __dp2a_lo(*(int *)&a, *(int *)&b, c); }
__device__ int __dp2a_hi(short2 a, char4 b, int c) { return __dp2a_hi(*(int *)&a, *(int *)&b, c); }
__device__ unsigned __dp2a_lo(ushort2 a, uchar4 b, unsigned c) { return __dp2a_lo(*(unsigned *)&a, *(unsigned *)&b, c); }
__device__ unsigned __dp2a_hi(ushort2 a, uchar4 b, unsigned c) { return __dp2a_hi(*(unsigned *)&a, *(unsigned *)&b, c); }
__device__ unsigned umin(unsigned a, unsigned b) { return min(a, b); }
__device__ unsigned umax(unsigned a, unsigned b) { return max(a, b); }
__device__ long long llmin(long long a, long long b) { return min(a, b); }
__device__ long long llmax(long long a, long long b) { return max(a, b); }
__device__ unsigned long long ullmin(unsigned long long a, unsigned long long b) { return min(a, b); }
__device__ unsigned long long ullmax(unsigned long long a, unsigned long long b) { return max(a, b); }

// The function's name, the type of a lane, its width in bits, and the expression in the lanes x and
// y.
#define __PARTS(name, T, bits, e) __device__ unsigned name(unsigned a, unsigned b) { unsigned r = 0u; for (int i = 0; i < 32; i += bits) { int x = (T)(a >> i), y = (T)(b >> i); r |= ((unsigned)(e) & ((1u << bits) - 1u)) << i; } return r; }
#define __PART(name, T, bits, e) __device__ unsigned name(unsigned a) { unsigned r = 0u; for (int i = 0; i < 32; i += bits) { int x = (T)(a >> i); r |= ((unsigned)(e) & ((1u << bits) - 1u)) << i; } return r; }
#define __SUMMED(name, T, bits, e) __device__ unsigned name(unsigned a, unsigned b) { unsigned r = 0u; for (int i = 0; i < 32; i += bits) { int x = (T)(a >> i), y = (T)(b >> i); r += (unsigned)(e); } return r; }
__PART(__vabs2, short, 16, abs(x))
__PART(__vabsss2, short, 16, min(abs(x), 32767))
__PART(__vneg2, short, 16, -x)
__PART(__vnegss2, short, 16, min(-x, 32767))
__PARTS(__vadd2, unsigned short, 16, x + y)
__PARTS(__vsub2, unsigned short, 16, x - y)
__PARTS(__vaddss2, short, 16, min(max(x + y, -32768), 32767))
__PARTS(__vsubss2, short, 16, min(max(x - y, -32768), 32767))
__PARTS(__vaddus2, unsigned short, 16, min(x + y, 65535))
__PARTS(__vsubus2, unsigned short, 16, max(x - y, 0))
__PARTS(__vabsdiffs2, short, 16, abs(x - y))
__PARTS(__vabsdiffu2, unsigned short, 16, abs(x - y))
__PARTS(__vavgs2, short, 16, (x + y + (x + y >= 0 ? 1 : 0)) >> 1)
__PARTS(__vavgu2, unsigned short, 16, (x + y + 1) >> 1)
__PARTS(__vhaddu2, unsigned short, 16, (x + y) >> 1)
__PARTS(__vmins2, short, 16, min(x, y))
__PARTS(__vminu2, unsigned short, 16, min(x, y))
__PARTS(__vmaxs2, short, 16, max(x, y))
__PARTS(__vmaxu2, unsigned short, 16, max(x, y))
__SUMMED(__vsads2, short, 16, abs(x - y))
__SUMMED(__vsadu2, unsigned short, 16, abs(x - y))
__PARTS(__vcmpeq2, unsigned short, 16, x == y ? -1 : 0)
__PARTS(__vseteq2, unsigned short, 16, x == y)
__PARTS(__vcmpne2, unsigned short, 16, x != y ? -1 : 0)
__PARTS(__vsetne2, unsigned short, 16, x != y)
__PARTS(__vcmpges2, short, 16, x >= y ? -1 : 0)
__PARTS(__vsetges2, short, 16, x >= y)
__PARTS(__vcmpgeu2, unsigned short, 16, x >= y ? -1 : 0)
__PARTS(__vsetgeu2, unsigned short, 16, x >= y)
__PARTS(__vcmpgts2, short, 16, x > y ? -1 : 0)
__PARTS(__vsetgts2, short, 16, x > y)
__PARTS(__vcmpgtu2, unsigned short, 16, x > y ? -1 : 0)
__PARTS(__vsetgtu2, unsigned short, 16, x > y)
__PARTS(__vcmples2, short, 16, x <= y ? -1 : 0)
__PARTS(__vsetles2, short, 16, x <= y)
__PARTS(__vcmpleu2, unsigned short, 16, x <= y ? -1 : 0)
__PARTS(__vsetleu2, unsigned short, 16, x <= y)
__PARTS(__vcmplts2, short, 16, x < y ? -1 : 0)
__PARTS(__vsetlts2, short, 16, x < y)
__PARTS(__vcmpltu2, unsigned short, 16, x < y ? -1 : 0)
__PARTS(__vsetltu2, unsigned short, 16, x < y)
__PART(__vabs4, signed char, 8, abs(x))
__PART(__vabsss4, signed char, 8, min(abs(x), 127))
__PART(__vneg4, signed char, 8, -x)
__PART(__vnegss4, signed char, 8, min(-x, 127))
__PARTS(__vadd4, unsigned char, 8, x + y)
__PARTS(__vsub4, unsigned char, 8, x - y)
__PARTS(__vaddss4, signed char, 8, min(max(x + y, -128), 127))
__PARTS(__vsubss4, signed char, 8, min(max(x - y, -128), 127))
__PARTS(__vaddus4, unsigned char, 8, min(x + y, 255))
__PARTS(__vsubus4, unsigned char, 8, max(x - y, 0))
__PARTS(__vabsdiffs4, signed char, 8, abs(x - y))
__PARTS(__vabsdiffu4, unsigned char, 8, abs(x - y))
__PARTS(__vavgs4, signed char, 8, (x + y + (x + y >= 0 ? 1 : 0)) >> 1)
__PARTS(__vavgu4, unsigned char, 8, (x + y + 1) >> 1)
__PARTS(__vhaddu4, unsigned char, 8, (x + y) >> 1)
__PARTS(__vmins4, signed char, 8, min(x, y))
__PARTS(__vminu4, unsigned char, 8, min(x, y))
__PARTS(__vmaxs4, signed char, 8, max(x, y))
__PARTS(__vmaxu4, unsigned char, 8, max(x, y))
__SUMMED(__vsads4, signed char, 8, abs(x - y))
__SUMMED(__vsadu4, unsigned char, 8, abs(x - y))
__PARTS(__vcmpeq4, unsigned char, 8, x == y ? -1 : 0)
__PARTS(__vseteq4, unsigned char, 8, x == y)
__PARTS(__vcmpne4, unsigned char, 8, x != y ? -1 : 0)
__PARTS(__vsetne4, unsigned char, 8, x != y)
__PARTS(__vcmpges4, signed char, 8, x >= y ? -1 : 0)
__PARTS(__vsetges4, signed char, 8, x >= y)
__PARTS(__vcmpgeu4, unsigned char, 8, x >= y ? -1 : 0)
__PARTS(__vsetgeu4, unsigned char, 8, x >= y)
__PARTS(__vcmpgts4, signed char, 8, x > y ? -1 : 0)
__PARTS(__vsetgts4, signed char, 8, x > y)
__PARTS(__vcmpgtu4, unsigned char, 8, x > y ? -1 : 0)
__PARTS(__vsetgtu4, unsigned char, 8, x > y)
__PARTS(__vcmples4, signed char, 8, x <= y ? -1 : 0)
__PARTS(__vsetles4, signed char, 8, x <= y)
__PARTS(__vcmpleu4, unsigned char, 8, x <= y ? -1 : 0)
__PARTS(__vsetleu4, unsigned char, 8, x <= y)
__PARTS(__vcmplts4, signed char, 8, x < y ? -1 : 0)
__PARTS(__vsetlts4, signed char, 8, x < y)
__PARTS(__vcmpltu4, unsigned char, 8, x < y ? -1 : 0)
__PARTS(__vsetltu4, unsigned char, 8, x < y)
