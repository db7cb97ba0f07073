/* Part of steps_faces_2.hip.cpp: what a block has in shared memory, and what a wave does. */
#pragma once

#include "kernels/hip/kind/faces.h"
#include "kernels/hip/schedule/tile_sums.h"
#include "kernels/hip/schedule/tiling.h"

#if ARCH_HAS_TILE_COPY

enum { T = 2, ROWS = 2, WAVES = 12, THREADS = WAVES * ARCH_WAVE, TY = WAVES * ROWS };

/* What is in shared memory, in cells. */
template <typename REAL> struct shares {
    static constexpr int V = vec16<REAL>::N, TX = ARCH_WAVE * V;
    static constexpr int PLANE = TY * TX;
    static constexpr int LEVEL = (2 * WAVES + 2) * TX; /* rows at the edges of waves, of a parity */
    /* planes: of the field, of conductances in x, in y, in z, of sigma */
    enum { FIELD, ALONG_X, ALONG_Y, ALONG_Z, SIGMA, ARRAYS };
    static constexpr int stages(int array)
    {
        return array <= ALONG_Y ? 3 : 2;
    }
    /* beside the tile the field has a row on either side, conductances in y one behind */
    static __host__ __device__ constexpr int rows(int array)
    {
        return TY + (array == FIELD ? 2 : array == ALONG_Y ? 1 : 0);
    }
    static constexpr int begin(int array)
    {
        return array == 0 ? 0 : begin(array - 1) + stages(array - 1) * rows(array - 1) * TX;
    }
    static constexpr int AT_X = begin(ALONG_X), AT_Y = begin(ALONG_Y), AT_Z = begin(ALONG_Z),
                         AT_SIGMA = begin(SIGMA), AT_EDGES = begin(ARRAYS),
                         AT_HEAT = AT_EDGES + 2 * LEVEL, HEAT = UINT8_MAX + 1,
                         AT_BYTES = AT_HEAT + T * HEAT;
    /* of the classes, from a multiple of 16 cells on; a plane in whole multiples of 128 bytes */
    static constexpr int CLASS_PITCH = TX + 16, CLASSES = (TY * CLASS_PITCH + 127) / 128 * 128;
    static constexpr int BYTES = AT_BYTES * (int)sizeof(REAL) + 2 * CLASSES;
    static constexpr uint32_t ARRIVING =
        (rows(FIELD) + rows(ALONG_X) + rows(ALONG_Y) + rows(ALONG_Z) + rows(SIGMA)) * TX *
            (int)sizeof(REAL) +
        TY * CLASS_PITCH;
    static_assert(BYTES + (int)sizeof(tile_sums<T, WAVES>) + 32 <= 227 * 1024, "of a block");
};

/* The copy engine reads these; begin: the cells where the regions of the field and of the medium
 * begin. */
struct faces_maps {
    arch_tile_map field, g[AXIS_COUNT], sigma, classes;
    int field_begin[AXIS_COUNT], begin[AXIS_COUNT], classes_x;
};

