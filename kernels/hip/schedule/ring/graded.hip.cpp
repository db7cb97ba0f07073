/* The ring in a uniform medium on graded axes: a thread has the shares of its cells in x in
 * registers. A wave has those of its rows, and of z for as many planes as it has lanes, in shared
 * memory: with those of rows in registers, too, the loop over planes has spills; and the ring
 * leaves the L1 cache so little memory that loads of a line in every plane missed it, and each was
 * waited for. */
#include "kernels/hip/kind/graded.h"
#include "kernels/hip/schedule/ring/classes_closers.h"

#if ARCH_HAS_TILE_COPY

/* See march. */
template <typename S> struct graded_worker : beside_closers {
    typedef typename S::REAL REAL;
    static constexpr int N = S::N, ROWS = S::ROWS;

    const graded<REAL> &kind;
    const REAL *added; /* of each class */
    const work &w;
    const place<S> &p;
    int class_offset;              /* of the first cell in the classes of a stage, in bytes */
    struct exact_sum *const *sums; /* of the faces of z; NULL: none */
    int k;                         /* the plane at hand */
    REAL *rows, *planes;           /* the shares of the wave: [ROWS, or ARCH_WAVE][min, max] */
    graded_shares<REAL, N> x = {};

    __device__ __forceinline__ void begin(const REAL *, const REAL *)
    {
        graded_shares<REAL, ROWS> y;
        y.take(kind, AXIS_Y, p.j);
        __syncwarp(); /* the rows before have been read */
#pragma unroll
        for (int row = 0; row < ROWS; row++) {
            rows[2 * row] = y.min[row];
            rows[2 * row + 1] = y.max[row];
        }
        take_planes();
        x.take(kind, AXIS_X, p.i);
    }

    /* The place of plane k, which may lie below the field. */
    __device__ __forceinline__ int place_of_plane() const
    {
        return k & (ARCH_WAVE - 1);
    }

    /* From the plane at hand to the last place, one per lane. */
    __device__ __forceinline__ void take_planes()
    {
        const int lane = (int)threadIdx.x % ARCH_WAVE;
        graded_shares<REAL, 1> z;
        z.take(kind, AXIS_Z, k + max(lane - place_of_plane(), 0));
        __syncwarp();
        planes[2 * lane] = z.min[0];
        planes[2 * lane + 1] = z.max[0];
        __syncwarp();
    }

    __device__ __forceinline__ cells_of<S> beyond(int face, int plane, const cells_of<S> &,
                                                  const REAL *from, REAL *to) const
    {
        return close_in_z<S>(kind, p, sums[face - FACE_Z_MIN], face, plane, from, to);
    }

    __device__ __forceinline__ void advance(const REAL *now, const REAL *,
                                            const cells_of<S> (&around_z)[3], cells_of<S> &out)
    {
        const REAL *const z = planes + 2 * place_of_plane();
        const REAL z_min = z[0], z_max = z[1];
        const uint8_t *const classes =
            reinterpret_cast<const uint8_t *>(now + w.class_cells) + class_offset;
#pragma unroll
        for (int row = 0; row < ROWS; row++) {
            const row_values<S> v = values_of<S>(now, p, row, around_z);
            const REAL y_min = rows[2 * row], y_max = rows[2 * row + 1];
#pragma unroll
            for (int i = 0; i < N; i++) {
                const REAL share[FACE_COUNT] = {x.min[i], x.max[i], y_min, y_max, z_min, z_max};
                REAL around[FACE_COUNT];
                v.around(i, around);
                const int own =
                    S::CLASS_PITCH > 0 ? classes[row * S::CLASS_PITCH + i] & kind.of.mask : 0;
                out.row[row].v[i] = medium_cell(out.row[row].v[i] + added[own], v.c.v[i], around,
                                                share, (REAL)1, (REAL)0);
            }
        }
        k++;
        if (place_of_plane() == 0) {
            take_planes();
        }
    }
};

