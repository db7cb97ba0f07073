/* The summary of each group of classes, their numbers and their changes. In the summary a thread
 * counts in registers as long as the group of its cells stays the same, then in the block's shared
 * memory, and the block in global memory. Integers and extremes: the order does not matter. */
#include "kernels/hip/device/cells.h"

#include "kernels/class_summary.h"
#include "kernels/hip/device/visit.h"

enum {
    THREADS = 256,
    BLOCKS_MAX = 4096,
    BLOCK_CELLS_MAX = EXACT_PARTS_MAX_TERMS / 2, /* on average */
    AHEAD = 4 /* cells that a thread loads before it looks at them */
};

/* The owned cells by rows: `lanes` threads per row, THREADS / lanes rows per block. */
template <typename REAL> struct class_sweep {
    const REAL *in;         /* of cell (0, 0, 0) */
    const uint8_t *classes; /* the same */
    int64_t cells[AXIS_COUNT];
    int64_t pitch_y, pitch_z;
    int64_t class_pitch_y, class_pitch_z;
    int mask;
    const uint8_t *groups;
    unsigned lanes;
};

/* A thread's cells since the group changed. */
struct class_run {
    int group; /* -1: none yet */
    unsigned long long min, max, cells;
    struct tally tally;
};

/* Of one block. */
struct class_counts {
    unsigned long long min[MEDIUM_CLASSES], max[MEDIUM_CLASSES], cells[MEDIUM_CLASSES];
    unsigned long long part[MEDIUM_CLASSES][3];
};

static __device__ __forceinline__ void run_begin(class_run &run, int group)
{
    run.group = group;
    run.min = ~0ULL;
    run.max = 0;
    run.cells = 0;
    run.tally = {};
}

static __device__ __forceinline__ void run_end(class_counts &counts, const class_run &run)
{
    if (run.cells == 0) {
        return;
    }
    atomicMin(&counts.min[run.group], run.min);
    atomicMax(&counts.max[run.group], run.max);
    atomicAdd(&counts.cells[run.group], run.cells);
    for (int d = 0; d < 3; d++) {
        atomicAdd(&counts.part[run.group][d], (unsigned long long)run.tally.part[d]);
    }
}

static __device__ __forceinline__ void run_add(class_counts &counts, class_run &run, int group,
                                               double cell)
{
    if (group != run.group) {
        run_end(counts, run);
        run_begin(run, group);
    }
    const unsigned long long key = class_key_of(cell);
    run.min = key < run.min ? key : run.min;
    run.max = key > run.max ? key : run.max;
    run.cells++;
    run.tally.add(cell);
}

template <typename REAL>
static __device__ __forceinline__ void count_cells(const class_sweep<REAL> &s, class_counts &counts)
{
    const int64_t rows = s.cells[AXIS_Y] * s.cells[AXIS_Z];
    const unsigned rows_per_block = THREADS / s.lanes;
    class_run run;
    run_begin(run, -1);
    for (int64_t row = (int64_t)blockIdx.x * rows_per_block + threadIdx.x / s.lanes; row < rows;
         row += (int64_t)gridDim.x * rows_per_block) {
        const int64_t k = row / s.cells[AXIS_Y];
        const int64_t j = row - k * s.cells[AXIS_Y];
        const REAL *cells = s.in + j * s.pitch_y + k * s.pitch_z;
        const uint8_t *classes = s.classes + j * s.class_pitch_y + k * s.class_pitch_z;
        for (int64_t i = threadIdx.x % s.lanes; i < s.cells[AXIS_X]; i += AHEAD * s.lanes) {
            double ahead[AHEAD];
            int groups[AHEAD]; /* -1: beyond the row */
#pragma unroll
            for (int n = 0; n < AHEAD; n++) {
                const int64_t at = i + n * s.lanes;
                const bool within = at < s.cells[AXIS_X];
                ahead[n] = (double)cells[within ? at : i];
                groups[n] = within ? s.groups[classes[at] & s.mask] : -1;
            }
#pragma unroll
            for (int n = 0; n < AHEAD; n++) {
                if (groups[n] >= 0) {
                    run_add(counts, run, groups[n], ahead[n]);
                }
            }
        }
    }
    run_end(counts, run);
}

