/* Samples of a field: single cells, derived fields, and the heat flux. */
/* first: it defines KERNEL_INLINE */
#include "kernels/hip/kind/enthalpy.h"

#include "kernels/cell/derived_cell.h"
#include "kernels/class_summary.h"
#include "kernels/hip/device/visit.h"

template <typename CELL>
static __global__ __launch_bounds__(VISIT_THREADS) void gather_cells(const struct gather_args args,
                                                                     const nonlinear<CELL> m)
{
    const int64_t n = (int64_t)blockIdx.x * VISIT_THREADS + threadIdx.x;
    if (n < args.count) {
        CELL value = static_cast<const CELL *>(args.d_field)[args.d_elements[n]];
        if (args.medium != nullptr) {
            value = m.temperature(m.of.classes[args.d_classes[n]] & m.of.mask, value);
        }
        static_cast<CELL *>(args.d_values)[n] = value;
    }
}

enum status hip_gather(struct queue *queue, const struct gather_args *args)
{
    const unsigned nblocks = (unsigned)((args->count + VISIT_THREADS - 1) / VISIT_THREADS);
    if (args->count == 0) {
        return STATUS_OK;
    }
    return in_precision(args->precision, [&](auto cell) {
        using CELL = decltype(cell);
        nonlinear<CELL> m = {};
        if (args->medium != nullptr) {
            m = nonlinear_of<CELL>(args->medium);
            m.of.classes = args->medium->d_class; /* from its first byte */
        }
        gather_cells<CELL><<<nblocks, VISIT_THREADS, 0, queue->stream>>>(*args, m);
        return hip_check(hipGetLastError(), "gather");
    });
}

enum { PART = 2 }; /* cells of a row that a thread reads at a time */

/* The highest temperature and the dose, the usual ones, in registers: read before others are
 * written. ONE_LINE: is_line. */
template <typename REAL, bool ONE_LINE>
static __global__ __launch_bounds__(VISIT_THREADS) void track_cells(const cell_sweep s,
                                                                    const struct track_args args,
                                                                    const nonlinear<REAL> m)
{
    double *const all_highest = args.sample.d_kept[TRACK_HIGHEST];
    double *const all_dose = args.sample.d_kept[TRACK_DOSE];
    const only_line<REAL> of_line(ONE_LINE ? m.segments() : nullptr);
    visit_rows<PART>(s, [&](int64_t first, int64_t j, int64_t k) {
        const REAL *row =
            static_cast<const REAL *>(args.d_field) + element_at(args.layout, 0, j, k);
        const int64_t kept = element_at(args.kept, 0, j, k);
        REAL value[PART];
        double highest[PART];
        double dose[PART];
        for_part<PART>(s, first, [&](int c, int64_t i) {
            value[c] = row[i];
            highest[c] = all_highest != nullptr ? all_highest[kept + i] : 0;
            dose[c] = all_dose != nullptr ? all_dose[kept + i] : 0;
        });
        for_part<PART>(s, first, [&](int c, int64_t i) {
            if (ONE_LINE) {
                value[c] = of_line.temperature(value[c]);
            } else if (args.medium != nullptr) {
                value[c] = m.temperature(m.of.n == 1 ? 0 : m.class_at(i, j, k), value[c]);
            }
            const double before = highest[c];
            struct track_sample here = args.sample;
            struct track_sample others = args.sample;
            for (int kind = 0; kind < TRACK_COUNT; kind++) {
                here.d_kept[kind] = nullptr;
            }
            here.d_kept[TRACK_HIGHEST] = highest;
            here.d_kept[TRACK_DOSE] = dose;
            others.d_kept[TRACK_HIGHEST] = others.d_kept[TRACK_DOSE] = nullptr;
            derived_track(&here, c, (double)value[c]);
            derived_track(&others, kept + i, (double)value[c]);
            if (all_highest != nullptr && highest[c] != before) { /* true of NaN */
                all_highest[kept + i] = highest[c];
            }
            if (all_dose != nullptr) {
                all_dose[kept + i] = dose[c];
            }
        });
    });
}

enum status hip_track(struct queue *queue, const struct track_args *args)
{
    const struct box owned = layout_owned(&args->layout);
    const cell_sweep s = sweep_of(&owned, VISIT_BLOCKS_MOST, PART);
    return in_precision(args->layout.precision, [&](auto real) {
        using REAL = decltype(real);
        const nonlinear<REAL> m =
            args->medium != nullptr ? nonlinear_of<REAL>(args->medium) : nonlinear<REAL>{};
        const bool is_of_line = args->medium != nullptr && is_line(args->medium);
        const auto kernel = is_of_line ? track_cells<REAL, true> : track_cells<REAL, false>;
        kernel<<<s.nblocks, VISIT_THREADS, 0, queue->stream>>>(s, *args, m);
        return hip_check(hipGetLastError(), "track");
    });
}

