/* The sums over closed faces before each step of a pass: of level 0 from the field, of the others
 * from what the kernels of the pass have kept of them. A launch of its own, since exact sums in the
 * kernels would make the tiles at faces slower, for which all others wait. */
#include "kernels/hip/steps.h"

enum { THREADS = 256, CELLS_PER_THREAD = 16, BOXES_PER_LAUNCH = 8 };

/* One rectangle of cells at one face, at all levels. */
struct rectangle {
    int64_t u, v; /* its first cell: indices on the other two axes */
    int64_t nu, nv;
    int64_t at, stride_u, stride_v; /* in the field: its first cell, and to the next ones */
    unsigned first_block, blocks;   /* of each level */
    int face;
};

struct rectangle_list {
    rectangle of[BOXES_PER_LAUNCH * FACE_COUNT];
    int count;
    int levels;
    struct exact_sum *sum[HIP_STEPS_MOST][FACE_COUNT];
};

/* As face_sum_add, for a block, so that few atomics go to the same place. All threads call. */
static __device__ __forceinline__ void add_block_sum(struct exact_sum *sum, tally &mine)
{
    __shared__ long long parts[THREADS / ARCH_WAVE][3];
    const int wave = (int)threadIdx.x / ARCH_WAVE;
    for (int p = 0; p < 3; p++) {
        const long long of_wave = arch_wave_sum(mine.part[p]);
        if (arch_is_first_lane()) {
            parts[wave][p] = of_wave;
        }
    }
    __syncthreads();
    if (wave == 0) {
        const int lane = (int)threadIdx.x;
        for (int p = 0; p < 3; p++) {
            mine.part[p] = lane < THREADS / ARCH_WAVE ? parts[lane][p] : 0;
        }
        face_sum_add(sum, mine);
    }
}

template <typename REAL>
static __global__ __launch_bounds__(THREADS) void steps_sums(const REAL *__restrict__ in,
                                                             const all_face_values<REAL> values,
                                                             struct hip_scratch *scratch,
                                                             const rectangle_list list)
{
    const unsigned level = blockIdx.x % list.levels;
    const unsigned block = blockIdx.x / list.levels;
    int n = 0;
    while (n + 1 < list.count && block >= list.of[n + 1].first_block) {
        n++;
    }
    const rectangle &r = list.of[n];
    const unsigned cells = (unsigned)(r.nu * r.nv);
    const face_values<REAL> &from = values.face[r.face];
    tally sum = {};
#pragma unroll
    for (int c = 0; c < CELLS_PER_THREAD; c++) {
        const unsigned cell =
            ((block - r.first_block) * CELLS_PER_THREAD + c) * THREADS + threadIdx.x;
        const int64_t v = cell / (unsigned)r.nu;
        const int64_t u = cell % (unsigned)r.nu;
        if (cell < cells) {
            sum.add((double)(level == 0 ? in[r.at + u * r.stride_u + v * r.stride_v]
                                        : *from.at((int)level, r.u + u, r.v + v)));
        }
    }
    add_block_sum(list.sum[level][r.face], sum);
    /* each sum once, by a thread of its own: steps mostly add to the same ones */
    __shared__ bool is_last;
    const bool last = is_last_block(scratch);
    if (threadIdx.x == 0) {
        is_last = last;
    }
    __syncthreads();
    const int l = (int)threadIdx.x / FACE_COUNT;
    const int face = (int)threadIdx.x % FACE_COUNT;
    if (is_last && l < list.levels && list.sum[l][face] != nullptr &&
        (l == 0 || list.sum[l][face] != list.sum[l - 1][face])) {
        face_sum_normalise(list.sum[l][face]);
    }
}

/* The cells of a box on a face of the field; false where it has none. */
static bool rectangle_of(const struct layout *layout, const struct box *box, int face, rectangle *r)
{
    const int64_t stride[AXIS_COUNT] = {1, layout->pitch_y, layout->pitch_z};
    const int axis = face / 2;
    const int u = axis == AXIS_X ? AXIS_Y : AXIS_X;
    const int v = axis == AXIS_Z ? AXIS_Y : AXIS_Z;
    const int64_t layer = face % 2 == 0 ? 0 : layout->cells[axis] - 1;
    *r = {};
    r->u = box->lo[u];
    r->v = box->lo[v];
    r->nu = box->hi[u] - box->lo[u];
    r->nv = box->hi[v] - box->lo[v];
    r->stride_u = stride[u];
    r->stride_v = stride[v];
    r->at = layout->origin + layer * stride[axis] + r->u * stride[u] + r->v * stride[v];
    r->face = face;
    return box->lo[axis] <= layer && layer < box->hi[axis] && r->nu > 0 && r->nv > 0;
}

static hipError_t launch(hipStream_t stream, struct hip_scratch *d_scratch,
                         const struct layout *layout, const void *d_in,
                         const struct hip_face_values *values, const rectangle_list &list)
{
    const rectangle &last = list.of[list.count - 1];
    const unsigned nblocks = (last.first_block + last.blocks) * (unsigned)list.levels;
    if (layout->precision == PRECISION_FLOAT64) {
        steps_sums<<<nblocks, THREADS, 0, stream>>>(
            static_cast<const double *>(d_in), face_values_of<double>(values), d_scratch, list);
    } else {
        steps_sums<<<nblocks, THREADS, 0, stream>>>(static_cast<const float *>(d_in),
                                                    face_values_of<float>(values), d_scratch, list);
    }
    return hipGetLastError();
}

hipError_t hip_launch_steps_sums(hipStream_t stream, struct hip_scratch *d_scratch,
                                 const struct layout *layout, const struct step_args *args,
                                 int nsteps, const void *d_in, const struct box *boxes, int nboxes,
                                 const struct hip_face_values *values)
{
    rectangle_list list = {};
    list.levels = nsteps;
    for (int l = 0; l < nsteps; l++) {
        for (int face = 0; face < FACE_COUNT; face++) {
            list.sum[l][face] = args[l].closed[face] ? args[l].d_face_sum[face] : nullptr;
        }
    }
    unsigned blocks = 0;
    for (int b = 0; b < nboxes; b++) {
        for (int face = 0; face < FACE_COUNT; face++) {
            rectangle r;
            if (values->d_first[face] == nullptr || !rectangle_of(layout, &boxes[b], face, &r)) {
                continue;
            }
            const int64_t cells = r.nu * r.nv;
            const int64_t per_block = (int64_t)THREADS * CELLS_PER_THREAD;
            r.first_block = blocks;
            r.blocks = (unsigned)((cells + per_block - 1) / per_block);
            blocks += r.blocks;
            list.of[list.count++] = r;
        }
        if (list.count > 0 && (b == nboxes - 1 || (b + 1) % BOXES_PER_LAUNCH == 0)) {
            const hipError_t error = launch(stream, d_scratch, layout, d_in, values, list);
            if (error != hipSuccess) {
                return error;
            }
            list.count = 0;
            blocks = 0;
        }
    }
    return hipSuccess;
}
