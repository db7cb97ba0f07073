/* Heat sources that no class has: moving ones, and those of a file, one thread per cell; the sums
 * of perfusion and of surfaces. */
/* first: they define KERNEL_INLINE */
#include "kernels/hip/field/source_kernels.h"
#include "kernels/hip/kind/faces.h"

/* Blocks of the sum of surfaces, which have few faces each. PART: cells of a row that a thread
 * reads at a time for a sum; BESIDE: that it heats, at most LANES_MOST apart, so that a wave is
 * mostly in or out of an ellipsoid. */
enum { SURFACE_BLOCKS_MOST = 1056, PART = 4, BESIDE = 4, LANES_MOST = 32 };

/* OF_FILE: by d_values; OF_CURVE: and by d_curve. Else sources whose w is along x. */
template <typename REAL, bool OF_FILE, bool OF_CURVE>
static __global__ __launch_bounds__(VISIT_THREADS) void add_source(
    const cell_sweep s, const struct add_source_args args, const struct source_medium medium,
    const struct changed_tiles changed, struct hip_scratch *scratch)
{
    changed.mark();
    const struct layout &layout = args.layout;
    REAL *field = static_cast<REAL *>(args.d_field);
    tally sum = {};
    visit_rows<BESIDE>(s, [&](int64_t first, int64_t j, int64_t k) {
        const double at_y = (double)(int)(args.offset[1] + j);
        const double at_z = (double)(int)(args.offset[2] + k);
        struct source_part across = {};
        if (!OF_FILE) { /* w is along x */
            across = source_across(&args.shape, 0, at_y, at_z);
            if (across.e > SOURCE_CUT) {
                return;
            }
        }
        REAL *cells = &field[element_at(layout, 0, j, k)];
        const uint8_t *classes = medium.classes != nullptr
                                     ? medium.classes + element_at(medium.layout, 0, j, k)
                                     : nullptr;
        const int64_t of_row = (k * layout.cells[AXIS_Y] + j) * layout.cells[AXIS_X];
        const REAL *own = medium.sigma != nullptr ? static_cast<const REAL *>(medium.sigma) +
                                                        element_at(medium.layout, 0, j, k)
                                                  : nullptr;
        double density[BESIDE] = {};
        bool on[BESIDE] = {};
        REAL cell[BESIDE] = {}, heat[BESIDE];
        int of_class[BESIDE] = {};
        for_part<BESIDE>(s, first, [&](int c, int64_t i) {
            if (!OF_FILE) {
                const struct source_part along =
                    source_along(&args.shape, (double)(int)(args.offset[0] + i), at_y, at_z);
                density[c] = source_heat(&across, &along);
            }
            on[c] = OF_FILE || density[c] != 0;
        });
        for_part<BESIDE>(s, first, [&](int c, int64_t i) {
            if (on[c]) {
                cell[c] = cells[i];
                of_class[c] = classes != nullptr ? classes[i] : 0;
            }
        });
#pragma unroll
        for (int c = 0; c < BESIDE; c++) {
            const int64_t i = on[c] ? first + c * (int64_t)s.lanes : first;
            if (OF_FILE) {
                density[c] = args.shape.peak_front * (double)args.d_values[of_row + i];
            }
            if (OF_CURVE) {
                const REAL *old = static_cast<const REAL *>(args.d_old);
                density[c] *=
                    source_curve_at(args.d_curve, (double)old[element_at(layout, i, j, k)]);
            }
            heat[c] = (REAL)density[c];
        }
        REAL sigma[BESIDE] = {};
        for_part<BESIDE>(s, first, [&](int c, int64_t i) {
            if (on[c]) {
                sigma[c] = own != nullptr ? own[i]
                           : medium.classes != nullptr
                               ? static_cast<const REAL *>(
                                     medium.table)[medium_cell_at(of_class[c] & medium.mask)]
                               : (REAL)1;
            }
        });
        for_part<BESIDE>(s, first, [&](int c, int64_t i) {
            if (heat[c] != 0 && sigma[c] != 0) { /* an ambient, or the cell keeps its bits */
                cells[i] = arch_fma(sigma[c], heat[c], cell[c]);
                sum.add((double)heat[c]);
            }
        });
    });
    finish(args.d_sum, sum, scratch);
}

