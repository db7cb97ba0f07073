/* The largest difference of two fields, of which one is first advanced, in the ring: in a uniform
 * medium, and in one of classes. */
#include "kernels/hip/field/extremes.h"
#include "kernels/hip/schedule/ring/classes_workers.h"
#include "kernels/hip/schedule/ring/uniform_worker.h"

#if ARCH_HAS_TILE_COPY

template <typename S> struct of_two_fields : S {
    static constexpr int FIELDS = 2;
    static constexpr bool SUMS = false;
};

/* As march: `view` and the first field of a stage are of a, the second one is of b. FIELD: 0 of a,
 * 1 of b. Between waits a thread keeps one plane of either. A worker has
 *   wait(ring)                      as there
 *   begin(first), next(above)       the stages of the first plane, and of the one above the next
 *                                   that is advanced
 *   beyond_of<FIELD>(...)           as beyond
 *   advance_of<FIELD>(now, z, out)  as advance, of b and then of a */
template <typename S, typename WORKER>
static __device__ __forceinline__ void march_both(const grid_view<typename S::REAL> &view,
                                                  const bool (&closed)[FACE_COUNT], WORKER &&my,
                                                  stage_ring<S> &ring, const work &w,
                                                  const place<S> &p, const column &c,
                                                  extremes &found)
{
    typedef typename S::REAL REAL;
    const int z_max = closed[FACE_Z_MAX] ? (int)view.cells[2] - 1 : -1;
    const int b = w.field_cells;
    cells_of<S> z[3], z_b[3];
    my.wait(ring);
    const stage_ring<S> first = ring;
    REAL *const below = first.stage();
    ring.next();
    my.wait(ring);
    my.begin(below);
    my.next(ring.stage());
    z[0] = own_cells<S>(below, p);
    z_b[0] = own_cells<S>(below + b, p);
    if (closed[FACE_Z_MIN] && c.k_begin == 0) {
        const cells_of<S> inside = own_cells<S>(ring.stage(), p);
        const cells_of<S> inside_b = own_cells<S>(ring.stage() + b, p);
        z[0] = my.template beyond_of<0>(FACE_Z_MIN, 0, inside, ring.stage(), below);
        z_b[0] = my.template beyond_of<1>(FACE_Z_MIN, 0, inside_b, ring.stage(), below);
    }
    first.release();
    for (int k = c.k_begin; k < c.k_end; k++) {
        const stage_ring<S> now = ring;
        ring.next();
        my.wait(ring);
        REAL *const here = now.stage();
        REAL *const above = ring.stage();
        my.next(above);
        z_b[1] = own_cells<S>(here + b, p);
        z_b[2] = own_cells<S>(above + b, p);
        if (k == z_max) {
            z_b[2] = my.template beyond_of<1>(FACE_Z_MAX, k, z_b[1], here, above);
        }
        cells_of<S> out = z_b[1];
        my.template advance_of<1>(here, z_b, out);
        z_b[0] = z_b[1];
        z[1] = own_cells<S>(here, p);
        z[2] = own_cells<S>(above, p);
        if (k == z_max) {
            z[2] = my.template beyond_of<0>(FACE_Z_MAX, k, z[1], here, above);
        }
        my.template advance_of<0>(here, z, out);
        now.release();
        found.see_all(p, z[1], out);
        z[0] = z[1];
    }
    ring.release();
    ring.next();
}

/* step[0]: of b; step[1]: of a, after it. */
template <typename S> struct compare_uniform : ring_kind<S> {
    typedef typename S::REAL REAL;
    uniform<REAL, 1> step[2];
    const REAL *other; /* b */
    unsigned long long *keys;

    template <bool SIDES> struct worker {
        uniform_worker<S, SIDES> of[2];
        int field_cells;

        __device__ __forceinline__ void wait(const stage_ring<S> &ring) const
        {
            ring.wait();
        }
        __device__ __forceinline__ void begin(const REAL *) const
        {
        }
        __device__ __forceinline__ void next(const REAL *) const
        {
        }
        template <int FIELD>
        __device__ __forceinline__ cells_of<S> beyond_of(int face, int k, const cells_of<S> &inside,
                                                         const REAL *from, REAL *to) const
        {
            return of[FIELD].beyond(face, k, inside, from, to);
        }
        template <int FIELD>
        __device__ __forceinline__ void advance_of(const REAL *now, const cells_of<S> (&z)[3],
                                                   cells_of<S> &out) const
        {
            of[FIELD].advance(now + FIELD * field_cells, nullptr, z, out);
        }
    };
    template <bool SIDES>
    __device__ __forceinline__ worker<SIDES> worker_of(const work &w, const place<S> &p) const
    {
        return {{{step[1], p}, {step[0], p}}, w.field_cells};
    }

    __device__ __forceinline__ void advance(const grid_view<REAL> &view, char *, stage_ring<S> ring,
                                            const work &w) const
    {
        extremes found;
        const bool(&closed)[FACE_COUNT] = step[1].closed;
        for (int item = blockIdx.x; item < w.items; item += (int)gridDim.x) {
            const column c = column_of<S>(w, item);
            const place<S> p = place_of<S>(view, closed, w, c);
            if (closed_sides<S>(view, closed, w, c) != 0) {
                march_both<S>(view, closed, worker_of<true>(w, p), ring, w, p, c, found);
            } else {
                march_both<S>(view, closed, worker_of<false>(w, p), ring, w, p, c, found);
            }
        }
        found.raise(keys);
    }
};

/* The same of classes. Behind the ring are the table of a, whose g are also those of b, and sigma
 * and q of b. */
