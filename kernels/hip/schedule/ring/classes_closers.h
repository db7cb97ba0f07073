/* Part of classes.hip.cpp, faces.hip.cpp, graded.hip.cpp and compare.hip.cpp: the waves that write
 * the values beyond closed faces. */
#pragma once

#include "kernels/hip/kind/classes.h"
#include "kernels/hip/schedule/ring/kernel.h"

#if ARCH_HAS_TILE_COPY

/* As cell_at, in bytes from the classes of a stage on. */
template <typename S> static __device__ __forceinline__ int class_at(const work &w, int x, int y)
{
    return x / S::SUB_X * w.class_sub + (y + 1) * S::CLASS_PITCH + S::CLASS_PAD + x % S::SUB_X;
}

/* The same in an array of a stage; the column of an upper face may follow those of a subtile. */
template <typename S>
static __device__ __forceinline__ int array_at(const work &w, int array, int x, int y)
{
    return w.array_at[array] + x / S::SUB_X * w.array_sub[array] + y * S::array_pitch(array) +
           x % S::SUB_X;
}

/* Of a worker whose stages closers complete. */
struct beside_closers {
    bool sides; /* the tile lies on a closed face in x or y */

    template <typename S> __device__ __forceinline__ void wait(const stage_ring<S> &ring) const
    {
        ring.wait();
        if (sides) {
            ring.wait_for_closer();
        }
    }
};

/* The values beyond a face of z, in the stage, since it is rare; with the sum over the face, or
 * NULL. All lanes of a wave call. */
template <typename S, typename KIND>
static __device__ __forceinline__ cells_of<S> close_in_z(const KIND &kind, const place<S> &p,
                                                         struct exact_sum *sum, int face, int plane,
                                                         const typename S::REAL *from,
                                                         typename S::REAL *to)
{
    tally found = {};
#pragma unroll 1
    for (int row = 0; row < p.rows; row++) {
#pragma unroll 1
        for (int i = p.begin; i < p.end; i++) {
            const int at = p.offset + row * S::PITCH + i;
            const typename KIND::place cell = kind.at(p.i + i, p.j + row, plane);
            to[at] = kind.beyond(0, cell, face, from[at]);
            if (sum != nullptr) {
                found.add(kind.term(0, cell, face, from[at], to[at]));
            }
        }
    }
    face_sum_add(sum, found);
    return own_cells<S>(to, p);
}

/* One lane of a wave that writes the values beyond closed x and y faces into the stages, where the
 * engine has left zeros, ahead of the workers: so these need no code for faces, and the tiles at
 * the edge, for which all others wait, are as fast; it also sums over these faces. A lane has some
 * cells on a face in y and one on a face in x, of FACE_X_MIN in the lower half of the wave. Few
 * instructions count here: one wave has the time of a plane or two. */
