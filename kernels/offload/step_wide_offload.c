/* The step with a wider stencil, a thread per cell, and the sums over closed faces. */
#include "kernels/offload/target.h"

#include "kernels/cpu/tally.h"
#include "kernels/offload/device_offload.h"

#define INWARD_CLAUSES map(to : l, args, b) map(tofrom : p0, p1, p2) reduction(+ : p0, p1, p2)

/* Structures are mapped, as in step_offload.c. The sum of a row next to a face starts at the cell
 * `first`, which is at the face. */
#define DEFINE_WIDE(type, suffix)                                                                  \
    KERNEL_INLINE double near_##suffix(const struct wide_closure *closure, const double *weight,   \
                                       double given, const type *first, int64_t inward,            \
                                       double own, int radius)                                     \
    {                                                                                              \
        double sum = wide_given(given, closure->slope, closure->value, own);                       \
        for (int cell = 0; cell < 2 * radius; cell++) {                                            \
            sum = wide_near(weight[cell], (double)first[cell * inward], own, sum);                 \
        }                                                                                          \
        return sum;                                                                                \
    }                                                                                              \
    /* D along one axis of the cell c, at `at` of `cells`. */                                      \
    KERNEL_INLINE type difference_##suffix(const struct coefficients *args, enum axis axis,        \
                                           const type *c, int64_t stride, int64_t at,              \
                                           int64_t cells)                                          \
    {                                                                                              \
        const int radius = args->high_order.radius;                                                \
        const enum face low = face_of(axis, SIDE_MIN);                                             \
        const enum face high = face_of(axis, SIDE_MAX);                                            \
        const bool near_low = args->closed[low] && at < radius;                                    \
        const int64_t row = near_low ? at : cells - 1 - at;                                        \
        type sum = 0;                                                                              \
        if (!args->high_order.used[axis]) {                                                        \
            return sum;                                                                            \
        }                                                                                          \
        if (near_low || (args->closed[high] && row < radius)) {                                    \
            const struct wide_closure *closure = &args->high_order.closure[near_low ? low : high]; \
            const int64_t inward = near_low ? stride : -stride;                                    \
            return (type)near_##suffix(closure, closure->weight[row], closure->given[row],         \
                                       c - row * inward, inward, (double)*c, radius);              \
        }                                                                                          \
        for (int k = radius; k >= 1; k--) {                                                        \
            sum = wide_term_##suffix((type)args->high_order.weight[k - 1], *c, c[-k * stride],     \
                                     c[k * stride], sum);                                          \
        }                                                                                          \
        return sum;                                                                                \
    }                                                                                              \
    static void wide_##suffix(int device, struct layout l, struct coefficients args, struct box b, \
                              type *out, const type *in)                                           \
    {                                                                                              \
        TARGET(TARGET_ROWS(2) device(device) is_device_ptr(out, in) map(to : l, args, b))          \
        for (int64_t k = b.lo[AXIS_Z]; k < b.hi[AXIS_Z]; k++) {                                    \
            for (int64_t j = b.lo[AXIS_Y]; j < b.hi[AXIS_Y]; j++) {                                \
                LANES                                                                              \
                for (int64_t i = b.lo[AXIS_X]; i < b.hi[AXIS_X]; i++) {                            \
                    const int64_t at = layout_index(&l, i, j, k);                                  \
                    const int64_t *n = l.cells;                                                    \
                    const type *c = in + at;                                                       \
                    out[at] = wide_update_##suffix(                                                \
                        *c, difference_##suffix(&args, AXIS_X, c, 1, i, n[AXIS_X]),                \
                        difference_##suffix(&args, AXIS_Y, c, l.pitch_y, j, n[AXIS_Y]),            \
                        difference_##suffix(&args, AXIS_Z, c, l.pitch_z, k, n[AXIS_Z]),            \
                        (type)args.r[AXIS_X], (type)args.r[AXIS_Y], (type)args.r[AXIS_Z]);         \
                }                                                                                  \
            }                                                                                      \
        }                                                                                          \
    }                                                                                              \
    /* The inward flux of the cells [begin, end) of the box b next to a face. */                   \
    static struct exact_parts inward_##suffix(                                                     \
        int device, struct layout l, struct coefficients args, struct box b, enum face face,       \
        int64_t begin, int64_t end, const type *in)                                                \
    {                                                                                              \
        const int64_t strides[AXIS_COUNT] = {1, l.pitch_y, l.pitch_z};                             \
        const int64_t stride = strides[face_axis(face)];                                           \
        const int64_t inward = face_side(face) == SIDE_MIN ? stride : -stride;                     \
        const int64_t nx = box_extent(&b, AXIS_X);                                                 \
        const int64_t ny = box_extent(&b, AXIS_Y);                                                 \
        int64_t p0 = 0;                                                                            \
        int64_t p1 = 0;                                                                            \
        int64_t p2 = 0;                                                                            \
        TARGET(TARGET_LOOP device(device) is_device_ptr(in) INWARD_CLAUSES)                        \
        for (int64_t n = begin; n < end; n++) {                                                    \
            const type *c =                                                                        \
                in + layout_index(&l, b.lo[AXIS_X] + n % nx, b.lo[AXIS_Y] + n / nx % ny,           \
                                  b.lo[AXIS_Z] + n / nx / ny);                                     \
            const struct wide_closure *closure = &args.high_order.closure[face];                   \
            struct exact_parts one = {{0}};                                                        \
            exact_parts_add(                                                                       \
                &one, tally_term(near_##suffix(closure, closure->in, closure->in_given, c, inward, \
                                               (double)*c, args.high_order.radius)));              \
            p0 += one.part[0];                                                                     \
            p1 += one.part[1];                                                                     \
            p2 += one.part[2];                                                                     \
        }                                                                                          \
        return (struct exact_parts){{p0, p1, p2}};                                                 \
    }
