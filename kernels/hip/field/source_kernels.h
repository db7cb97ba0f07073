/* Part of source.hip.cpp: what its kernels share; and sources by columns. */
#pragma once

/* first: it defines KERNEL_INLINE */
#include "kernels/hip/kind/enthalpy.h"

#include "kernels/cell/source_cell.h"
#include "kernels/hip/device/visit.h"

/* A sum has enough blocks to fill any chip, and few enough that their atomics do not matter. */
enum { SUM_BLOCKS_MOST = 4096 };

/* What a kernel needs of the medium. */
struct source_medium {
    struct layout layout;
    const uint8_t *classes; /* nullptr: uniform */
    const void *table;
    uint8_t mask;
    const void *sigma; /* of cells, as the classes; nullptr: of the classes */
};

/* One set of atomics per block, since those at one address come one after another. All threads
 * call. */
static __device__ __forceinline__ void add_block(struct exact_sum *d_sum, const tally &sum)
{
    __shared__ struct exact_sum of_block;
    if (threadIdx.x < 4) {
        of_block.digit[threadIdx.x] = 0;
    }
    __syncthreads();
    face_sum_add(&of_block, sum);
    __syncthreads();
    if (threadIdx.x < 4 && of_block.digit[threadIdx.x] != 0) {
        atomicAdd(reinterpret_cast<unsigned long long *>(&d_sum->digit[threadIdx.x]),
                  (unsigned long long)of_block.digit[threadIdx.x]);
    }
}

/* The end of a kernel. All threads of all blocks call. */
static __device__ __forceinline__ void finish(struct exact_sum *d_sum, const tally &sum,
                                              struct hip_scratch *scratch)
{
    add_block(d_sum, sum);
    if (is_last_block(scratch)) {
        face_sum_normalise(d_sum);
    }
}

/* The tiles that count as changed: `count` from `first` on. */
struct changed_tiles {
    uint32_t *d_changed;
    uint32_t step, first, stride_y, stride_z, count[AXIS_COUNT];

    __device__ __forceinline__ void mark() const
    {
        for (uint32_t n = blockIdx.x * VISIT_THREADS + threadIdx.x;
             n < count[0] * count[1] * count[2]; n += gridDim.x * VISIT_THREADS) {
            d_changed[first + n % count[0] + n / count[0] % count[1] * stride_y +
                      n / count[0] / count[1] * stride_z] = step;
        }
    }
};

static changed_tiles changed_of(const struct tiles *tiles, const struct box *box)
{
    changed_tiles changed = {};
    if (tiles != nullptr) {
        const struct box met = tiles_meet(tiles, box);
        changed = {tiles->d_changed, tiles->step,
                   (uint32_t)tiles_number(tiles, met.lo[0], met.lo[1], met.lo[2]),
                   (uint32_t)tiles->count[AXIS_X],
                   (uint32_t)(tiles->count[AXIS_X] * tiles->count[AXIS_Y])};
        for (int axis = 0; axis < AXIS_COUNT; axis++) {
            changed.count[axis] = (uint32_t)box_extent(&met, (enum axis)axis);
        }
    }
    return changed;
}

/* As tally::add, of a number below 1/2 in magnitude, which has no whole part. */
static __device__ __forceinline__ void add_small(tally &sum, double x)
{
    const double magic1 = 0x1.8p12;
    const double magic2 = 0x1.8p-28;
    const double s1 = x + magic1;
    const double s2 = (x - (s1 - magic1)) + magic2;
    sum.part[1] += __double_as_longlong(s1) - __double_as_longlong(magic1);
    sum.part[0] += __double_as_longlong(s2) - __double_as_longlong(magic2);
}

/* Columns of cells along w, which is y or z, COLUMN_LANES of a row per wave, of COLUMN_DEPTH planes
 * at most. AHEAD planes are requested while those before are heated. */
enum {
    COLUMN_LANES = 32,
    COLUMN_ROWS = VISIT_THREADS / COLUMN_LANES,
    COLUMN_DEPTH = 64,
    AHEAD = 4
};
struct columns {
    bool along_z;
    unsigned across, up, depth, nblocks; /* blocks across w, planes of a block, all blocks */
    bool small;                          /* no heat reaches 1/2 */
};

/* The cells of a thread in AHEAD planes. */
template <typename REAL> struct column_part {
    bool on[AHEAD];
    REAL cell[AHEAD];
    int of_class[AHEAD];
};

/* Each thread computes the factor across w once for all its cells, each block those along w, so one
 * product per cell remains. Three blocks per multiprocessor: waves wait for their cells. */