template <typename REAL> struct faces_march {
    typedef shares<REAL> of;
    typedef vec16<REAL> cells;
    static constexpr int V = of::V, TX = of::TX;

    const faces_maps &maps;
    const grid_view<REAL> &view;
    const faces<REAL, T> &kind;
    const tiling &t;
    const tile_sinks<T> &sinks;
    REAL *shared;
    arch_arrivals *filled; /* of even and odd rounds */
    arch_meeting *meeting;
    tile_sums<T, WAVES> *sums;
    int lane, wave, tile_x, tile_y;
    int i, j;                /* my first cell */
    int k_begin, k_end;      /* planes that are written */
    int begin, end;          /* cells of my vectors that are */
    unsigned rows;           /* bit per row that is */
    REAL *to;                /* my first cell in the plane that is complete */
    cells level[T][2][ROWS]; /* the planes below and at the next step */
    cells z[T][ROWS];        /* conductances below the planes of the steps */
    cells sigma[ROWS];       /* of the second step */
    uint32_t bytes[ROWS];    /* its classes */

    __device__ __forceinline__ REAL *stage(int at, int slot, int rows_of) const
    {
        return shared + at + slot * rows_of * TX;
    }

    /* One thread: what round `number`, which begins at plane k, reads first; slot: k modulo 3. */
    __device__ __forceinline__ void request(int k, unsigned number, int slot) const
    {
        arch_arrivals *const arrivals = filled + (number & 1);
        const int before = slot > 0 ? slot - 1 : 2, two = (int)(number & 1);
        const int x = tile_x - maps.begin[0], y = tile_y - maps.begin[1], z = k - maps.begin[2];
        arch_arrive_with_bytes(arrivals, of::ARRIVING);
        arch_tile_copy(stage(0, slot, TY + 2), maps.field, arrivals, tile_x - maps.field_begin[0],
                       tile_y - 1 - maps.field_begin[1], k - maps.field_begin[2]);
        arch_tile_copy(stage(of::AT_X, before, TY), maps.g[0], arrivals, x, y, z - 1);
        arch_tile_copy(stage(of::AT_Y, before, TY + 1), maps.g[1], arrivals, x, y, z - 1);
        arch_tile_copy(stage(of::AT_Z, two, TY), maps.g[2], arrivals, x, y, z);
        arch_tile_copy(stage(of::AT_SIGMA, two, TY), maps.sigma, arrivals, x, y, z - 1);
        arch_tile_copy(reinterpret_cast<uint8_t *>(shared + of::AT_BYTES) + two * of::CLASSES,
                       maps.classes, arrivals, (tile_x - maps.classes_x) / 16 * 16, y, z - 1);
    }

    /* A cell whose neighbours may be read or lie beyond closed faces. */
    __device__ __forceinline__ bool is_next(int x, int y, int z_of) const
    {
        return x >= (int)t.next_lo[0] && x < (int)t.next_hi[0] && y >= (int)t.next_lo[1] &&
               y < (int)t.next_hi[1] && z_of >= (int)t.next_lo[2] && z_of < (int)t.next_hi[2];
    }

    /* Add the terms of my cells to the sum over a face: on x one lane of a wave has some. All lanes
     * call. */
    __device__ __forceinline__ void add(int l, int face, const tally &mine) const
    {
        const bool any = (mine.part[0] | mine.part[1] | mine.part[2]) != 0;
        if (face < FACE_Y_MIN) {
            if (any) {
                sums->add(wave, l, face, mine.part);
            }
        } else if (arch_any(any)) {
            const long long all[3] = {arch_wave_sum(mine.part[0]), arch_wave_sum(mine.part[1]),
                                      arch_wave_sum(mine.part[2])};
            if (lane == 0) {
                sums->add(wave, l, face, all);
            }
        }
    }

    /* Replace what is beyond closed faces of a row of plane k, and add to the sums. n: around each
     * cell. Few tiles have such cells: loops keep the code short. */
    template <int L>
    __device__ __forceinline__ void close(int k, int row, const cells &c,
                                          const REAL (&g)[V][FACE_COUNT], REAL (&n)[V][FACE_COUNT],
                                          uint32_t own) const
    {
        const int at[AXIS_COUNT] = {i, j + row, k};
#pragma unroll
        for (int axis = 0; axis < AXIS_COUNT; axis++) {
            const int wide = axis == AXIS_X ? V : 1, last = (int)view.cells[axis] - 1;
            const bool low = kind.closed[2 * axis] && at[axis] == 0;
            const bool high =
                kind.closed[2 * axis + 1] && last >= at[axis] && last < at[axis] + wide;
            if (!arch_any(low || high)) {
                continue;
            }
            const struct exact_sum *const sum =
                low ? sinks.of[L].sum[2 * axis] : sinks.of[L].sum[2 * axis + 1];
            const bool counts =
                sum != nullptr && (rows >> row & 1) != 0 && k >= k_begin && k < k_end;
            tally found = {};
            int v = axis == AXIS_X && high ? last - i : 0;
            const int v_end = !low && !high ? 0 : axis == AXIS_X ? v + 1 : V;
#pragma unroll 1
            for (; v < v_end; v++) {
                REAL inside = c.v[0], of_face = low ? g[0][2 * axis] : g[0][2 * axis + 1];
#pragma unroll
                for (int u = 1; u < V; u++) {
                    inside = u == v ? c.v[u] : inside;
                    of_face = u != v ? of_face : low ? g[u][2 * axis] : g[u][2 * axis + 1];
                }
                if (!is_next(i + v, j + row, k)) {
                    continue;
                }
                const int64_t cell[AXIS_COUNT] = {i + v, j + row, k};
                const REAL outside = kind.beyond(L, cell, (uint8_t)(own >> 8 * v),
                                                 2 * axis + (low ? 0 : 1), of_face, inside);
#pragma unroll
                for (int u = 0; u < V; u++) {
                    n[u][2 * axis] = u == v && low ? outside : n[u][2 * axis];
                    n[u][2 * axis + 1] = u == v && !low ? outside : n[u][2 * axis + 1];
                }
                if (counts && v >= begin && v < end) {
                    found.add((double)of_face * (double)(REAL)(outside - inside));
                }
            }
            if (sinks.any) { /* a wave may have both faces of x */
                add(L, 2 * axis, low ? found : tally{});
                add(L, 2 * axis + 1, low ? tally{} : found);
            }
        }
    }

    /* The step from level L in plane k. fresh: level L in the plane above; then level L + 1.
     * z_high: conductances above the plane; then those below. front, back: the rows beside mine. */
    template <int L, bool SIDES>
    __device__ __forceinline__ void step(int k, int slot, cells (&fresh)[ROWS],
                                         cells (&z_high)[ROWS], const REAL *front, const REAL *back,
                                         const cells (&s)[ROWS], const uint32_t (&own)[ROWS])
    {
        const REAL *const heat = shared + of::AT_HEAT + L * of::HEAT;
        const REAL *const g_x = stage(of::AT_X, slot, TY) + wave * ROWS * TX + lane * V;
        const REAL *const g_y = stage(of::AT_Y, slot, TY + 1) + wave * ROWS * TX + lane * V;
        const REAL(&dt)[AXIS_COUNT] = kind.dt[L];
        cells(&below)[ROWS] = level[L][0], (&here)[ROWS] = level[L][1];
        const cells before = vector_at(front), after = vector_at(back);
        cells y = vector_at(g_y), out[ROWS];
#pragma unroll
        for (int row = 0; row < ROWS; row++) {
            const cells c = here[row], x = vector_at(g_x + row * TX);
            const cells y_high = vector_at(g_y + (row + 1) * TX);
            const REAL left = arch_shift_up(c.v[V - 1], 1), right = arch_shift_down(c.v[0], 1);
            const REAL x_high = arch_shift_down(x.v[0], 1);
            REAL n[V][FACE_COUNT], g[V][FACE_COUNT];
#pragma unroll
            for (int v = 0; v < V; v++) {
                const int last = V - 1, next = v < last ? v + 1 : v;
                n[v][0] = v > 0 ? c.v[v > 0 ? v - 1 : 0] : left;
                n[v][1] = v < last ? c.v[next] : right;
                n[v][2] = row > 0 ? here[row > 0 ? row - 1 : 0].v[v] : before.v[v];
                n[v][3] = row + 1 < ROWS ? here[row + 1 < ROWS ? row + 1 : row].v[v] : after.v[v];
                n[v][4] = below[row].v[v];
                n[v][5] = fresh[row].v[v];
                g[v][0] = x.v[v] * dt[0];
                g[v][1] = (v < last ? x.v[next] : x_high) * dt[0];
                g[v][2] = y.v[v] * dt[1];
                g[v][3] = y_high.v[v] * dt[1];
                g[v][4] = z[L][row].v[v] * dt[2];
                g[v][5] = z_high[row].v[v] * dt[2];
            }
            if constexpr (SIDES) {
                close<L>(k, row, c, g, n, own[row]);
            }
#pragma unroll
            for (int v = 0; v < V; v++) {
                const int of_class = (int)(own[row] >> 8 * v) & kind.of.mask;
                out[row].v[v] =
                    medium_cell(c.v[v], c.v[v], n[v], g[v], s[row].v[v], heat[of_class]);
            }
            y = y_high;
        }
#pragma unroll
        for (int row = 0; row < ROWS; row++) {
            const cells low = z[L][row];
            below[row] = here[row];
            here[row] = fresh[row];
            fresh[row] = out[row];
            z[L][row] = z_high[row];
            z_high[row] = low;
        }
    }

    /* Round `number`, which begins at plane k of level 0; slot: k modulo 3. */
    template <bool SIDES>
    __device__ __forceinline__ void round(int k, unsigned number, int slot, int last)
    {
        const int two = (int)(number & 1), before = slot > 0 ? slot - 1 : 2;
        const int at = wave * ROWS * TX + lane * V;
        const int next = slot < 2 ? slot + 1 : 0;
        const REAL *const field = stage(0, slot, TY + 2) + TX + at;
        const REAL *const field_before = stage(0, before, TY + 2) + TX + at;
        const uint8_t *const classes = reinterpret_cast<const uint8_t *>(shared + of::AT_BYTES) +
                                       two * of::CLASSES + wave * ROWS * of::CLASS_PITCH +
                                       (tile_x - maps.classes_x) % 16 + lane * V;
        REAL *const edges = shared + of::AT_EDGES + (1 + 2 * wave) * TX + lane * V;
        cells fresh[ROWS], z_high[ROWS], s[ROWS];
        uint32_t own[ROWS];
        arch_meeting_wait(meeting, number - 1); /* what the next plane replaces has been read */
        if (k + 1 < last && arch_is_chosen()) {
            request(k + 1, number + 1, next);
        }
        __syncwarp();
        arch_arrivals_wait(filled + two, number >> 1 & 1);
#pragma unroll
        for (int row = 0; row < ROWS; row++) {
            fresh[row] = vector_at(field + row * TX);
            z_high[row] = vector_at(stage(of::AT_Z, two, TY) + at + row * TX);
            s[row] = vector_at(stage(of::AT_SIGMA, two, TY) + at + row * TX);
            own[row] = 0;
            __builtin_memcpy(&own[row],
                             __builtin_assume_aligned(classes + row * of::CLASS_PITCH, V), V);
        }
        step<0, SIDES>(k - 1, before, fresh, z_high, field_before - TX, field_before + ROWS * TX, s,
                       own);
        REAL *const now = edges + two * of::LEVEL;
        *reinterpret_cast<cells *>(now) = fresh[0]; /* for the next round */
        *reinterpret_cast<cells *>(now + TX) = fresh[ROWS - 1];
        const REAL *const then = edges + (two ^ 1) * of::LEVEL;
        step<1, SIDES>(k - 2, next, fresh, z_high, then - TX, then + 2 * TX, sigma, bytes);
        arch_reads_before_tile_copy();
        arch_meeting_arrive(meeting);
        if (k - T >= k_begin) {
            store(fresh);
        }
        to += view.pitch_z;
#pragma unroll
        for (int row = 0; row < ROWS; row++) {
            sigma[row] = s[row];
            bytes[row] = own[row];
        }
    }

    __device__ __forceinline__ void store(const cells (&out)[ROWS]) const
    {
#pragma unroll
        for (int row = 0; row < ROWS; row++) {
            REAL *const at = to + row * view.pitch_y;
            if ((rows >> row & 1) == 0) {
                continue;
            }
            if (begin == 0 && end == V) {
                *reinterpret_cast<cells *>(at) = out[row];
                continue;
            }
#pragma unroll
            for (int v = 0; v < V; v++) {
                if (v >= begin && v < end) {
                    at[v] = out[row].v[v];
                }
            }
        }
    }
};

#endif