template <typename REAL>
static __global__ __launch_bounds__(THREADS) void summarise_classes(const class_sweep<REAL> s,
                                                                    struct class_summary *all)
{
    __shared__ class_counts counts;
    for (int g = (int)threadIdx.x; g < MEDIUM_CLASSES; g += THREADS) {
        counts.min[g] = ~0ULL;
        counts.max[g] = counts.cells[g] = 0;
        counts.part[g][0] = counts.part[g][1] = counts.part[g][2] = 0;
    }
    __syncthreads();
    count_cells(s, counts);
    __syncthreads();
    for (int g = (int)threadIdx.x; g < MEDIUM_CLASSES; g += THREADS) {
        if (counts.cells[g] == 0) {
            continue;
        }
        const long long mask = (1LL << 40) - 1;
        const long long p0 = (long long)counts.part[g][0];
        const long long p1 = (long long)counts.part[g][1] + (p0 >> 40);
        const long long p2 = (long long)counts.part[g][2] + (p1 >> 40);
        const long long digit[4] = {p0 & mask, p1 & mask, p2 & mask, p2 >> 40};
        atomicMin(reinterpret_cast<unsigned long long *>(&all[g].min_key), counts.min[g]);
        atomicMax(reinterpret_cast<unsigned long long *>(&all[g].max_key), counts.max[g]);
        atomicAdd(reinterpret_cast<unsigned long long *>(&all[g].cells), counts.cells[g]);
        for (int d = 0; d < 4; d++) {
            atomicAdd(reinterpret_cast<unsigned long long *>(&all[g].sum.digit[d]),
                      (unsigned long long)digit[d]);
        }
    }
}

template <typename REAL>
static void launch(struct queue *queue, const struct summarise_classes_args *args)
{
    const struct layout *layout = &args->layout;
    const struct device_medium *medium = args->medium;
    class_sweep<REAL> s = {};
    s.in = static_cast<const REAL *>(args->d_field) + layout->origin;
    s.classes = medium->d_class + medium->layout.origin;
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        s.cells[axis] = layout->cells[axis];
    }
    s.pitch_y = layout->pitch_y;
    s.pitch_z = layout->pitch_z;
    s.class_pitch_y = medium->layout.pitch_y;
    s.class_pitch_z = medium->layout.pitch_z;
    s.mask = medium->mask;
    s.groups = args->d_groups;
    s.lanes = 1;
    while (s.lanes < THREADS && AHEAD * (int64_t)s.lanes < s.cells[AXIS_X]) {
        s.lanes *= 2;
    }
    const int64_t rows = s.cells[AXIS_Y] * s.cells[AXIS_Z];
    const int64_t rows_per_block = THREADS / s.lanes;
    const int64_t least = rows * s.cells[AXIS_X] / BLOCK_CELLS_MAX + 1; /* for the counters */
    const int64_t most = least > BLOCKS_MAX ? least : (int64_t)BLOCKS_MAX;
    const int64_t nblocks = (rows + rows_per_block - 1) / rows_per_block;
    summarise_classes<REAL>
        <<<(unsigned)(nblocks < most ? nblocks : most), THREADS, 0, queue->stream>>>(
            s, args->d_summaries);
}

enum status hip_summarise_classes(struct queue *queue, const struct summarise_classes_args *args)
{
    return in_precision(args->layout.precision, [&](auto real) {
        launch<decltype(real)>(queue, args);
        return hip_check(hipGetLastError(), "summarise_classes");
    });
}

/* --- one thread per cell ---------------------------------------------------------------------- */

struct number_class {
    struct number_classes_args args;
    struct device_medium medium;
    __device__ void operator()(int64_t i, int64_t j, int64_t k) const
    {
        const int own = medium.d_class[element_at(medium.layout, i, j, k)] & medium.mask;
        args.d_values[element_at(args.kept, i, j, k)] = args.d_numbers[own];
    }
};

enum status hip_number_classes(struct queue *queue, const struct number_classes_args *args)
{
    return visit(queue, layout_owned(&args->kept), number_class{*args, *args->medium},
                 "number_classes");
}

