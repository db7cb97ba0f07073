/* The step of a uniform medium, and the sums over closed faces. */
#include "kernels/offload/target.h"

#include "kernels/heat_cell.h"
#include "kernels/offload/device_offload.h"

/* A field from its cell (0, 0, 0) on. */
struct view {
    int64_t n[AXIS_COUNT];
    int64_t pitch_y, pitch_z;
};

static struct view view_of(const struct layout *layout)
{
    return (struct view){.n = {layout->cells[AXIS_X], layout->cells[AXIS_Y], layout->cells[AXIS_Z]},
                         .pitch_y = layout->pitch_y,
                         .pitch_z = layout->pitch_z};
}

/* Structures are mapped, not private: clang 15 keeps private ones in scratch memory. */
#define DEFINE_STEP(type, suffix)                                                                  \
    struct rules_##suffix {                                                                        \
        type r[AXIS_COUNT], a[FACE_COUNT], b[FACE_COUNT];                                          \
        bool closed[FACE_COUNT];                                                                   \
    };                                                                                             \
    static struct rules_##suffix rules_of_##suffix(const struct coefficients *args)                \
    {                                                                                              \
        struct rules_##suffix rules;                                                               \
        for (int axis = 0; axis < AXIS_COUNT; axis++) {                                            \
            rules.r[axis] = (type)args->r[axis];                                                   \
        }                                                                                          \
        for (int face = 0; face < FACE_COUNT; face++) {                                            \
            rules.a[face] = (type)args->a[face];                                                   \
            rules.b[face] = (type)args->b[face];                                                   \
            rules.closed[face] = args->closed[face];                                               \
        }                                                                                          \
        return rules;                                                                              \
    }                                                                                              \
    KERNEL_INLINE type neighbour_##suffix(const struct rules_##suffix *rules, const type *cell,    \
                                          int64_t step, enum face face, bool at_face)              \
    {                                                                                              \
        return at_face && rules->closed[face]                                                      \
                   ? heat_outside_##suffix(*cell, rules->a[face], rules->b[face])                  \
                   : cell[step];                                                                   \
    }                                                                                              \
    KERNEL_INLINE void step_cell_##suffix(const struct view *v,                                    \
                                          const struct rules_##suffix *rules, type *out,           \
                                          const type *in, int64_t i, int64_t j, int64_t k)         \
    {                                                                                              \
        const int64_t at = i + j * v->pitch_y + k * v->pitch_z;                                    \
        const type *c = in + at;                                                                   \
        out[at] = heat_cell_##suffix(                                                              \
            *c, neighbour_##suffix(rules, c, -1, FACE_X_MIN, i == 0),                              \
            neighbour_##suffix(rules, c, 1, FACE_X_MAX, i == v->n[AXIS_X] - 1),                    \
            neighbour_##suffix(rules, c, -v->pitch_y, FACE_Y_MIN, j == 0),                         \
            neighbour_##suffix(rules, c, v->pitch_y, FACE_Y_MAX, j == v->n[AXIS_Y] - 1),           \
            neighbour_##suffix(rules, c, -v->pitch_z, FACE_Z_MIN, k == 0),                         \
            neighbour_##suffix(rules, c, v->pitch_z, FACE_Z_MAX, k == v->n[AXIS_Z] - 1),           \
            rules->r[AXIS_X], rules->r[AXIS_Y], rules->r[AXIS_Z]);                                 \
    }                                                                                              \
    static void cells_##suffix(int device, struct view v, struct rules_##suffix rules,             \
                               struct box b, type *out, const type *in)                            \
    {                                                                                              \
        TARGET(TARGET_ROWS(2) device(device) is_device_ptr(out, in) map(to : v, rules, b))         \
        for (int64_t k = b.lo[AXIS_Z]; k < b.hi[AXIS_Z]; k++) {                                    \
            for (int64_t j = b.lo[AXIS_Y]; j < b.hi[AXIS_Y]; j++) {                                \
                LANES                                                                              \
                for (int64_t i = b.lo[AXIS_X]; i < b.hi[AXIS_X]; i++) {                            \
                    step_cell_##suffix(&v, &rules, out, in, i, j, k);                              \
                }                                                                                  \
            }                                                                                      \
        }                                                                                          \
    }                                                                                              \
    static void rows_##suffix(int device, struct view v, struct rules_##suffix rules,              \
                              struct box b, type *out, const type *in)                             \
    {                                                                                              \
        TARGET(omp target teams distribute collapse(2) device(device) is_device_ptr(out, in)       \
                   map(to                                                                          \
                       : v, rules, b))                                                             \
        for (int64_t k = b.lo[AXIS_Z]; k < b.hi[AXIS_Z]; k++) {                                    \
            for (int64_t j = b.lo[AXIS_Y]; j < b.hi[AXIS_Y]; j++) {                                \
                TARGET(TEAM_LOOP)                                                                  \
                for (int64_t i = b.lo[AXIS_X]; i < b.hi[AXIS_X]; i++) {                            \
                    step_cell_##suffix(&v, &rules, out, in, i, j, k);                              \
                }                                                                                  \
            }                                                                                      \
        }                                                                                          \
    }
