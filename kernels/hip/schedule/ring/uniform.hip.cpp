/* The ring in a uniform medium, in several shapes. */
#include "kernels/hip/kind/uniform.h"
#include "kernels/hip/schedule/ring/kernel.h"

#if ARCH_HAS_TILE_COPY

/* SIDES: the tile lies on a closed face in x or y. */
template <typename S, bool SIDES> struct uniform_worker {
    typedef typename S::REAL REAL;
    const uniform<REAL, 1> &kind;
    const place<S> &p;

    __device__ __forceinline__ void wait(const stage_ring<S> &ring) const
    {
        ring.wait();
    }
    __device__ __forceinline__ void begin(const REAL *, const REAL *) const
    {
    }
    __device__ __forceinline__ cells_of<S> beyond(int face, int, const cells_of<S> &inside,
                                                  const REAL *, REAL *) const
    {
        cells_of<S> cells;
#pragma unroll
        for (int row = 0; row < S::ROWS; row++) {
#pragma unroll
            for (int i = 0; i < S::N; i++) {
                cells.row[row].v[i] = kind.beyond(0, {}, face, inside.row[row].v[i]);
            }
        }
        return cells;
    }

    __device__ __forceinline__ void advance(const REAL *now, const REAL *,
                                            const cells_of<S> (&z)[3], cells_of<S> &out) const
    {
#pragma unroll
        for (int row = 0; row < S::ROWS; row++) {
            const row_values<S> v = values_of<S>(now, p, row, z);
#pragma unroll
            for (int i = 0; i < S::N; i++) {
                REAL n[FACE_COUNT];
                v.around(i, n);
                if (SIDES) {
                    const bool on[] = {i == 0 && p.x_min, i == p.x_max, row == 0 && p.y_min,
                                       row == p.y_max};
#pragma unroll
                    for (int face = FACE_X_MIN; face <= FACE_Y_MAX; face++) {
                        const REAL outside = kind.beyond(0, {}, face, v.c.v[i]);
                        n[face] = on[face] ? outside : n[face]; /* a selection, not a branch */
                    }
                }
                out.row[row].v[i] = kind.update(0, {}, v.c.v[i], v.c.v[i], n);
            }
        }
    }
};

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
    return launch(call, ring_of_uniform<S>{{}, uniform_of<REAL, 1>(call.step->args->levels)}, 0);
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