template <typename S> struct ring_of_graded : ring_kind<S> {
    typedef typename S::REAL REAL;
    /* of all bytes: rows that no tile has are looked up, too */
    static constexpr int HEAT_BYTES = (UINT8_MAX + 1) * (int)sizeof(REAL);
    static constexpr int SHARES = 2 * (S::ROWS + ARCH_WAVE); /* of a wave */
    static constexpr int BYTES = HEAT_BYTES + S::THREADS / ARCH_WAVE * SHARES * (int)sizeof(REAL);
    graded<REAL> kind;
    struct exact_sum *sums[2]; /* of the faces of z; NULL: none */

    __device__ __forceinline__ void prepare(char *shared, const work &w) const
    {
        REAL *added = reinterpret_cast<REAL *>(shared + w.ring_bytes);
        for (int at = (int)threadIdx.x; at < kind.of.n; at += (int)blockDim.x) {
            added[at] = heat_at(kind.of.table, at).added;
        }
    }

    __device__ __forceinline__ void advance(const grid_view<REAL> &view, char *shared,
                                            stage_ring<S> ring, const work &w) const
    {
        const int class_offset =
            class_at<S>(w, (int)threadIdx.x % S::WIDE * S::N, (int)threadIdx.x / S::WIDE * S::ROWS);
        for (int item = blockIdx.x; item < w.items; item += (int)gridDim.x) {
            const column c = column_of<S>(w, item);
            const place<S> p = place_of<S>(view, kind.closed, w, c);
            REAL *const shares = reinterpret_cast<REAL *>(shared + w.ring_bytes + HEAT_BYTES) +
                                 (int)threadIdx.x / ARCH_WAVE * SHARES;
            march<S>(view, kind.closed,
                     graded_worker<S>{{closed_sides<S>(view, kind.closed, w, c) != 0},
                                      kind,
                                      reinterpret_cast<const REAL *>(shared + w.ring_bytes),
                                      w,
                                      p,
                                      class_offset,
                                      sums,
                                      c.k_begin,
                                      shares,
                                      shares + 2 * S::ROWS},
                     ring, p, c);
        }
    }
    __device__ __forceinline__ void close(const grid_view<REAL> &view, const face_sums &sums,
                                          const stage_ring<S> &ring, const work &w, int wave) const
    {
        close_all<S>(view, kind, sums, ring, w, wave);
    }
};

template <typename S> static hipError_t launch_shape(const ring_call &call)
{
    typedef typename S::REAL REAL;
    const graded<REAL> kind = graded_of<REAL>(call.step->args->levels);
    const face_sums sums = face_sums_of(call.step->args->levels, call.step->d_scratch);
    return launch(call, ring_of_graded<S>{{}, kind, {sums.sum[FACE_Z_MIN], sums.sum[FACE_Z_MAX]}},
                  ring_of_graded<S>::BYTES);
}

/* The classes are read only where there are several. In float32 two blocks, as classes have. */
template <typename REAL, int WIDE, int BLOCKS> static hipError_t launch_kind(const ring_call &call)
{
    constexpr int TILES = (int)(sizeof(double) / sizeof(REAL));
    typedef shape<REAL, WIDE, 128, 16, 4, BLOCKS * TILES, 2, true> S;
    typedef shape<REAL, WIDE, 128, 16, 4, BLOCKS * TILES, 2, false> one_class;
    const struct step_args *args = call.step->args;
    return args->levels->corrects              ? launch_shape<with_base<S>>(call)
           : args->d_bits != nullptr           ? launch_shape<with_bits<S>>(call)
           : args->levels->medium.nclasses > 1 ? launch_shape<S>(call)
                                               : launch_shape<one_class>(call);
}

#endif

DEFINE_RING(graded_free, 1, 1, false)
DEFINE_RING(graded_deep, 1, 1, true)