template <typename S, typename KIND> struct closer {
    typedef typename S::REAL REAL;
    enum { IN_Y = S::TX / ARCH_WAVE, CELLS = IN_Y + 1 };
    static constexpr bool HAS_LINES = KIND::IS_GRADED || S::ARRAYS > 0;
    static_assert(2 * S::TY <= ARCH_WAVE, "one lane per row and side");

    const KIND &kind;
    const medium<REAL> &m;
    const work &w;
    /* where the cells lie */
    bool valid[CELLS];
    bool counted[CELLS]; /* with SUMS: in the box, on a face that is summed */
    /* of the first cell on y and the one on x: in the cells, the classes and, of the face, the
     * conductances of a stage */
    int at[2], class_at[2], g_at[2];
    /* of the cells on y, of the one on x: */
    int face[2], beyond[2];  /* in a stage, from a cell to the value beyond */
    const uint8_t *patch[2]; /* of the first one in plane 0; NULL: none */
    int64_t patch_pitch[2];  /* to the next plane */
    int64_t first[2];        /* the closure of that first one, if each cell has its own; 0: none */
    /* the closures that were used last, mostly those of the next plane */
    int closure[CELLS]; /* -1: none */
    bool radiates;
    REAL of[CELLS][4], g[CELLS]; /* of: by KIND::close, the third one of radiation */
    /* of a kind with lines: what they have of the cells, and of the faces of area 1 of a graded one
     */
    REAL across[CELLS], unit[2], next_along;
    int next_plane;

    /* From the first cell on y to the n-th, or of the one on x: in values of a stage that has `sub`
     * for each subtile. */
    static __device__ __forceinline__ int beside(int n, int sub)
    {
        const int x = n < IN_Y ? n * ARCH_WAVE : 0;
        return x / S::SUB_X * sub + x % S::SUB_X;
    }

    /* Once for a column. sides: see closed_sides, of y one at most. */
    __device__ __forceinline__ void take(const face_sums &sums, const column &c, unsigned sides)
    {
        const int lane = (int)threadIdx.x % ARCH_WAVE;
        const int last[2] = {(int)m.cells[AXIS_X] - 1, (int)m.cells[AXIS_Y] - 1};
        const int row = lane % S::TY;
#pragma unroll
        for (int n = 0; n < CELLS; n++) {
            const int in_x = n == IN_Y ? 1 : 0;
            const int face_min = in_x ? FACE_X_MIN : FACE_Y_MIN;
            const bool max = in_x ? lane >= S::TY : (sides >> FACE_Y_MAX & 1) != 0;
            const int layer = max ? last[in_x ? AXIS_X : AXIS_Y] : 0;
            const int i = in_x ? layer : c.i + lane + n * ARCH_WAVE;
            const int j = in_x ? c.j + row : layer;
            const struct exact_sum *sum = max ? sums.sum[face_min + 1] : sums.sum[face_min];
            const uint8_t *patches = max ? m.patch[face_min + 1] : m.patch[face_min];
            valid[n] = (sides >> (face_min + (max ? 1 : 0)) & 1) != 0 && i <= last[AXIS_X] &&
                       j <= last[AXIS_Y] && (!in_x || (lane < 2 * S::TY && row < w.height));
            counted[n] = S::SUMS && valid[n] && sum != nullptr && i >= w.lo[AXIS_X] &&
                         i < w.hi[AXIS_X] && j >= w.lo[AXIS_Y] && j < w.hi[AXIS_Y];
            closure[n] = -1;
            if (HAS_LINES) {
                across[n] = in_x ? kind.beside(AXIS_Y, min(j, last[AXIS_Y]))
                                 : kind.beside(AXIS_X, min(i, last[AXIS_X]));
            }
            if constexpr (KIND::IS_GRADED) {
                unit[in_x] = kind.unit(in_x ? AXIS_X : AXIS_Y, layer + (max ? 1 : 0));
            }
            if (n == 0 || in_x) {
                at[in_x] = cell_at<S>(w, i - c.i, j - c.j);
                class_at[in_x] = ::class_at<S>(w, i - c.i, j - c.j);
                g_at[in_x] = array_at<S>(w, in_x ? AXIS_X : AXIS_Y, i - c.i, j - c.j) +
                             (max ? in_x ? 1 : S::array_pitch(AXIS_Y) : 0);
                face[in_x] = face_min + (max ? 1 : 0);
                beyond[in_x] = (max ? 1 : -1) * (in_x ? 1 : S::PITCH);
                patch[in_x] = patches != nullptr ? patches + (in_x ? j : i) : nullptr;
                patch_pitch[in_x] = max ? m.patch_pitch[face_min + 1] : m.patch_pitch[face_min];
                first[in_x] = max ? m.first_closure[face_min + 1] : m.first_closure[face_min];
                first[in_x] += first[in_x] > 0 ? (in_x ? j : i) : 0;
            }
        }
    }

    __device__ __forceinline__ void look_up(const int (&wanted)[CELLS], const int (&own)[CELLS])
    {
        radiates = false;
#pragma unroll
        for (int n = 0; n < CELLS; n++) {
            if (valid[n]) {
                const REAL *abe =
                    m.table + medium_closure_at(m.n, m.nclosures, face[n / IN_Y], wanted[n]);
                closure[n] = wanted[n];
                if (!HAS_LINES && counted[n]) {
                    g[n] = m.table[medium_g_at(m.n, n < IN_Y ? AXIS_Y : AXIS_X, own[n], own[n])];
                }
                kind.close(KIND::IS_GRADED ? unit[n / IN_Y] : 0, abe, of[n]);
                radiates = radiates || of[n][2] != 0;
            }
        }
    }

    /* The number that lines have of plane k. The one of the wave's next plane is requested now. */
    __device__ __forceinline__ REAL along_at(int k)
    {
        const REAL along = k == next_plane ? next_along : kind.beside(AXIS_Z, k);
        next_plane = min(k + S::CLOSERS, (int)m.cells[AXIS_Z] - 1);
        next_along = kind.beside(AXIS_Z, next_plane);
        return along;
    }

    /* Plane k of a field; x and y: the sums over the lane's face of the axis. */
    __device__ __forceinline__ void close(REAL *field, const uint8_t *classes, int k, tally &x,
                                          tally &y)
    {
        const int64_t plane[2] = {k * patch_pitch[0], k * patch_pitch[1]};
        const REAL along = HAS_LINES ? along_at(k) : 1;
        int wanted[CELLS];
        int own[CELLS];
        bool missing = false;
#pragma unroll
        for (int n = 0; n < CELLS; n++) {
            wanted[n] = closure[n];
            own[n] = 0;
            if (valid[n]) {
                own[n] = S::CLASS_PITCH > 0
                             ? classes[class_at[n / IN_Y] + beside(n, w.class_sub)] & m.mask
                             : 0;
                wanted[n] = own[n];
                const int64_t place = plane[n / IN_Y] + n % IN_Y * ARCH_WAVE;
                if (first[n / IN_Y] > 0) {
                    wanted[n] = (int)(first[n / IN_Y] + place);
                } else if (patch[n / IN_Y] != nullptr) {
                    wanted[n] += m.n * patch[n / IN_Y][place];
                }
            }
            missing = missing || wanted[n] != closure[n];
        }
        if (missing) {
            look_up(wanted, own);
        }
#pragma unroll
        for (int n = 0; n < CELLS; n++) {
            if (valid[n]) {
                REAL *const inside = field + at[n / IN_Y] + beside(n, w.sub_cells);
                REAL of_face = g[n];
                if constexpr (KIND::IS_GRADED) {
                    of_face = unit[n / IN_Y];
                    g[n] = of_face * (across[n] * along);
                } else if constexpr (S::ARRAYS > 0) {
                    g[n] = kind.scaled(field[g_at[n / IN_Y] + beside(n, w.array_sub[AXIS_Y])],
                                       n < IN_Y ? AXIS_Y : AXIS_X);
                    of_face = g[n] * (across[n] * along);
                }
                const REAL outside = radiates ? kind.outside(*inside, of_face, of[n], of[n][2])
                                              : kind.outside(*inside, of_face, of[n], 0);
                inside[beyond[n / IN_Y]] = outside;
                if (counted[n]) {
                    const double term = (double)g[n] * (double)(REAL)(outside - *inside);
                    if (n < IN_Y) { /* not by a reference, which would be one to local memory */
                        y.add(term);
                    } else {
                        x.add(term);
                    }
                }
            }
        }
    }
};

