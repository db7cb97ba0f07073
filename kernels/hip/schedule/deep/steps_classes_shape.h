/* Part of steps_classes_*.hip.cpp: the shapes, and what a kernel gets. */
#pragma once

#include "kernels/hip/kind/classes.h"
#include "kernels/hip/schedule/deep/steps_staged_kernel.h"

#if ARCH_HAS_TILE_COPY

template <int T> constexpr int CLASSES_WAVES = T == 2 ? 8 : 12;

/* Two steps are HELD: see steps_classes_held.h. */
template <typename REAL, int T, int STAGES>
struct classes_shape : deep_shape<REAL, T, STAGES, false, false, 4, 0, CLASSES_WAVES<T>> {
    typedef deep_shape<REAL, T, STAGES, false, false, 4, 0, CLASSES_WAVES<T>> of;
    static constexpr bool PAIRS = false;
    static constexpr bool HELD = T == 2;
    /* no plane of the round before is read at its end, but where coefficients are held */
    static constexpr int LEAD = STAGES - (HELD ? 4 : 3);
    /* rows from a multiple of 16 cells on, with one cell on either side of the tile */
    static constexpr int CLASS_ROW = (of::TX + 17 + 15) / 16 * 16;
    static constexpr int CLASS_BYTES = (of::TY + 2) * CLASS_ROW;
    static constexpr int CLASS_STAGE = (CLASS_BYTES + 127) / 128 * 128;
    static constexpr int CLASS_STAGES = T + 3 + LEAD;
    static constexpr int AT_CLASSES = (of::AT_REST + 127) / 128 * 128;
    static constexpr int AT_REST = AT_CLASSES + CLASS_STAGES * CLASS_STAGE;
    static constexpr int AT_TABLE = AT_REST + 256;
    static constexpr int BITS_BELOW_TABLE = 4; /* where a block has its sum of bits */
    static constexpr int SHARED_BYTES = 227 * 1024;

    /* In the region of the copies of classes, which begins 16 cells before the field. */
    static __host__ __device__ constexpr int class_x(int x)
    {
        return (x + 15) & ~15;
    }
};

template <typename S> struct classes_work : deep_work<S, classes<typename S::REAL, S::T>> {
    arch_tile_map class_map;
    int class_y, class_z; /* from a plane and a row of the region of copies to those of classes */
    int pair_row, pair_axis; /* bytes of the table: of a class, and of an axis or 0 */
    int of_pairs;            /* bytes of the g of a step, or 0 */
    int at_numbers;          /* where those of steps begin */
    int of_step;             /* bytes of a step, or 0 */
    uint32_t mask;           /* of the classes of four cells */
};

#endif
