// refused: classes aren't supported

class Counter {
    int n;

public:
    __device__ Counter() : n(0) {}
    __device__ explicit Counter(int start) : n(start) {}
    __device__ Counter &operator++() {
        ++n;
        return *this;
    }
    __device__ Counter operator++(int) {
        Counter old = *this;
        n++;
        return old;
    }
    __device__ bool operator<(const Counter &o) const { return n < o.n; }
    __device__ operator int() const { return n; }
};

extern "C" __global__ void counters(int *x) {
    Counter c, end(x[threadIdx.x]);
    int rounds = 0;
    while (c < end) {
        rounds += c++;
        ++c;
    }
    x[threadIdx.x] = rounds;
}

