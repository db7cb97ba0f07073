/* The summary of each group of classes, their numbers and their changes. A wave counts in registers
 * the cells of one group at a time, then in the block's shared memory, and the block in global
 * memory. Integers and extremes: the order does not matter. */
#include "kernels/hip/field/summary.h"

#include "kernels/class_summary.h"
#include "kernels/hip/device/visit.h"
#include "kernels/hip/kind/faces.h"

enum {
    THREADS = 256,
    WAVES = THREADS / ARCH_WAVE,
    BLOCKS_PER_PROCESSOR = ARCH_WAVE == 32 ? 3 : 4,
    BLOCK_CELLS_MAX = EXACT_PARTS_MAX_TERMS / 2, /* on average */
    AHEAD = ARCH_WAVE == 32 ? 4 : 1 /* vectors that a thread loads before it looks at them */
};

/* The owned cells; each wave has contiguous rows. */
template <typename REAL> struct class_sweep {
    const REAL *in;         /* of cell (0, 0, 0) */
    const uint8_t *classes; /* the same */
    int64_t cells[AXIS_COUNT];
    int64_t pitch_y, pitch_z;
    int64_t class_pitch_y, class_pitch_z;
    int mask;
    const uint8_t *groups;
    const REAL *width[AXIS_COUNT]; /* lines, from cell 0 on: cells count by their volumes */
};

/* Of one block. */
struct class_counts {
    unsigned long long min[MEDIUM_CLASSES], max[MEDIUM_CLASSES], cells[MEDIUM_CLASSES];
    unsigned long long part[MEDIUM_CLASSES][3];
};

/* What a wave has found since the group changed. */
struct class_run {
    int group;
    findings of;

    __device__ __forceinline__ void begin(int next)
    {
        group = next;
        of = {HUGE_VAL, -HUGE_VAL, {}, 0, 0, 0, {}};
    }

    template <bool VOLUMES> __device__ __forceinline__ void see(double cell, double volume)
    {
        of.see_valid(cell);
        if (VOLUMES) {
            of.heat.add(cell * volume);
        }
    }

    /* All lanes call. */
    template <bool VOLUMES> __device__ __forceinline__ void end(class_counts &counts)
    {
        const struct tally sums = VOLUMES ? of.heat : of.tally();
        const long long cells = arch_wave_sum(of.good);
        unsigned long long min = key_of(of.min), max = key_of(of.max);
        for (int lanes = ARCH_WAVE / 2; lanes > 0; lanes /= 2) {
            const unsigned long long other_min = arch_shift_down(min, lanes);
            const unsigned long long other_max = arch_shift_down(max, lanes);
            min = other_min < min ? other_min : min;
            max = other_max > max ? other_max : max;
        }
        for (int d = 0; d < 3; d++) {
            const long long part = arch_wave_sum(sums.part[d]);
            if (arch_is_first_lane()) {
                atomicAdd(&counts.part[group][d], (unsigned long long)part);
            }
        }
        if (arch_is_first_lane()) {
            atomicMin(&counts.min[group], min);
            atomicMax(&counts.max[group], max);
            atomicAdd(&counts.cells[group], (unsigned long long)cells);
        }
    }
};

/* All lanes call. */
static __device__ __forceinline__ int most_of_wave(int value)
{
    for (int lanes = ARCH_WAVE / 2; lanes > 0; lanes /= 2) {
        const int beside = arch_shift_down(value, lanes);
        value = beside > value ? beside : value;
    }
    return (int)arch_first_lane_value((uint32_t)value);
}

/* N cells of each lane and their groups, or -1 where there is none; VOLUMES: what they count in the
 * sum. All lanes call. */
template <bool VOLUMES, int N>
static __device__ __forceinline__ void see_groups(class_counts &counts, class_run &run,
                                                  const double (&cells)[N], int (&groups)[N],
                                                  const double (&volumes)[N])
{
    bool alike = true;
#pragma unroll
    for (int n = 0; n < N; n++) {
        alike = alike && groups[n] == run.group;
    }
    if (arch_all(alike)) {
#pragma unroll
        for (int n = 0; n < N; n++) {
            run.template see<VOLUMES>(cells[n], volumes[n]);
        }
        run.of.good += N;
        return;
    }
    for (;;) {
        int other = -1;
#pragma unroll
        for (int n = 0; n < N; n++) {
            if (groups[n] == run.group) {
                run.template see<VOLUMES>(cells[n], volumes[n]);
                run.of.good++;
                groups[n] = -1;
            }
            other = groups[n] > other ? groups[n] : other;
        }
        other = most_of_wave(other);
        if (other < 0) {
            return;
        }
        run.template end<VOLUMES>(counts);
        run.begin(other);
    }
}

