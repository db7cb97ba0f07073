/* The ring in a medium whose conductances are stored per cell: the copy engine loads them, sigma
 * and the classes of a tile into the same stage. */
#include "kernels/hip/kind/faces.h"
#include "kernels/hip/schedule/ring/classes_closers.h"

#if ARCH_HAS_TILE_COPY

/* See march. */
template <typename S> struct faces_worker : beside_closers {
    typedef typename S::REAL REAL;
    static constexpr int N = S::N, ROWS = S::ROWS;

    const faces<REAL> &kind;
    const cell_heat<REAL> *heat; /* of each class */
    const work &w;
    const place<S> &p;
    int class_offset;              /* of the first cell in the classes of a stage, in bytes */
    int offset[MOST_ARRAYS];       /* and in the arrays, in cells */
    struct exact_sum *const *sums; /* of the faces of z; NULL: none */
    cells_of<S> gz = {};           /* to the plane below */

    __device__ __forceinline__ const uint8_t *classes_in(const REAL *stage) const
    {
        return reinterpret_cast<const uint8_t *>(stage + w.class_cells) + class_offset;
    }
    __device__ __forceinline__ cells_of<S> conductances_in_z(const REAL *stage) const
    {
        cells_of<S> g;
#pragma unroll
        for (int row = 0; row < ROWS; row++) {
            g.row[row] = vector_at(stage + offset[AXIS_Z] + row * S::array_pitch(AXIS_Z));
#pragma unroll
            for (int i = 0; i < N; i++) {
                g.row[row].v[i] = kind.scaled(g.row[row].v[i], AXIS_Z);
            }
        }
        return g;
    }
    __device__ __forceinline__ void begin(const REAL *, const REAL *here)
    {
        gz = conductances_in_z(here);
    }

    __device__ __forceinline__ cells_of<S> beyond(int face, int k, const cells_of<S> &,
                                                  const REAL *from, REAL *to) const
    {
        return close_in_z<S>(kind, p, sums[face - FACE_Z_MIN], face, k, from, to);
    }

    __device__ __forceinline__ void advance(const REAL *now, const REAL *above,
                                            const cells_of<S> (&z)[3], cells_of<S> &out)
    {
        const cells_of<S> gz_above = conductances_in_z(above);
        const REAL *const g_x = now + offset[AXIS_X], *const g_y = now + offset[AXIS_Y];
        const uint8_t *const classes = classes_in(now);
        vec16<REAL> y[2];
        y[0] = vector_at(g_y);
#pragma unroll
        for (int row = 0; row < ROWS; row++) {
            const row_values<S> v = values_of<S>(now, p, row, z);
            const vec16<REAL> x = vector_at(g_x + row * S::array_pitch(AXIS_X));
            const REAL x_end = g_x[row * S::array_pitch(AXIS_X) + N];
            const vec16<REAL> sigma =
                vector_at(now + offset[AXIS_COUNT] + row * S::array_pitch(AXIS_COUNT));
            y[1] = vector_at(g_y + (row + 1) * S::array_pitch(AXIS_Y));
#pragma unroll
            for (int i = 0; i < N; i++) {
                const REAL right = i + 1 < N ? x.v[i + 1 < N ? i + 1 : i] : x_end;
                const REAL g[FACE_COUNT] = {kind.scaled(x.v[i], AXIS_X),
                                            kind.scaled(right, AXIS_X),
                                            kind.scaled(y[0].v[i], AXIS_Y),
                                            kind.scaled(y[1].v[i], AXIS_Y),
                                            gz.row[row].v[i],
                                            gz_above.row[row].v[i]};
                REAL around[FACE_COUNT];
                v.around(i, around);
                const int own = classes[row * S::CLASS_PITCH + i] & kind.of.mask;
                const cell_heat<REAL> of = heat[own];
                out.row[row].v[i] = medium_cell(out.row[row].v[i] + of.added, v.c.v[i], around, g,
                                                sigma.v[i], of.q);
            }
            y[0] = y[1];
        }
        gz = gz_above;
    }
};

template <typename S> struct ring_of_faces : ring_kind<S> {
    typedef typename S::REAL REAL;
    /* of all bytes: rows that no tile has are looked up, too */
    static constexpr int HEAT_BYTES = (UINT8_MAX + 1) * 2 * (int)sizeof(REAL);
    faces<REAL> kind;
    struct exact_sum *sums[2]; /* of the faces of z; NULL: none */

    __device__ __forceinline__ void prepare(char *shared, const work &w) const
    {
        cell_heat<REAL> *heat = reinterpret_cast<cell_heat<REAL> *>(shared + w.ring_bytes);
        for (int at = (int)threadIdx.x; at < kind.of.n; at += (int)blockDim.x) {
            heat[at] = heat_at(kind.of.table, at);
        }
    }

    __device__ __forceinline__ void advance(const grid_view<REAL> &view, char *shared,
                                            stage_ring<S> ring, const work &w) const
    {
        const int x = (int)threadIdx.x % S::WIDE * S::N, y = (int)threadIdx.x / S::WIDE * S::ROWS;
        for (int item = blockIdx.x; item < w.items; item += (int)gridDim.x) {
            const column c = column_of<S>(w, item);
            const place<S> p = place_of<S>(view, kind.closed, w, c);
            march<S>(
                view, kind.closed,
                faces_worker<S>{{closed_sides<S>(view, kind.closed, w, c) != 0},
                                kind,
                                reinterpret_cast<const cell_heat<REAL> *>(shared + w.ring_bytes),
                                w,
                                p,
                                class_at<S>(w, x, y),
                                {array_at<S>(w, 0, x, y), array_at<S>(w, 1, x, y),
                                 array_at<S>(w, 2, x, y), array_at<S>(w, 3, x, y)},
                                sums},
                ring, p, c);
        }
    }
    __device__ __forceinline__ void close(const grid_view<REAL> &view, const face_sums &sums,
                                          const stage_ring<S> &ring, const work &w, int wave) const
    {
        close_all<S>(view, kind, sums, ring, w, wave);
    }
};

/* Tiles of 128 x 8 cells, in float32 128 x 16: four stages. */
template <typename REAL, int WIDE, int BLOCKS> static hipError_t launch_kind(const ring_call &call)
{
    typedef with_arrays<shape<REAL, WIDE, 128, 64 / (int)sizeof(REAL), 4, BLOCKS, 2, true>> S;
    const faces<REAL> kind = faces_of<REAL>(call.step->args->levels);
    const face_sums sums = face_sums_of(call.step->args->levels, call.step->d_scratch);
    struct exact_sum *const low = sums.sum[FACE_Z_MIN], *const high = sums.sum[FACE_Z_MAX];
    constexpr int bytes = ring_of_faces<S>::HEAT_BYTES;
    if (call.step->args->levels->corrects) {
        return launch(call, ring_of_faces<with_base<S>>{{}, kind, {low, high}}, bytes);
    }
    return call.step->args->d_bits != nullptr
               ? launch(call, ring_of_faces<with_bits<S>>{{}, kind, {low, high}}, bytes)
               : launch(call, ring_of_faces<S>{{}, kind, {low, high}}, bytes);
}

#endif

DEFINE_RING(faces_free, 1, 1, false)
DEFINE_RING(faces_deep, 1, 1, true)