template <typename S> struct compare_classes : ring_kind<S> {
    typedef typename S::REAL REAL;
    classes<REAL, 1> step[2];
    int numbers; /* of the table of a; even */
    const REAL *other;
    unsigned long long *keys;

    struct worker : classes_worker<S> {
        typedef classes_worker<S> plain;
        const medium<REAL> &medium_b;
        class_pairs<REAL> pairs_b;
        words_of<S> above;
        bool inside;

        __device__ __forceinline__ void begin(const REAL *first)
        {
            above = own_classes<S>(this->classes_in(first));
        }
        __device__ __forceinline__ void next(const REAL *stage)
        {
            this->below = this->words;
            this->words = above;
            above = own_classes<S>(this->classes_in(stage));
            inside = this->is_inside();
        }
        template <int FIELD>
        __device__ __forceinline__ cells_of<S> beyond_of(int face, int k, const cells_of<S> &,
                                                         const REAL *from, REAL *to) const
        {
            const int field = FIELD * this->w.field_cells;
            return this->beyond_in(FIELD == 0 ? this->m : medium_b, face, k, this->classes_in(from),
                                   from + field, to + field);
        }
        template <int FIELD>
        __device__ __forceinline__ void advance_of(const REAL *now, const cells_of<S> (&z)[3],
                                                   cells_of<S> &out)
        {
            const REAL *const field = now + FIELD * this->w.field_cells;
            const class_pairs<REAL> &of = FIELD == 0 ? this->of : pairs_b;
            if (inside) {
                this->advance_inside(field, of.of(this->class_of(this->r.all, 0)), z, out);
            } else {
                this->advance_between(field, this->classes_in(now), of, above, z, out);
            }
        }
    };

    __device__ __forceinline__ void prepare(char *shared, const work &w) const
    {
        REAL *const cells = reinterpret_cast<REAL *>(shared + w.ring_bytes) + numbers;
        for (int at = (int)threadIdx.x; at < 2 * step[0].of.n; at += (int)blockDim.x) {
            cells[at] = step[0].of.table[at];
        }
        prepare_classes<S>(shared, w, step[1].of.table, numbers);
    }

    __device__ __forceinline__ void advance(const grid_view<REAL> &view, char *shared,
                                            stage_ring<S> ring, const work &w) const
    {
        const medium<REAL> &m = step[1].of;
        const bool(&closed)[FACE_COUNT] = step[1].closed;
        const class_pairs<REAL> of =
            pairs_of(reinterpret_cast<const REAL *>(shared + w.ring_bytes), m.n, m.same_axes);
        class_pairs<REAL> of_b = of;
        of_b.table += numbers;
        for (int axis = 0; axis < AXIS_COUNT; axis++) {
            of_b.from[axis] -= numbers;
        }
        const int offset =
            class_at<S>(w, (int)threadIdx.x % S::WIDE * S::N, (int)threadIdx.x / S::WIDE * S::ROWS);
        extremes found;
        for (int item = blockIdx.x; item < w.items; item += (int)gridDim.x) {
            const column c = column_of<S>(w, item);
            const place<S> p = place_of<S>(view, closed, w, c);
            const bool sides = closed_sides<S>(view, closed, w, c) != 0;
            march_both<S>(
                view, closed,
                worker{{{sides}, m, of, w, p, offset, bytes_in_box<S>(p), nullptr, nullptr},
                       step[0].of,
                       of_b},
                ring, w, p, c, found);
        }
        found.raise(keys);
    }
    __device__ __forceinline__ void close(const grid_view<REAL> &view, const face_sums &sums,
                                          const stage_ring<S> &ring, const work &w, int wave) const
    {
        if (wave == 0) { /* no index: the kinds would be copied to local memory */
            close_all<S>(view, step[1], sums, ring, w, 0);
        } else {
            close_all<S>(view, step[0], sums, ring, w, 1);
        }
    }
};

template <typename KIND>
static hipError_t launch_compare(const ring_call &call, const struct compare_args *args, KIND &kind,
                                 int bytes)
{
    kind.other = static_cast<const typename KIND::REAL *>(args->d_b) + args->layout.origin;
    kind.keys = reinterpret_cast<unsigned long long *>(args->d_keys);
    return launch(call, kind, bytes);
}

template <typename REAL>
static hipError_t launch_compare(struct hip_step *step, const struct compare_args *args)
{
    constexpr int SUBTILES = 8 / (int)sizeof(REAL);
    const struct device_medium *medium = &args->levels->medium;
    if (args->levels->kind == KIND_UNIFORM) {
        compare_uniform<of_two_fields<shape<REAL, SUBTILES, 128, 16, 4, 1>>> kind = {};
        for (int s = 0; s < 2; s++) {
            kind.step[s] = uniform_of<REAL, 1>(&args->levels[s]);
        }
        return launch_compare(ring_call{step, step->boxes, false}, args, kind, 0);
    }
    compare_classes<of_two_fields<shape<REAL, SUBTILES, 128, 16, 4, 1, 2, true>>> kind = {};
    for (int s = 0; s < 2; s++) {
        kind.step[s] = classes_of<REAL, 1>(&args->levels[s]);
    }
    kind.numbers = (medium_numbers(medium) + 1) / 2 * 2;
    const int bytes = (kind.numbers + 2 * medium->nclasses) * (int)sizeof(REAL);
    return launch_compare(ring_call{step, step->boxes, false}, args, kind, bytes);
}

hipError_t hip_launch_compare_ring(struct hip_step *step, const struct compare_args *args)
{
    return args->layout.precision == PRECISION_FLOAT64 ? launch_compare<double>(step, args)
                                                       : launch_compare<float>(step, args);
}

#else

hipError_t hip_launch_compare_ring(struct hip_step *, const struct compare_args *)
{
    return hipErrorNotSupported;
}

#endif