template <bool VOLUMES, typename REAL>
static __device__ __forceinline__ void count_cells(const class_sweep<REAL> &s, class_counts &counts)
{
    constexpr int N = vec16<REAL>::N, CELLS = AHEAD * N;
    const int64_t rows = s.cells[AXIS_Y] * s.cells[AXIS_Z];
    const int64_t waves = (int64_t)gridDim.x * WAVES;
    const int64_t wave = (int64_t)blockIdx.x * WAVES + threadIdx.x / ARCH_WAVE;
    const int64_t first = rows * wave / waves;
    int left = (int)(rows * (wave + 1) / waves - first);
    int k = (int)(first / s.cells[AXIS_Y]);
    int j = (int)(first - k * s.cells[AXIS_Y]);
    const int cells_x = (int)s.cells[AXIS_X]; /* numbers of cells on an axis are int on devices */
    class_run run;
    run.begin(0);
    for (; left > 0; left--) {
        const REAL *row = s.in + j * s.pitch_y + k * s.pitch_z;
        const uint8_t *classes = s.classes + j * s.class_pitch_y + k * s.class_pitch_z;
        for (int i = 0; i < cells_x; i += CELLS * ARCH_WAVE) {
            double cells[CELLS];
            double volumes[CELLS];
            int groups[CELLS];
#pragma unroll
            for (int v = 0; v < AHEAD; v++) { /* rows are padded to whole vectors */
                const int at = i + (v * ARCH_WAVE + (int)threadIdx.x % ARCH_WAVE) * N;
                const vec16<REAL> vector = vector_at(row + (at < cells_x ? at : 0));
#pragma unroll
                for (int n = 0; n < N; n++) {
                    const bool within = at + n < cells_x;
                    cells[v * N + n] = (double)vector.v[n];
                    groups[v * N + n] = within ? s.groups[classes[at + n] & s.mask] : -1;
                    if constexpr (VOLUMES) {
                        const REAL yz = s.width[AXIS_Y][j] * s.width[AXIS_Z][k];
                        const REAL x = s.width[AXIS_X][within ? at + n : 0];
                        volumes[v * N + n] = (double)x * (double)yz;
                    }
                }
            }
            see_groups<VOLUMES>(counts, run, cells, groups, volumes);
        }
        j++;
        if (j == (int)s.cells[AXIS_Y]) {
            j = 0;
            k++;
        }
    }
    run.template end<VOLUMES>(counts);
}

template <typename REAL, bool VOLUMES>
static __global__ __launch_bounds__(THREADS, BLOCKS_PER_PROCESSOR) void summarise_classes(
    const class_sweep<REAL> s, struct class_summary *all)
{
    __shared__ class_counts counts;
    for (int g = (int)threadIdx.x; g < MEDIUM_CLASSES; g += THREADS) {
        counts.min[g] = ~0ULL;
        counts.max[g] = counts.cells[g] = 0;
        counts.part[g][0] = counts.part[g][1] = counts.part[g][2] = 0;
    }
    __syncthreads();
    count_cells<VOLUMES>(s, counts);
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
static enum status launch(struct queue *queue, const struct summarise_classes_args *args)
{
    const struct layout *layout = &args->layout;
    const struct device_medium *medium = args->medium;
    class_sweep<REAL> s = {};
    int processors = 0;
    TRY(hip_count_processors(&processors));
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
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        s.width[axis] = line_of<REAL>(medium, axis, GRADED_WIDTH);
    }
    const int64_t rows = s.cells[AXIS_Y] * s.cells[AXIS_Z];
    const int64_t least = rows * s.cells[AXIS_X] / BLOCK_CELLS_MAX + 1; /* for the counters */
    const int64_t at_once = (int64_t)processors * BLOCKS_PER_PROCESSOR;
    const int64_t most = least > at_once ? least : at_once;
    const int64_t nblocks = (rows + WAVES - 1) / WAVES;
    const auto kernel =
        s.width[0] != nullptr ? summarise_classes<REAL, true> : summarise_classes<REAL, false>;
    kernel<<<(unsigned)(nblocks < most ? nblocks : most), THREADS, 0, queue->stream>>>(
        s, args->d_summaries);
    return hip_check(hipGetLastError(), "summarise_classes");
}

