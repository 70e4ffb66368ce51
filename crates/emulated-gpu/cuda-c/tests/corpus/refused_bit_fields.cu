// refused: bit fields aren't supported

struct Flags {
    unsigned low : 3;
    unsigned high : 5;
    int sign : 4;
};
extern "C" __global__ void fields(Flags *f) { f[threadIdx.x].low = 1; }
