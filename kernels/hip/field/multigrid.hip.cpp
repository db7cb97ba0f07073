/* Operations of the multigrid, one thread per cell. */
#include "kernels/hip/device/visit.h"

#include "kernels/cell/multigrid_cell.h"

#define DEFINE(name, layout_of)                                                                    \
    struct name##_body {                                                                           \
        struct name##_args args;                                                                   \
        __device__ void operator()(int64_t i, int64_t j, int64_t k) const                          \
        {                                                                                          \
            const int64_t cell[AXIS_COUNT] = {i, j, k};                                            \
            name##_cell(&args, cell, element_at(args.layout_of, i, j, k));                         \
        }                                                                                          \
    };                                                                                             \
    enum status hip_##name(struct queue *queue, const struct name##_args *args)                    \
    {                                                                                              \
        return visit(queue, layout_owned(&args->layout_of), name##_body{*args}, #name);            \
    }
DEFINE(relax, grid.layout)
MULTIGRID_OPERATIONS(DEFINE)
