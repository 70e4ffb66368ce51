// *sum += x[0] + ... + x[255], by eight warps, each of which adds its 32 elements up.
extern "C" __global__ void sum(const float *x, float *sum)
{
    float mine = x[threadIdx.x];
    for (int distance = 16; distance > 0; distance /= 2)
        mine += __shfl_down_sync(0xffffffff, mine, distance);
    if (threadIdx.x % 32 == 0)
        atomicAdd(sum, mine);
}