enum status hip_add_source(struct queue *queue, const struct add_source_args *args)
{
    const cell_sweep s = sweep_of(&args->box, SUM_BLOCKS_MOST, BESIDE, LANES_MOST);
    struct source_medium medium = {};
    if (box_is_empty(&args->box)) {
        return STATUS_OK;
    }
    if (args->medium != nullptr) {
        medium = {args->medium->layout, args->medium->d_class, args->medium->d_table,
                  args->medium->mask, args->medium->d_sigma};
    }
    if (args->d_values == nullptr && source_axis(&args->shape) != AXIS_X) {
        const columns of = columns_of(args);
        return in_precision(args->layout.precision, [&](auto real) {
            arch_launch_early(add_columns<decltype(real)>, of.nblocks, VISIT_THREADS, queue->stream,
                              of, *args, medium, changed_of(args->tiles, &args->box),
                              queue->d_scratch);
            return hip_check(hipGetLastError(), "add_columns");
        });
    }
    return in_precision(args->layout.precision, [&](auto real) {
        using REAL = decltype(real);
        const auto kernel = args->d_curve != nullptr    ? add_source<REAL, true, true>
                            : args->d_values != nullptr ? add_source<REAL, true, false>
                                                        : add_source<REAL, false, false>;
        kernel<<<s.nblocks, VISIT_THREADS, 0, queue->stream>>>(
            s, *args, medium, changed_of(args->tiles, &args->box), queue->d_scratch);
        return hip_check(hipGetLastError(), "add_source");
    });
}

/* ONE_LINE: is_line. */
template <typename REAL, bool ONE_LINE>
static __global__ __launch_bounds__(VISIT_THREADS) void sum_perfusion(const cell_sweep s,
                                                                      const grid_view<REAL> view,
                                                                      nonlinear<REAL> m,
                                                                      struct exact_sum *d_sum,
                                                                      struct hip_scratch *scratch)
{
    tally sum = {};
    const only_line<REAL> of_line(ONE_LINE ? m.segments() : nullptr);
    const REAL tissue[NONLINEAR_BLOOD + 1] = {0, 0, 0, m.numbers()[NONLINEAR_PERFUSION],
                                              m.numbers()[NONLINEAR_BLOOD]};
    visit_rows<PART>(s, [&](int64_t first, int64_t j, int64_t k) {
        REAL u[PART];
        int of_class[PART];
        for_part<PART>(s, first, [&](int c, int64_t i) {
            u[c] = view.in[view.at(i, j, k)];
            of_class[c] = ONE_LINE || m.of.n == 1 ? 0 : m.class_at(i, j, k);
        });
        for_part<PART>(s, first, [&](int c, int64_t) {
            if (ONE_LINE) {
                sum.add(nonlinear_perfusion(tissue, of_line.temperature(u[c])));
                return;
            }
            const REAL *numbers = m.numbers() + (int64_t)NONLINEAR_NUMBERS * of_class[c];
            if (numbers[NONLINEAR_PERFUSION] > 0) {
                sum.add(nonlinear_perfusion(numbers, m.temperature(of_class[c], u[c])));
            }
        });
    });
    finish(d_sum, sum, scratch);
}

enum status hip_sum_perfusion(struct queue *queue, const struct sum_perfusion_args *args)
{
    const cell_sweep s = sweep_of(&args->box, SUM_BLOCKS_MOST, PART);
    if (box_is_empty(&args->box)) {
        return STATUS_OK;
    }
    return in_precision(args->layout.precision, [&](auto real) {
        using REAL = decltype(real);
        const auto kernel =
            is_line(args->medium) ? sum_perfusion<REAL, true> : sum_perfusion<REAL, false>;
        kernel<<<s.nblocks, VISIT_THREADS, 0, queue->stream>>>(
            s, view_of<REAL>(&args->layout, nullptr, args->d_field),
            nonlinear_of<REAL>(args->medium), args->d_sum, queue->d_scratch);
        return hip_check(hipGetLastError(), "sum_perfusion");
    });
}

/* d_g and dt of the medium. */
template <typename REAL> struct stored_faces {
    const REAL *g[AXIS_COUNT];
    REAL dt;
};

template <typename REAL>
static __global__ __launch_bounds__(VISIT_THREADS) void sum_surfaces(
    const struct sum_surfaces_args args, int n, const REAL *table, const stored_faces<REAL> stored,
    struct exact_sum *d_sum, struct hip_scratch *scratch)
{
    const REAL *field = static_cast<const REAL *>(args.d_field);
    const int64_t stride = (int64_t)gridDim.x * VISIT_THREADS;
    tally sum = {};
    for (int64_t i = (int64_t)blockIdx.x * VISIT_THREADS + threadIdx.x; i < args.count;
         i += stride) {
        const int pair = args.d_pairs[i];
        const REAL ambient = table[medium_cell_at(medium_neighbour_of(n, pair)) + 1];
        const REAL warmer = ambient - field[args.d_elements[i]];
        const REAL g = args.d_faces != nullptr
                           ? stored.g[medium_axis_of(n, pair)][args.d_faces[i]] * stored.dt
                           : table[pair];
        sum.add((double)g * (double)warmer);
    }
    finish(d_sum, sum, scratch);
}

