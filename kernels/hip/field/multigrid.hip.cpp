/* Operations of the multigrid, one thread per cell. */
#include "kernels/hip/device/visit.h"

#include "kernels/cell/multigrid_cell.h"

/* body(cell, element) for the owned cells. */
template <typename BODY> struct each_cell {
    struct layout layout;
    BODY body;
    __device__ void operator()(int64_t i, int64_t j, int64_t k) const
    {
        const int64_t cell[AXIS_COUNT] = {i, j, k};
        body(cell, element_at(layout, i, j, k));
    }
};

template <typename BODY>
static enum status visit_owned(struct queue *queue, const struct layout &layout, const BODY &body,
                               const char *what)
{
    return visit(queue, layout_owned(&layout), each_cell<BODY>{layout, body}, what);
}

static __device__ __forceinline__ double operand_at(const struct operand &operand,
                                                    const int64_t *cell, double otherwise)
{
    if (operand.d_values == nullptr) {
        return otherwise;
    }
    const int64_t at = element_at(operand.layout, cell[AXIS_X], cell[AXIS_Y], cell[AXIS_Z]);
    return operand.layout.precision == PRECISION_FLOAT64
               ? static_cast<const double *>(operand.d_values)[at]
               : (double)static_cast<const float *>(operand.d_values)[at];
}

struct combine_cell {
    struct combine_args a;
    const uint8_t *classes; /* NULL: y is an operand */
    const double *weight;
    struct layout of_class;
    int mask;
    __device__ void operator()(const int64_t *cell, int64_t at) const
    {
        const double y =
            classes == nullptr
                ? operand_at(a.y, cell, 1)
                : weight[classes[element_at(of_class, cell[AXIS_X], cell[AXIS_Y], cell[AXIS_Z])] &
                         mask];
        const double value = fma(a.factor * operand_at(a.x, cell, 1), y, operand_at(a.z, cell, 0));
        if (a.layout.precision == PRECISION_FLOAT64) {
            static_cast<double *>(a.d_out)[at] = value;
        } else {
            static_cast<float *>(a.d_out)[at] = (float)value;
        }
    }
};

enum status hip_combine(struct queue *queue, const struct combine_args *args)
{
    combine_cell body = {*args, nullptr, nullptr, {}, 0};
    if (args->medium != nullptr) {
        body.classes = args->medium->d_class;
        body.weight = args->medium->d_weight;
        body.of_class = args->medium->layout;
        body.mask = args->medium->mask;
    }
    return visit_owned(queue, args->layout, body, "combine");
}

struct relax_cell {
    struct relax_args a;
    __device__ void operator()(const int64_t *cell, int64_t at) const
    {
        const struct multigrid_around around = multigrid_around(&a.grid, cell);
        a.d_out[at] = multigrid_relaxed(&a.grid, a.d_e, a.d_r, a.weight, &around, at);
    }
};

enum status hip_relax(struct queue *queue, const struct relax_args *args)
{
    return visit_owned(queue, args->grid.layout, relax_cell{*args}, "relax");
}

struct flow_out_cell {
    struct flow_out_args a;
    __device__ void operator()(const int64_t *cell, int64_t at) const
    {
        const struct multigrid_around around = multigrid_around(&a.grid, cell);
        a.d_out[at] = -multigrid_flow(&a.grid, a.d_e, &around, at).heat;
    }
};

enum status hip_flow_out(struct queue *queue, const struct flow_out_args *args)
{
    return visit_owned(queue, args->grid.layout, flow_out_cell{*args}, "flow_out");
}

struct coarsen_cell {
    struct coarsen_args a;
    __device__ void operator()(const int64_t *cell, int64_t at) const
    {
        for (int axis = 0; axis < AXIS_COUNT; axis++) {
            if (a.coarse.active[axis]) {
                multigrid_coarsen(&a.fine, &a.coarse, axis, cell, at);
            }
        }
    }
};

enum status hip_coarsen(struct queue *queue, const struct coarsen_args *args)
{
    return visit_owned(queue, args->coarse.layout, coarsen_cell{*args}, "coarsen");
}

struct gather_up_cell {
    struct gather_up_args a;
    __device__ void operator()(const int64_t *cell, int64_t at) const
    {
        a.d_out[at] = multigrid_gathered(&a.fine, &a.coarse, a.d_r, cell, at);
    }
};

enum status hip_gather_up(struct queue *queue, const struct gather_up_args *args)
{
    return visit_owned(queue, args->coarse.layout, gather_up_cell{*args}, "gather_up");
}

struct interpolate_cell {
    struct interpolate_args a;
    __device__ void operator()(const int64_t *cell, int64_t at) const
    {
        a.d_out[at] = multigrid_interpolated(&a.coarse, a.d_e, cell);
    }
};

enum status hip_interpolate(struct queue *queue, const struct interpolate_args *args)
{
    return visit_owned(queue, args->fine.layout, interpolate_cell{*args}, "interpolate");
}