DEFINE_STEP(double, float64)
DEFINE_STEP(float, float32)

struct box offload_layer_at(const struct box *box, const struct layout *layout, enum face face)
{
    const enum axis axis = face_axis(face);
    const int64_t at = face_side(face) == SIDE_MIN ? 0 : layout->cells[axis] - 1;
    struct box layer = *box;
    layer.lo[axis] = layer.lo[axis] > at ? layer.lo[axis] : at;
    layer.hi[axis] = layer.hi[axis] < at + 1 ? layer.hi[axis] : at + 1;
    return layer;
}

void offload_sum_add(struct queue *queue, struct exact_sum *d_sum, struct exact_sum sum)
{
    TARGET(omp target device(queue->device->number) is_device_ptr(d_sum) firstprivate(sum))
    exact_sum_add(d_sum, &sum);
}

static void add_face_sums(struct queue *queue, const struct layout *layout,
                          const struct coefficients *args, const void *d_in,
                          const struct box *boxes, int nboxes)
{
    for (int face = 0; face < FACE_COUNT; face++) {
        struct exact_sum sum = {{0}};
        struct exact_sum *d_sum = args->closed[face] ? args->d_face_sum[face] : NULL;
        for (int b = 0; b < nboxes && d_sum != NULL; b++) {
            const struct box layer = offload_layer_at(&boxes[b], layout, (enum face)face);
            offload_tally(queue, layout, d_in, &layer, &sum);
        }
        if (d_sum != NULL) {
            offload_sum_add(queue, d_sum, sum);
        }
    }
}

typedef void cells_float64_function(int device, struct view v, struct rules_float64 rules,
                                    struct box b, double *out, const double *in);
typedef void cells_float32_function(int device, struct view v, struct rules_float32 rules,
                                    struct box b, float *out, const float *in);

static enum status step(struct queue *queue, const struct layout *layout,
                        const struct coefficients *args, void *d_out, const void *d_in,
                        const struct box *boxes, int nboxes, cells_float64_function *of_float64,
                        cells_float32_function *of_float32)
{
    const int device = queue->device->number;
    for (int b = 0; b < nboxes; b++) {
        if (box_is_empty(&boxes[b])) {
            continue;
        }
        if (layout->precision == PRECISION_FLOAT64) {
            of_float64(device, view_of(layout), rules_of_float64(args), boxes[b],
                       (double *)d_out + layout->origin, (const double *)d_in + layout->origin);
        } else {
            of_float32(device, view_of(layout), rules_of_float32(args), boxes[b],
                       (float *)d_out + layout->origin, (const float *)d_in + layout->origin);
        }
    }
    add_face_sums(queue, layout, args, d_in, boxes, nboxes);
    return STATUS_OK;
}

enum status offload_step(struct queue *queue, const struct layout *layout,
                         const struct coefficients *args, void *d_out, const void *d_in,
                         const struct box *boxes, int nboxes)
{
    if (args->kind == KIND_HIGH_ORDER) {
        return offload_step_wide(queue, layout, args, d_out, d_in, boxes, nboxes);
    }
    return step(queue, layout, args, d_out, d_in, boxes, nboxes, cells_float64, cells_float32);
}

enum status offload_step_rows(struct queue *queue, const struct layout *layout,
                              const struct coefficients *args, void *d_out, const void *d_in,
                              const struct box *boxes, int nboxes)
{
    return step(queue, layout, args, d_out, d_in, boxes, nboxes, rows_float64, rows_float32);
}