/* Of a pass of T steps, which has the temperatures in between in no memory. */
template <typename REAL, int T> struct surfaces_of_pass {
    grid_view<REAL> view;
    classes<REAL, T> kind;
    struct exact_sum *d_sum[T];

    /* A cell after the first step. */
    __device__ __forceinline__ REAL advanced(const int64_t (&cell)[AXIS_COUNT]) const
    {
        const REAL before = view.in[view.at(cell[0], cell[1], cell[2])];
        const int own = *kind.at(cell[0], cell[1], cell[2]).byte & kind.of.mask;
        return kind.of.table[medium_cell_at(own)] == 0 /* an ambient */
                   ? before
                   : advanced_in(view, kind, cell, before, [](int, double) {});
    }

    /* The same after the second one; beside: room for its neighbours. A loop, since the code of all
     * six would need too many registers. */
    __device__ __forceinline__ REAL advanced_twice(const int64_t (&cell)[AXIS_COUNT], REAL first,
                                                   REAL here, REAL (*beside)[VISIT_THREADS]) const
    {
        unsigned faces = 0;
        bool on[FACE_COUNT];
        REAL n[FACE_COUNT];
#pragma unroll
        for (int face = 0; face < FACE_COUNT; face++) {
            const int64_t last = face % 2 == 0 ? 0 : view.cells[face / 2] - 1;
            on[face] = kind.closed[face] && cell[face / 2] == last;
            faces |= on[face] ? 1U << face : 0U;
        }
#pragma unroll 1
        for (int face = 0; face < FACE_COUNT; face++) {
            const int step = face % 2 == 0 ? -1 : 1;
            const int64_t at[AXIS_COUNT] = {cell[0] + (face / 2 == 0 ? step : 0),
                                            cell[1] + (face / 2 == 1 ? step : 0),
                                            cell[2] + (face / 2 == 2 ? step : 0)};
            beside[face][threadIdx.x] = (faces >> face & 1) != 0 ? here : advanced(at);
        }
#pragma unroll
        for (int face = 0; face < FACE_COUNT; face++) {
            n[face] = beside[face][threadIdx.x];
        }
        return kind.advance(1, kind.at(cell[0], cell[1], cell[2]), on,
                            kind.corrected(1) ? first : here, here, n, [](int, double) {});
    }
};

template <typename REAL, int T>
static __global__ __launch_bounds__(VISIT_THREADS) void sum_surfaces_of_pass(
    const struct sum_surfaces_args args, const surfaces_of_pass<REAL, T> of,
    struct hip_scratch *scratch)
{
    __shared__ REAL beside[T > 2 ? FACE_COUNT : 1][VISIT_THREADS];
    const int64_t *at = args.d_elements;
    const int64_t stride = (int64_t)gridDim.x * VISIT_THREADS;
    tally sums[T] = {};
    for (int64_t i = (int64_t)blockIdx.x * VISIT_THREADS + threadIdx.x; i < args.count;
         i += stride) {
        if (i > 0 && at[i - 1] == at[i]) {
            continue;
        }
        const int64_t place = at[i] - args.layout.origin;
        const int64_t k = place / of.view.pitch_z;
        const int64_t j = (place - k * of.view.pitch_z) / of.view.pitch_y;
        const int64_t cell[AXIS_COUNT] = {place - k * of.view.pitch_z - j * of.view.pitch_y, j, k};
        REAL before[T] = {of.view.in[place]};
        before[1] = of.advanced(cell);
        if constexpr (T > 2) {
            before[2] = of.advanced_twice(cell, before[0], before[1], beside);
        }
        for (int64_t f = i; f < args.count && at[f] == at[i]; f++) {
            const int pair = args.d_pairs[f];
            const int64_t ambient = medium_cell_at(medium_neighbour_of(of.kind.of.n, pair)) + 1;
#pragma unroll
            for (int l = 0; l < T; l++) {
                const REAL *table = of.kind.table[l];
                sums[l].add((double)table[pair] * (double)(REAL)(table[ambient] - before[l]));
            }
        }
    }
#pragma unroll
    for (int l = 0; l < T; l++) {
        __syncthreads(); /* add_block has one place */
        add_block(of.d_sum[l], sums[l]);
    }
    if (is_last_block(scratch)) {
        for (int l = 0; l < T; l++) {
            face_sum_normalise(of.d_sum[l]);
        }
    }
}

