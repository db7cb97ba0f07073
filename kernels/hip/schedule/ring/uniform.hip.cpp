/* The ring in a uniform medium, in several shapes. */
#include "kernels/hip/schedule/ring/uniform_worker.h"

#if ARCH_HAS_TILE_COPY

template <typename S> struct ring_of_uniform : ring_kind<S> {
    typedef typename S::REAL REAL;
    uniform<REAL, 1> kind;

    __device__ __forceinline__ void advance(const grid_view<REAL> &view, char *, stage_ring<S> ring,
                                            const work &w) const
    {
        for (int item = blockIdx.x; item < w.items; item += (int)gridDim.x) {
            const column c = column_of<S>(w, item);
            const place<S> p = place_of<S>(view, kind.closed, w, c);
            if (closed_sides<S>(view, kind.closed, w, c) != 0) {
                march<S>(view, kind.closed, uniform_worker<S, true>{kind, p}, ring, p, c);
            } else {
                march<S>(view, kind.closed, uniform_worker<S, false>{kind, p}, ring, p, c);
            }
        }
    }
    __device__ __forceinline__ double term(const REAL *stage, const work &w, const column &c,
                                           int face, const int64_t (&cell)[AXIS_COUNT]) const
    {
        return kind.term(0, {}, face, stage[cell_at<S>(w, (int)cell[0] - c.i, (int)cell[1] - c.j)],
                         0);
    }
};

template <typename REAL, int WIDE, int BLOCKS> static hipError_t launch_kind(const ring_call &call)
{
    typedef shape<REAL, WIDE * 8 / (int)sizeof(REAL), 128, 16, 4, BLOCKS> S;
    const uniform<REAL, 1> kind = uniform_of<REAL, 1>(call.step->args->levels);
    return call.step->args->d_bits != nullptr
               ? launch(call, ring_of_uniform<with_bits<S>>{{}, kind}, 0)
               : launch(call, ring_of_uniform<S>{{}, kind}, 0);
}

#endif

DEFINE_RING(staged_free, 1, 2, false)
DEFINE_RING(staged_pair, 1, 2, true)
DEFINE_RING(staged_deep, 1, 1, true)
DEFINE_RING(staged_wide, 2, 1, true)

bool hip_step_staged_is_built(void)
{
    return ARCH_HAS_TILE_COPY;
}

bool hip_step_staged_takes(const struct layout *layout, const struct box *box)
{
    enum { LEAST_X = 32, LEAST_Y = 8, LEAST_Z = 3 };
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        if (!ARCH_HAS_TILE_COPY || layout->cells[axis] > INT32_MAX / 2) {
            return false;
        }
    }
    return box->hi[AXIS_X] - box->lo[AXIS_X] >= LEAST_X &&
           box->hi[AXIS_Y] - box->lo[AXIS_Y] >= LEAST_Y &&
           box->hi[AXIS_Z] - box->lo[AXIS_Z] >= LEAST_Z;
}
