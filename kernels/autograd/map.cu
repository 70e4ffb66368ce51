// y = f(x), element by element; f may take another number. One thread for each of the elements.
#define MAP(name, result)                                                                          \
    extern "C" __global__ void name(const float *in, float *out, float number, size_t elements)    \
    {                                                                                              \
        size_t i = blockIdx.x * blockDim.x + threadIdx.x;                                          \
        if (i >= elements)                                                                         \
            return;                                                                                \
        float x = in[i];                                                                           \
        out[i] = result;                                                                           \
    }

MAP(neg, -x)
MAP(exp_, expf(x))
MAP(log_, logf(x))
MAP(tanh_, tanhf(x))
// ln(1 + eˣ), computed as max(x, 0) + ln(1 + e^−|x|), in which nothing overflows.
MAP(softplus, (x < 0.0f ? 0.0f : x) + log1pf(expf(-fabsf(x))))
MAP(pow_, powf(x, number))
MAP(scale, x *number)
MAP(shift, x + number)