template <typename REAL>
static __global__ __launch_bounds__(VISIT_THREADS, 3) void add_columns(
    const columns of, const struct add_source_args args, const struct source_medium medium,
    const struct changed_tiles changed, struct hip_scratch *scratch)
{
    __shared__ struct source_part along[COLUMN_DEPTH + 2 * AHEAD];
    const int64_t *lo = args.box.lo, *hi = args.box.hi;
    const unsigned x = blockIdx.x % of.across * COLUMN_LANES + threadIdx.x % COLUMN_LANES;
    const unsigned y = blockIdx.x / of.across % of.up * COLUMN_ROWS + threadIdx.x / COLUMN_LANES;
    const unsigned z = blockIdx.x / of.across / of.up * of.depth;
    const int64_t i = lo[AXIS_X] + x, j = lo[AXIS_Y] + (of.along_z ? y : z),
                  k = lo[AXIS_Z] + (of.along_z ? z : y);
    const bool is_in = i < hi[AXIS_X] && (of.along_z ? j < hi[AXIS_Y] : k < hi[AXIS_Z]);
    const int planes = (int)min(of.along_z ? hi[AXIS_Z] - k : hi[AXIS_Y] - j, (int64_t)of.depth);
    const int64_t step = of.along_z ? args.layout.pitch_z : args.layout.pitch_y;
    const int64_t step_of_class = of.along_z ? medium.layout.pitch_z : medium.layout.pitch_y;
    const double at_x = (double)(int)(args.offset[AXIS_X] + i),
                 at_y = (double)(int)(args.offset[AXIS_Y] + j),
                 at_z = (double)(int)(args.offset[AXIS_Z] + k);
    for (int n = (int)threadIdx.x; n < COLUMN_DEPTH + 2 * AHEAD; n += VISIT_THREADS) {
        along[n] =
            source_along(&args.shape, 0, at_y + (of.along_z ? 0 : n), at_z + (of.along_z ? n : 0));
        along[n].e = n < planes ? along[n].e : 2 * SOURCE_CUT;
    }
    __syncthreads();
    const struct source_part across = source_across(&args.shape, at_x, at_y, at_z);
    arch_begin_early();
    changed.mark();
    REAL *cells = static_cast<REAL *>(args.d_field) + element_at(args.layout, i, j, k);
    const int64_t at = element_at(medium.layout, i, j, k);
    const auto request = [&](column_part<REAL> &part, int plane) {
#pragma unroll
        for (int c = 0; c < AHEAD; c++) {
            const int64_t n = plane + c;
            part.on[c] = !(across.e + along[n].e > SOURCE_CUT);
            if (part.on[c]) {
                part.cell[c] = cells[n * step];
                part.of_class[c] =
                    medium.classes != nullptr ? medium.classes[at + n * step_of_class] : 0;
            }
        }
    };
    tally sum = {};
    if (is_in && !(across.e > SOURCE_CUT)) {
        column_part<REAL> part = {}, next = {};
        request(part, 0);
        for (int plane = 0; plane < planes; plane += AHEAD) {
            request(next, plane + AHEAD);
#pragma unroll
            for (int c = 0; c < AHEAD; c++) {
                const int64_t n = plane + c;
                REAL sigma = 1;
                if (part.on[c] && medium.sigma != nullptr) {
                    sigma = static_cast<const REAL *>(medium.sigma)[at + n * step_of_class];
                } else if (part.on[c] && medium.table != nullptr) {
                    sigma = static_cast<const REAL *>(
                        medium.table)[medium_cell_at(part.of_class[c] & medium.mask)];
                }
                const REAL heat = part.on[c] ? (REAL)(across.factor * along[n].factor) : 0;
                const bool adds = heat != 0 && sigma != 0; /* see add_source */
                if (adds) {
                    cells[n * step] = arch_fma(sigma, heat, part.cell[c]);
                }
                if (of.small) {
                    add_small(sum, adds ? (double)heat : 0.0);
                } else {
                    sum.add(adds ? (double)heat : 0.0);
                }
            }
            part = next;
        }
    }
    finish(args.d_sum, sum, scratch);
}

static columns columns_of(const struct add_source_args *args)
{
    const bool along_z = source_axis(&args->shape) == AXIS_Z;
    const int64_t n[AXIS_COUNT] = {box_extent(&args->box, AXIS_X),
                                   box_extent(&args->box, along_z ? AXIS_Y : AXIS_Z),
                                   box_extent(&args->box, along_z ? AXIS_Z : AXIS_Y)};
    columns of = {along_z,
                  (unsigned)((n[0] + COLUMN_LANES - 1) / COLUMN_LANES),
                  (unsigned)((n[1] + COLUMN_ROWS - 1) / COLUMN_ROWS),
                  2 * COLUMN_DEPTH,
                  0,
                  fabs(args->shape.peak_front) < 0.5 && fabs(args->shape.peak_rear) < 0.5};
    const int64_t columns = (int64_t)of.across * of.up;
    do { /* small boxes have many blocks, too */
        of.depth /= 2;
        of.nblocks = (unsigned)(columns * ((n[2] + of.depth - 1) / of.depth));
    } while (of.depth > 2 * AHEAD && of.nblocks < SUM_BLOCKS_MOST / 2);
    return of;
}