/* One of S::CLOSERS waves, which take the planes in turn; of two fields, the wave of one with its
 * kind. All its lanes call. */
template <typename S, typename KIND>
static __device__ __forceinline__ void close_all(const grid_view<typename S::REAL> &view,
                                                 const KIND &kind, const face_sums &sums,
                                                 stage_ring<S> ring, const work &w, int wave)
{
    typedef typename S::REAL REAL;
    constexpr unsigned Y_MIN = 1U << FACE_Y_MIN, Y_MAX = 1U << FACE_Y_MAX;
    static_assert(S::FIELDS == 1 || S::FIELDS == S::CLOSERS, "a wave per field");
    closer<S, KIND> mine = {kind, kind.of, w};
    mine.next_plane = -1;
    const int before = S::FIELDS > 1 ? wave * w.field_cells : 0;
    int turn = 0;
    for (int item = blockIdx.x; item < w.items; item += (int)gridDim.x) {
        const column c = column_of<S>(w, item);
        const unsigned sides = closed_sides<S>(view, kind.closed, w, c);
        const bool both = (sides & Y_MIN) != 0 && (sides & Y_MAX) != 0; /* a grid of few rows */
        tally x = {};
        tally y = {};
        tally y_other = {}; /* where both are: of FACE_Y_MAX */
        mine.take(sums, c, both ? sides & ~Y_MAX : sides);
        for (int k = c.k_begin - 1; k <= c.k_end; k++, ring.next()) {
            turn = turn + 1 < S::CLOSERS ? turn + 1 : 0;
            if (S::FIELDS == 1 && turn != wave) {
                continue;
            }
            ring.wait();
            if (k >= c.k_begin && k < c.k_end && sides != 0) {
                REAL *const field = ring.stage() + before;
                const uint8_t *const classes =
                    reinterpret_cast<const uint8_t *>(ring.stage() + w.class_cells);
                mine.close(field, classes, k, x, y);
                if (both) {
                    mine.take(sums, c, Y_MAX);
                    mine.close(field, classes, k, x, y_other);
                    mine.take(sums, c, sides & ~Y_MAX);
                }
            }
            ring.close();
            ring.release();
        }
        const bool low = (int)threadIdx.x % ARCH_WAVE < S::TY; /* both x faces are in one wave */
        const tally none = {};
        face_sum_add(sums.sum[FACE_X_MIN], low ? x : none);
        face_sum_add(sums.sum[FACE_X_MAX], low ? none : x);
        face_sum_add(sums.sum[FACE_Y_MIN], (sides & Y_MIN) != 0 ? y : none);
        face_sum_add(sums.sum[FACE_Y_MAX], (sides & Y_MIN) != 0 ? y_other : y);
    }
}

#endif
