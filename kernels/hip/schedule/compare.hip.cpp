/* The largest difference of two fields, of which one is first advanced: by a step kernel, and then
 * cell by cell, or in the ring for large fields of a uniform medium and of classes. */
#include "kernels/hip/device/visit.h"
#include "kernels/hip/field/extremes.h"
#include "kernels/hip/kind/enthalpy.h"
#include "kernels/hip/kind/graded.h"

/* a, and b, to which the rates of a are added with ADVANCES. */
template <typename REAL, typename KIND, bool ADVANCES> struct compared {
    grid_view<REAL> a;
    const REAL *b;
    KIND kind;
    unsigned long long *keys;

    __device__ __forceinline__ REAL advanced(const int64_t (&cell)[AXIS_COUNT], int64_t at) const
    {
        if constexpr (ADVANCES) {
            return advanced_in(a, kind, cell, b[at], [](int, double) {});
        } else {
            return b[at];
        }
    }
};

template <typename REAL, typename KIND, bool ADVANCES>
static __global__ __launch_bounds__(VISIT_THREADS) void compare_cells(
    const cell_sweep s, const compared<REAL, KIND, ADVANCES> of)
{
    extremes found;
    visit_cells(s, [&](int64_t i, int64_t j, int64_t k) {
        const int64_t at = of.a.at(i, j, k);
        found.see((double)of.a.in[at], (double)of.advanced({i, j, k}, at));
    });
    found.raise(of.keys);
}

template <bool ADVANCES, typename REAL, typename KIND>
static enum status launch(struct queue *queue, const struct compare_args *args, REAL,
                          const KIND &kind)
{
    enum { BLOCKS = 4096 }; /* many cells each: their keys are merged one by one */
    const struct box owned = layout_owned(&args->layout);
    const cell_sweep s = sweep_of(&owned, BLOCKS);
    const void *d_b = ADVANCES ? args->d_work : args->d_b;
    const compared<REAL, KIND, ADVANCES> of = {
        view_of<REAL>(&args->layout, nullptr, args->d_a),
        static_cast<const REAL *>(d_b) + args->layout.origin, kind,
        reinterpret_cast<unsigned long long *>(args->d_keys)};
    compare_cells<<<s.nblocks, VISIT_THREADS, 0, queue->stream>>>(s, of);
    return hip_check(hipGetLastError(), "compare");
}

/* `last`: the step that corrects. */
template <typename REAL>
static enum status launch_kind(struct queue *queue, const struct compare_args *args,
                               const struct coefficients *last, REAL real)
{
    switch (last->kind) {
    case KIND_CLASSES:
        return launch<true>(queue, args, real, classes_of<REAL, 1>(last));
    case KIND_FACES:
        return launch<true>(queue, args, real, faces_of<REAL>(last));
    case KIND_GRADED:
        return launch<true>(queue, args, real, graded_of<REAL>(last));
    case KIND_ENTHALPY:
        return launch<true>(queue, args, real, enthalpy_of<REAL>(last));
    case KIND_UNIFORM:
        return launch<true>(queue, args, real, uniform_of<REAL, 1>(last));
    default:
        return hip_check(hipErrorNotSupported, "compare of high order");
    }
}

/* Tables of classes are in shared memory, with one g. */
static bool ring_takes(const struct compare_args *args, const struct step_args *last,
                       const struct box *owned)
{
    const struct layout *l = &args->layout;
    const struct coefficients *levels = args->levels;
    const int64_t vector = 16 / (int64_t)precision_bytes(l->precision);
    return (l->origin | l->pitch_y | l->pitch_z) % vector == 0 && hip_step_staged_takes(l, owned) &&
           (levels->kind == KIND_UNIFORM ||
            (levels->kind == KIND_CLASSES &&
             levels[0].medium.dt_number == levels[1].medium.dt_number &&
             hip_step_medium_corrects(last, owned)));
}

/* Step s without sums over faces. */
static struct step_args step_of(const struct compare_args *args, int s,
                                struct coefficients *coefficients)
{
    struct step_args step = {};
    *coefficients = args->levels[s];
    memset(coefficients->d_face_sum, 0, sizeof coefficients->d_face_sum);
    step.layout = args->layout;
    step.levels = coefficients;
    step.nsteps = 1;
    step.d_in = s == 0 ? args->d_b : args->d_a;
    step.d_out = args->d_work;
    return step;
}

enum status hip_compare(struct queue *queue, const struct compare_args *args)
{
    const struct box owned = layout_owned(&args->layout);
    struct coefficients half, whole;
    if (args->nsteps == 0) {
        return in_precision(args->layout.precision, [&](auto real) {
            return launch<false>(queue, args, real, uniform<decltype(real), 1>{});
        });
    }
    struct step_args first = step_of(args, 0, &half);
    const struct step_args last = step_of(args, 1, &whole);
    struct hip_step step = hip_step_on(queue, &last);
    step.boxes = &owned;
    if (ring_takes(args, &last, &owned)) {
        return hip_check(hip_launch_compare_ring(&step, args), "compare");
    }
    first.boxes = &owned;
    first.nboxes = 1;
    TRY(hip_step(queue, &first));
    return in_precision(args->layout.precision,
                        [&](auto real) { return launch_kind(queue, args, &whole, real); });
}