template <typename REAL, int T>
static enum status sum_pass(struct queue *queue, const struct sum_surfaces_args *args,
                            unsigned nblocks)
{
    surfaces_of_pass<REAL, T> of = {view_of<REAL>(&args->layout, nullptr, args->d_field),
                                    classes_of<REAL, T>(args->levels)};
    for (int l = 0; l < T; l++) {
        of.d_sum[l] = args->levels[l].d_surface_sum;
    }
    sum_surfaces_of_pass<<<nblocks, VISIT_THREADS, 0, queue->stream>>>(*args, of, queue->d_scratch);
    return hip_check(hipGetLastError(), "sum_surfaces_of_pass");
}

enum status hip_sum_surfaces(struct queue *queue, const struct sum_surfaces_args *args)
{
    const int64_t wanted = (args->count + VISIT_THREADS - 1) / VISIT_THREADS;
    const unsigned nblocks =
        (unsigned)(wanted < SURFACE_BLOCKS_MOST ? wanted : SURFACE_BLOCKS_MOST);
    if (args->count == 0) {
        return STATUS_OK;
    }
    return in_precision(args->layout.precision, [&](auto real) {
        using REAL = decltype(real);
        if (args->nsteps > 1) {
            return args->nsteps == 2 ? sum_pass<REAL, 2>(queue, args, nblocks)
                                     : sum_pass<REAL, HIP_STEPS_OF_CLASSES>(queue, args, nblocks);
        }
        const struct device_medium *m = &args->levels->medium;
        const stored_faces<REAL> stored = {{static_cast<const REAL *>(m->d_g[AXIS_X]),
                                            static_cast<const REAL *>(m->d_g[AXIS_Y]),
                                            static_cast<const REAL *>(m->d_g[AXIS_Z])},
                                           (REAL)m->dt};
        sum_surfaces<REAL><<<nblocks, VISIT_THREADS, 0, queue->stream>>>(
            *args, m->nclasses, static_cast<const REAL *>(m->d_table), stored,
            args->levels->d_surface_sum, queue->d_scratch);
        return hip_check(hipGetLastError(), "sum_surfaces");
    });
}

template <typename REAL>
static __global__ __launch_bounds__(VISIT_THREADS) void exchange_surfaces(
    const struct exchange_surfaces_args args, struct hip_scratch *scratch)
{
    const int64_t *at = args.d_elements;
    const int64_t stride = (int64_t)gridDim.x * VISIT_THREADS;
    tally total = {};
    uint32_t bits = 0;
    for (int64_t i = (int64_t)blockIdx.x * VISIT_THREADS + threadIdx.x; i < args.count;
         i += stride) {
        if (i > 0 && at[i - 1] == at[i]) {
            continue;
        }
        REAL *cell = static_cast<REAL *>(args.d_out) + at[i];
        const double inside = (double)static_cast<const REAL *>(args.d_in)[at[i]];
        double sum = 0;
        for (int64_t f = i; f < args.count && at[f] == at[i]; f++) {
            const struct surface_face *face = &args.d_faces[f];
            sum +=
                face->surface < 0 ? 0 : surface_face_heat(face, args.d_exchanges, args.dt, inside);
        }
        const REAL heat = (REAL)sum;
        const REAL before = *cell;
        const REAL after = arch_fma((REAL)args.d_faces[i].sigma, heat, before);
        *cell = after;
        bits += bits_in(after) - bits_in(before);
        total.add((double)heat);
    }
    if (args.d_bits != nullptr) {
        add_bits_of_wave(args.d_bits, bits);
    }
    if (args.d_sum != nullptr) {
        finish(args.d_sum, total, scratch);
    }
}

enum status hip_exchange_surfaces(struct queue *queue, const struct exchange_surfaces_args *args)
{
    const int64_t wanted = (args->count + VISIT_THREADS - 1) / VISIT_THREADS;
    const unsigned nblocks = (unsigned)(wanted < SUM_BLOCKS_MOST ? wanted : SUM_BLOCKS_MOST);
    return in_precision(args->precision, [&](auto real) {
        using REAL = decltype(real);
        exchange_surfaces<REAL>
            <<<nblocks, VISIT_THREADS, 0, queue->stream>>>(*args, queue->d_scratch);
        return hip_check(hipGetLastError(), "exchange_surfaces");
    });
}