/* The neighbour across a face; the outside value if the face is closed. */
template <typename REAL>
static __device__ __forceinline__ double neighbour(const struct coefficients &around,
                                                   const REAL *cell, int64_t step, int face,
                                                   bool at_face)
{
    return at_face && around.closed[face]
               ? heat_outside_float64((double)*cell, around.a[face], around.b[face])
               : (double)cell[step];
}

template <typename REAL> struct flux_cell {
    struct flux_squared_args args;
    struct coefficients around;
    __device__ void operator()(int64_t i, int64_t j, int64_t k) const
    {
        const struct layout &layout = args.layout;
        const int64_t *n = layout.cells;
        const int64_t sy = layout.pitch_y;
        const int64_t sz = layout.pitch_z;
        const REAL *cell = static_cast<const REAL *>(args.d_field) + element_at(layout, i, j, k);
        args.d_flux[element_at(args.kept, i, j, k)] =
            derived_flux_squared(neighbour(around, cell, -1, FACE_X_MIN, i == 0),
                                 neighbour(around, cell, 1, FACE_X_MAX, i == n[AXIS_X] - 1),
                                 neighbour(around, cell, -sy, FACE_Y_MIN, j == 0),
                                 neighbour(around, cell, sy, FACE_Y_MAX, j == n[AXIS_Y] - 1),
                                 neighbour(around, cell, -sz, FACE_Z_MIN, k == 0),
                                 neighbour(around, cell, sz, FACE_Z_MAX, k == n[AXIS_Z] - 1),
                                 args.scale[AXIS_X], args.scale[AXIS_Y], args.scale[AXIS_Z]);
    }
};

/* The conductances g between a cell, which is returned, and its neighbours; of an enthalpy, n
 * becomes the differences to a cell of 0 K. */
template <typename REAL>
static __device__ double around(const classes<REAL, 1> &kind, const class_place &place,
                                const bool (&on)[FACE_COUNT], REAL c, REAL (&n)[FACE_COUNT],
                                REAL (&g)[FACE_COUNT])
{
    for (int face = 0; face < FACE_COUNT; face++) {
        n[face] = on[face] ? kind.beyond(0, place, face, c) : n[face];
    }
    conduct_around(kind.of, place, g);
    return (double)c;
}

template <typename REAL>
static __device__ double around(const enthalpy<REAL> &kind, const class_place &place,
                                const bool (&on)[FACE_COUNT], REAL c, REAL (&n)[FACE_COUNT],
                                REAL (&g)[FACE_COUNT])
{
    nonlinear_around(kind.of, place, on, c, n, g, n, [](int, double) {});
    return 0;
}

/* The same in a medium of classes. */
template <typename REAL, typename KIND> struct flux_in_medium {
    struct flux_squared_args args;
    grid_view<REAL> view;
    KIND kind;
    __device__ void operator()(int64_t i, int64_t j, int64_t k) const
    {
        const int64_t cell[AXIS_COUNT] = {i, j, k};
        bool on[FACE_COUNT];
        REAL n[FACE_COUNT];
        REAL g[FACE_COUNT];
        read_around(view, kind.closed, cell, on, n);
        const double c = around(kind, kind.at(i, j, k), on, view.in[view.at(i, j, k)], n, g);
        double along[AXIS_COUNT];
        for (int a = 0; a < AXIS_COUNT; a++) {
            along[a] = derived_flux_between(c, (double)n[2 * a], (double)n[2 * a + 1],
                                            (double)g[2 * a], (double)g[2 * a + 1], args.scale[a]);
        }
        args.d_flux[element_at(args.kept, i, j, k)] = derived_square(along[0], along[1], along[2]);
    }
};

template <typename REAL, typename KIND>
static enum status visit_medium(struct queue *queue, const struct flux_squared_args *args,
                                const KIND &kind)
{
    return visit(queue, layout_owned(&args->layout),
                 flux_in_medium<REAL, KIND>{
                     *args, view_of<REAL>(&args->layout, nullptr, args->d_field), kind},
                 "flux_squared");
}

enum status hip_flux_squared(struct queue *queue, const struct flux_squared_args *args)
{
    const struct coefficients *around = args->around;
    return in_precision(args->layout.precision, [&](auto real) {
        using REAL = decltype(real);
        if (around->kind == KIND_ENTHALPY) {
            return visit_medium<REAL>(queue, args, enthalpy_of<REAL>(around));
        }
        if (around->kind == KIND_CLASSES) {
            return visit_medium<REAL>(queue, args, classes_of<REAL, 1>(around));
        }
        return visit(queue, layout_owned(&args->layout), flux_cell<REAL>{*args, *around},
                     "flux_squared");
    });
}
