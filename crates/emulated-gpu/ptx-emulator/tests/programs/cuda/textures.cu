// Every kind of texture that the guide reads, by different coordinates in each thread, and a surface of 8 by 8
// numbers, which the block writes and reads.

extern "C" __global__ void k(float *out, const cudaTextureObject_t *handles, const float *at)
{
    unsigned t = threadIdx.x;
    float x = at[3 * t], y = at[3 * t + 1], z = at[3 * t + 2];
    float *own = out + 20 * t;
    own[0] = tex1Dfetch<float>(handles[0], (int)t - 4);
    own[1] = tex1D<float>(handles[1], x);
    own[2] = tex2D<float>(handles[2], x, y);
    own[3] = tex3D<float>(handles[3], x, y, z);
    own[4] = tex1DLayered<float>(handles[4], x, t % 3);
    own[5] = tex2DLayered<float>(handles[5], x, y, t % 3);
    float4 colour = tex2D<float4>(handles[6], x / 4, y / 4);
    own[6] = colour.x;
    own[7] = colour.y;
    own[8] = colour.z;
    own[9] = colour.w;
    uchar4 raw = tex2D<uchar4>(handles[7], x, y);
    own[10] = raw.x;
    own[11] = raw.y + 256 * raw.z;
    own[12] = raw.w;
    float4 four = tex2Dgather<float4>(handles[2], x, y, 0);
    own[13] = four.x;
    own[14] = four.y;
    own[15] = four.z;
    own[16] = four.w;
    own[17] = tex2DLod<float>(handles[2], x, y, 0.0f);

    surf2Dwrite(3.0f * t, handles[8], t % 8 * 4, t / 8);
    __syncthreads();
    unsigned other = 63 - t;
    own[18] = surf2Dread<float>(handles[8], other % 8 * 4, other / 8);
    int left = (int)(t % 8) * 4 - 8;
    own[19] = surf2Dread<float>(handles[8], left, t / 8, cudaBoundaryModeZero)
        + 1000.0f * surf2Dread<float>(handles[8], left, t / 8, cudaBoundaryModeClamp);
}
