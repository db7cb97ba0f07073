/* Part of faces/steps_2.hip.cpp: tiles, columns of them, and what a block has in shared memory. */
#pragma once

#include "kernels/hip/kind/faces.h"
#include "kernels/hip/schedule/ring/ring.h"
#include "kernels/hip/schedule/tiling.h"

#if ARCH_HAS_TILE_COPY

enum { T = 2 };

/* Tiles of a vector per lane and ROWS rows per wave. The first of the FETCHERS fetches, and they
 * give most of their registers to the others. */
template <typename REAL_> struct faces_shape {
    typedef REAL_ REAL;
    static constexpr int V = vec16<REAL>::N, TX = ARCH_WAVE * V;
    static constexpr int ROWS = 3, WAVES = 8, TY = ROWS * WAVES, STAGES = 2;
    static constexpr int FETCHERS = 4, THREADS = (WAVES + FETCHERS) * ARCH_WAVE;
    static constexpr int RAISED = 240, LOWERED = 24; /* 8 * 240 + 4 * 24 = 12 * 168 */
    /* A stage, in cells: the field with a row on either side, conductances in z and in x, sigma,
     * conductances in y with a row behind, classes from a multiple of 16 cells on. */
    static constexpr int PLANE = TY * TX, CLASSES_BEFORE = 16, CLASS_PITCH = TX + CLASSES_BEFORE;
    static constexpr int AT_Z = PLANE + 2 * TX, AT_X = AT_Z + PLANE, AT_SIGMA = AT_X + PLANE,
                         AT_Y = AT_SIGMA + PLANE, AT_CLASSES = AT_Y + PLANE + TX;
    static constexpr int STAGE = AT_CLASSES + TY * CLASS_PITCH / (int)sizeof(REAL);
    static constexpr uint32_t ARRIVING = STAGE * (int)sizeof(REAL);
    /* Behind the stages: the first and last rows of waves, of level 1, of two parities; the heat of
     * each class in each step. */
    static constexpr int EDGES = 2 * WAVES * TX, AT_EDGES = STAGES * STAGE;
    static constexpr int AT_HEAT = AT_EDGES + 2 * EDGES, HEAT = UINT8_MAX + 1;
    static constexpr int BYTES = (AT_HEAT + T * 2 * HEAT) * (int)sizeof(REAL);
    static_assert(STAGE * sizeof(REAL) % 128 == 0 && BYTES < 226 * 1024, "of a block");
};

/* What a block writes, and where its tile begins. */
struct faces_column {
    int x, y;           /* the tile's first cell */
    int class_shift;    /* cells of its classes before it */
    int k_begin, k_end; /* planes */
    int x_begin, x_end; /* cells */
    int y_begin, y_end; /* rows */

    /* The planes that arrive, from T before the first one on; even, as levels take turns. */
    __device__ __forceinline__ int rounds() const
    {
        return (k_end - k_begin + 2 * T + 1) & ~1;
    }
};

#endif
