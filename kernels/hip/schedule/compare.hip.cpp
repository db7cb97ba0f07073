/* The largest difference of two fields, of which one is first advanced, cell by cell; see
 * ring/compare.hip.cpp for large uniform fields. */
#include "kernels/hip/device/visit.h"
#include "kernels/hip/field/extremes.h"
#include "kernels/hip/kind/enthalpy.h"

/* a, and b advanced by STEPS steps of a kind, 0 or 2. */
template <typename REAL, typename KIND, int STEPS> struct compared {
    grid_view<REAL> a, b;
    KIND kind[2];
    unsigned long long *keys;

    __device__ __forceinline__ REAL advanced(const int64_t (&cell)[AXIS_COUNT], int64_t at) const
    {
        if constexpr (STEPS == 0) {
            return b.in[at];
        } else {
            const auto no_term = [](int, double) {};
            const REAL half = advanced_in(b, kind[0], cell, b.in[at], no_term);
            return advanced_in(a, kind[1], cell, half, no_term);
        }
    }
};

template <typename REAL, typename KIND, int STEPS>
static __global__ __launch_bounds__(VISIT_THREADS) void compare_cells(
    const cell_sweep s, const compared<REAL, KIND, STEPS> of)
{
    extremes found;
    visit_cells(s, [&](int64_t i, int64_t j, int64_t k) {
        const int64_t at = of.a.at(i, j, k);
        found.see((double)of.a.in[at], (double)of.advanced({i, j, k}, at));
    });
    found.raise(of.keys);
}

template <int STEPS, typename REAL, typename KIND>
static enum status launch(struct queue *queue, const struct compare_args *args, REAL,
                          const KIND &first, const KIND &second)
{
    enum { BLOCKS = 4096 }; /* many cells each: their keys are merged one by one */
    const struct box owned = layout_owned(&args->layout);
    const cell_sweep s = sweep_of(&owned, BLOCKS);
    const compared<REAL, KIND, STEPS> of = {view_of<REAL>(&args->layout, nullptr, args->d_a),
                                            view_of<REAL>(&args->layout, nullptr, args->d_b),
                                            {first, second},
                                            reinterpret_cast<unsigned long long *>(args->d_keys)};
    compare_cells<<<s.nblocks, VISIT_THREADS, 0, queue->stream>>>(s, of);
    return hip_check(hipGetLastError(), "compare");
}

template <typename REAL>
static enum status launch_kind(struct queue *queue, const struct compare_args *args, REAL real)
{
    const struct coefficients *levels = args->levels;
    if (args->nsteps == 0) {
        return launch<0>(queue, args, real, uniform<REAL, 1>{}, {});
    }
    switch (levels->kind) {
    case KIND_CLASSES:
        return launch<2>(queue, args, real, classes_of<REAL, 1>(levels),
                         classes_of<REAL, 1>(levels + 1));
    case KIND_ENTHALPY:
        return launch<2>(queue, args, real, enthalpy_of<REAL>(levels),
                         enthalpy_of<REAL>(levels + 1));
    case KIND_UNIFORM:
        return launch<2>(queue, args, real, uniform_of<REAL, 1>(levels),
                         uniform_of<REAL, 1>(levels + 1));
    default:
        return hip_check(hipErrorNotSupported, "compare of high order");
    }
}

static bool ring_takes(const struct compare_args *args, const struct box *owned)
{
    const struct layout *l = &args->layout;
    const int64_t vector = 16 / (int64_t)precision_bytes(l->precision);
    return args->nsteps == 2 && args->levels->kind == KIND_UNIFORM &&
           (l->origin | l->pitch_y | l->pitch_z) % vector == 0 && hip_step_staged_takes(l, owned);
}

enum status hip_compare(struct queue *queue, const struct compare_args *args)
{
    const struct box owned = layout_owned(&args->layout);
    if (ring_takes(args, &owned)) {
        struct step_args of_ring = {};
        of_ring.layout = args->layout;
        of_ring.levels = &args->levels[1];
        of_ring.d_in = args->d_a;
        struct hip_step step = hip_step_on(queue, &of_ring);
        step.boxes = &owned;
        return hip_check(hip_launch_compare_ring(&step, args), "compare");
    }
    return in_precision(args->layout.precision,
                        [&](auto real) { return launch_kind(queue, args, real); });
}