/* Bits of a byte that others of its word may change at the same time. */
static __device__ __forceinline__ void clear_bits(uint8_t *byte, unsigned bits)
{
    const unsigned at = (unsigned)(reinterpret_cast<uintptr_t>(byte) % 4);
    atomicAnd(reinterpret_cast<unsigned *>(byte - at), ~(bits << (8 * at)));
}

static __device__ __forceinline__ void set_bits(uint8_t *byte, unsigned bits)
{
    const unsigned at = (unsigned)(reinterpret_cast<uintptr_t>(byte) % 4);
    atomicOr(reinterpret_cast<unsigned *>(byte - at), bits << (8 * at));
}

/* Call visit with the class of each neighbour of a cell, and whether it is an owned cell. */
template <typename VISIT>
static __device__ __forceinline__ void visit_neighbours(const struct layout &c, uint8_t *of_class,
                                                        const int64_t (&cell)[AXIS_COUNT],
                                                        VISIT visit)
{
    const int64_t stride[AXIS_COUNT] = {1, c.pitch_y, c.pitch_z};
    bool inside[AXIS_COUNT];
    for (int a = 0; a < AXIS_COUNT; a++) {
        inside[a] = cell[a] >= 0 && cell[a] < c.cells[a];
    }
    for (int a = 0; a < AXIS_COUNT; a++) {
        const bool others = inside[(a + 1) % AXIS_COUNT] && inside[(a + 2) % AXIS_COUNT];
        visit(of_class - stride[a], others && cell[a] > 0 && cell[a] <= c.cells[a]);
        visit(of_class + stride[a], others && cell[a] >= -1 && cell[a] < c.cells[a] - 1);
    }
}

/* The field is read only where a class can change. The flags of owned cells beside a change are
 * cleared, also of those that have one class again: see find_flag. */
template <typename REAL> struct change_class {
    struct change_classes_args change;
    __device__ void operator()(int64_t i, int64_t j, int64_t k) const
    {
        const struct layout &c = change.of_class;
        uint8_t *of_class = &change.d_class[element_at(c, i, j, k)];
        const int own = *of_class & change.mask;
        const int to = change.d_to[own];
        const REAL *cell =
            static_cast<const REAL *>(change.d_field) + element_at(change.layout, i, j, k);
        if (to == own || !((double)*cell >= change.d_at[own])) {
            return;
        }
        clear_bits(of_class, 0xFF);
        set_bits(of_class, (unsigned)to);
        visit_neighbours(c, of_class, {i, j, k}, [&](uint8_t *beside, bool owned) {
            if (owned && change.mask != 0xFF) {
                clear_bits(beside, CLASS_FLAG);
            }
        });
    }
};

/* The flags of owned cells whose neighbours have their class, where they are missing. */
struct find_flag {
    struct change_classes_args change;
    __device__ void operator()(int64_t i, int64_t j, int64_t k) const
    {
        const struct layout &c = change.of_class;
        uint8_t *of_class = &change.d_class[element_at(c, i, j, k)];
        const int own = *of_class;
        if (own <= change.mask) {
            bool same = true;
            visit_neighbours(c, of_class, {i, j, k}, [&](const uint8_t *beside, bool) {
                same = same && (*beside & change.mask) == own;
            });
            if (same) {
                set_bits(of_class, CLASS_FLAG);
            }
        }
    }
};

/* The owned cells in and beside a box. */
static struct box owned_around(const struct layout *layout, const struct box *box)
{
    struct box around = *box;
    for (int a = 0; a < AXIS_COUNT; a++) {
        around.lo[a] = around.lo[a] > 0 ? around.lo[a] - 1 : 0;
        around.hi[a] = around.hi[a] < layout->cells[a] ? around.hi[a] + 1 : layout->cells[a];
    }
    return around;
}

enum status hip_change_classes(struct queue *queue, const struct change_classes_args *args)
{
    TRY(in_precision(args->layout.precision, [&](auto real) {
        return visit(queue, args->box, change_class<decltype(real)>{*args}, "change_classes");
    }));
    return args->mask == 0xFF || box_is_empty(&args->box)
               ? STATUS_OK
               : visit(queue, owned_around(&args->layout, &args->box), find_flag{*args},
                       "change_classes");
}