DEFINE_WIDE(double, float64)
DEFINE_WIDE(float, float32)

static void add_flux(struct queue *queue, const struct layout *layout,
                     const struct coefficients *args, const void *d_in, const struct box *layer,
                     enum face face, struct exact_sum *sum)
{
    const int device = queue->device->number;
    const int64_t count = box_cells(layer);
    for (int64_t begin = 0, end; begin < count; begin = end) {
        end = count - begin < EXACT_PARTS_MAX_TERMS ? count : begin + EXACT_PARTS_MAX_TERMS;
        const struct exact_parts parts =
            layout->precision == PRECISION_FLOAT64
                ? inward_float64(device, *layout, *args, *layer, face, begin, end, d_in)
                : inward_float32(device, *layout, *args, *layer, face, begin, end, d_in);
        exact_sum_add_parts(sum, &parts);
    }
}

enum status offload_step_wide(struct queue *queue, const struct layout *layout,
                              const struct coefficients *args, void *d_out, const void *d_in,
                              const struct box *boxes, int nboxes)
{
    const int device = queue->device->number;
    for (int b = 0; b < nboxes; b++) {
        if (layout->precision == PRECISION_FLOAT64) {
            wide_float64(device, *layout, *args, boxes[b], d_out, d_in);
        } else {
            wide_float32(device, *layout, *args, boxes[b], d_out, d_in);
        }
    }
    for (int f = 0; f < FACE_COUNT; f++) {
        const enum face face = (enum face)f;
        struct exact_sum sum = {{0}};
        const bool wanted = args->high_order.used[face_axis(face)] && args->closed[face] &&
                            args->d_face_sum[face] != NULL;
        for (int b = 0; b < nboxes && wanted; b++) {
            const struct box layer = offload_layer_at(&boxes[b], layout, face);
            add_flux(queue, layout, args, d_in, &layer, face, &sum);
        }
        if (wanted) {
            offload_sum_add(queue, args->d_face_sum[face], sum);
        }
    }
    return STATUS_OK;
}