enum status hip_summarise_classes(struct queue *queue, const struct summarise_classes_args *args)
{
    return in_precision(args->layout.precision,
                        [&](auto real) { return launch<decltype(real)>(queue, args); });
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

/* A block for each quarter of a multiprocessor: atomics of more would meet at one address. */
enum { SURFACE_BLOCKS_MOST = 528 };

/* Each wave has contiguous faces, which mostly are of one surface. */
template <typename REAL>
static __global__ __launch_bounds__(THREADS) void sum_by_surface(
    const struct sum_by_surface_args args, struct hip_scratch *scratch)
{
    __shared__ struct exact_sum of_block[MEDIUM_CLASSES * SURFACE_SUMS];
    __shared__ bool is_last;
    const int nsums = args.nsurfaces * SURFACE_SUMS;
    for (int n = (int)threadIdx.x; n < nsums; n += THREADS) {
        of_block[n] = {};
    }
    __syncthreads();
    const int64_t rounds = (args.count + ARCH_WAVE - 1) / ARCH_WAVE;
    const int64_t waves = (int64_t)gridDim.x * WAVES;
    const int64_t wave = (int64_t)blockIdx.x * WAVES + threadIdx.x / ARCH_WAVE;
    int current = 0;
    tally sums[SURFACE_SUMS] = {};
    const auto flush = [&]() {
        for (int n = 0; n < SURFACE_SUMS; n++) {
            face_sum_add(&of_block[current * SURFACE_SUMS + n], sums[n]);
            sums[n] = {};
        }
    };
    for (int64_t round = rounds * wave / waves; round < rounds * (wave + 1) / waves; round++) {
        const int64_t i = round * ARCH_WAVE + threadIdx.x % ARCH_WAVE;
        double terms[SURFACE_SUMS] = {};
        int surface = -1;
        if (i < args.count) {
            const struct surface_numbers of =
                args.d_numbers[args.d_pairs != nullptr ? args.d_pairs[i] : i];
            surface = of.surface;
            surface_face_terms(&of, args.d_faces != nullptr ? &args.d_faces[i] : nullptr,
                               args.d_exchanges, args.joule_per_kelvin,
                               (double)static_cast<const REAL *>(args.d_field)[args.d_elements[i]],
                               terms);
        }
        for (;;) {
            if (surface == current) {
                sums[SURFACE_FLOW].add(terms[SURFACE_FLOW]);
                sums[SURFACE_TEMPERATURE].add(terms[SURFACE_TEMPERATURE]);
                surface = -1;
            }
            if (!arch_any(surface >= 0)) {
                break;
            }
            flush();
            current = most_of_wave(surface);
        }
    }
    flush();
    __syncthreads();
    for (int n = (int)threadIdx.x; n < 4 * nsums; n += THREADS) {
        const long long digit = of_block[n / 4].digit[n % 4];
        if (digit != 0) {
            atomicAdd(reinterpret_cast<unsigned long long *>(&args.d_sums[n / 4].digit[n % 4]),
                      (unsigned long long)digit);
        }
    }
    if (is_last_block_of_all(scratch, &is_last)) {
        for (int n = (int)threadIdx.x; n < nsums; n += THREADS) {
            face_sum_normalise(&args.d_sums[n]);
        }
    }
}

enum status hip_sum_by_surface(struct queue *queue, const struct sum_by_surface_args *args)
{
    const int64_t wanted = (args->count + THREADS - 1) / THREADS;
    const int64_t most = SURFACE_BLOCKS_MOST;
    const unsigned nblocks = (unsigned)(wanted < most ? wanted : most);
    if (args->count == 0) {
        return STATUS_OK;
    }
    return in_precision(args->precision, [&](auto real) {
        sum_by_surface<decltype(real)>
            <<<nblocks, THREADS, 0, queue->stream>>>(*args, queue->d_scratch);
        return hip_check(hipGetLastError(), "sum_by_surface");
    });
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
