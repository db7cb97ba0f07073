/* The largest difference of two fields, of which one is first advanced, in the ring: in a uniform
 * medium. */
#include "kernels/hip/field/extremes.h"
#include "kernels/hip/schedule/ring/uniform_worker.h"

#if ARCH_HAS_TILE_COPY

template <typename S> struct of_two_fields : S {
    static constexpr int FIELDS = 2;
    static constexpr bool SUMS = false;
};

/* `view` and the first field of a stage are of a, the second one is of b. */
template <typename S> struct ring_of_compare : ring_kind<S> {
    typedef typename S::REAL REAL;
    uniform<REAL, 1> of_b, of_a; /* the steps, in this order */
    const REAL *other;           /* b */
    unsigned long long *keys;

    /* The cells of a worker in a field, from plane to plane. */
    template <bool SIDES> struct planes {
        uniform_worker<S, SIDES> my;
        int at; /* of the field in a stage */
        cells_of<S> z[3];

        __device__ __forceinline__ void read(const REAL *stage, int plane)
        {
            z[plane] = own_cells<S>(stage + at, my.p);
        }
        __device__ __forceinline__ void close(int face, int plane)
        {
            z[plane] = my.beyond(face, 0, z[1], nullptr, nullptr);
        }
        __device__ __forceinline__ void next()
        {
            z[0] = z[1];
            z[1] = z[2];
        }
    };

    template <bool SIDES>
    __device__ __forceinline__ void march_both(const grid_view<REAL> &view, stage_ring<S> &ring,
                                               const work &w, const column &c, const place<S> &p,
                                               extremes &found) const
    {
        const int z_max = of_a.closed[FACE_Z_MAX] ? (int)view.cells[2] - 1 : -1;
        planes<SIDES> a = {{of_a, p}, 0, {}};
        planes<SIDES> b = {{of_b, p}, w.class_cells, {}};
        ring.wait();
        const stage_ring<S> first = ring;
        a.read(first.stage(), 0);
        b.read(first.stage(), 0);
        ring.next();
        ring.wait();
        a.read(ring.stage(), 1);
        b.read(ring.stage(), 1);
        if (of_a.closed[FACE_Z_MIN] && c.k_begin == 0) {
            a.close(FACE_Z_MIN, 0);
            b.close(FACE_Z_MIN, 0);
        }
        first.release();
        for (int k = c.k_begin; k < c.k_end; k++) {
            const stage_ring<S> now = ring;
            ring.next();
            ring.wait();
            a.read(ring.stage(), 2);
            b.read(ring.stage(), 2);
            if (k == z_max) {
                a.close(FACE_Z_MAX, 2);
                b.close(FACE_Z_MAX, 2);
            }
            cells_of<S> out = b.z[1];
            b.my.advance(now.stage() + b.at, nullptr, b.z, out);
            a.my.advance(now.stage(), nullptr, a.z, out);
            now.release();
            found.see_all(p, a.z[1], out);
            a.next();
            b.next();
        }
        ring.release();
        ring.next();
    }

    __device__ __forceinline__ void advance(const grid_view<REAL> &view, char *, stage_ring<S> ring,
                                            const work &w, seen_nothing &) const
    {
        extremes found;
        for (int item = blockIdx.x; item < w.items; item += (int)gridDim.x) {
            const column c = column_of<S>(w, item);
            const place<S> p = place_of<S>(view, of_a.closed, w, c);
            if (closed_sides<S>(view, of_a.closed, w, c) != 0) {
                march_both<true>(view, ring, w, c, p, found);
            } else {
                march_both<false>(view, ring, w, c, p, found);
            }
        }
        found.raise(keys);
    }
};

template <typename REAL>
static hipError_t launch_compare(struct hip_step *step, const struct compare_args *args)
{
    typedef of_two_fields<shape<REAL, 8 / (int)sizeof(REAL), 128, 16, 4, 1>> S;
    ring_of_compare<S> kind = {};
    kind.of_b = uniform_of<REAL, 1>(&args->levels[0]);
    kind.of_a = uniform_of<REAL, 1>(&args->levels[1]);
    kind.other = static_cast<const REAL *>(args->d_b) + args->layout.origin;
    kind.keys = reinterpret_cast<unsigned long long *>(args->d_keys);
    return launch(ring_call{step, step->boxes, false}, kind, 0);
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
