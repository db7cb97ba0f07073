/* Reductions of a field. Devices add integers or take extremes, so the result does not depend on
 * the order. */
#include "kernels/offload/target.h"

#include <math.h>

#include "kernels/cpu/tally.h"
#include "kernels/heat_cell.h"
#include "kernels/offload/device_offload.h"

/* The cells of a box by one number. */
struct sweep {
    struct box box;
    int64_t nx, ny;
    int64_t pitch_y, pitch_z; /* of the field */
    int64_t origin;
    int64_t row, plane; /* of the global grid, and the global index of cell (0, 0, 0) */
    int64_t first;
};

static struct sweep sweep_of(const struct layout *layout, const struct placement *placement,
                             const struct box *box)
{
    struct sweep s = {.box = *box,
                      .nx = box_extent(box, AXIS_X),
                      .ny = box_extent(box, AXIS_Y),
                      .pitch_y = layout->pitch_y,
                      .pitch_z = layout->pitch_z,
                      .origin = layout->origin};
    if (placement != NULL) {
        s.row = placement->global_cells[AXIS_X];
        s.plane = placement->global_cells[AXIS_Y] * s.row;
        s.first = placement->offset[AXIS_Z] * s.plane + placement->offset[AXIS_Y] * s.row +
                  placement->offset[AXIS_X];
    }
    return s;
}

struct place {
    int64_t element; /* of the field */
    int64_t index;   /* global */
};

KERNEL_INLINE struct place place_of(const struct sweep *s, int64_t n)
{
    const int64_t row = n / s->nx;
    const int64_t i = s->box.lo[AXIS_X] + n % s->nx;
    const int64_t j = s->box.lo[AXIS_Y] + row % s->ny;
    const int64_t k = s->box.lo[AXIS_Z] + row / s->ny;
    return (struct place){.element = s->origin + i + j * s->pitch_y + k * s->pitch_z,
                          .index = s->first + i + j * s->row + k * s->plane};
}

KERNEL_INLINE uint64_t bits_of_float64(double value)
{
    return (uint64_t)exact_bits(value);
}

KERNEL_INLINE uint64_t bits_of_float32(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* What one target region finds in the cells [begin, end) of a sweep, at most
 * EXACT_PARTS_MAX_TERMS. */
struct found {
    double min, max;
    struct exact_parts parts;
    int64_t nbad, first_bad; /* INT64_MAX: none */
};

#define FIND_CLAUSES                                                                               \
    map(tofrom : min, max, p0, p1, p2, nbad, first_bad) reduction(min : min, first_bad)            \
        reduction(max : max) reduction(+ : p0, p1, p2, nbad)

#define DEFINE_REDUCTIONS(type, suffix)                                                            \
    static struct found find_##suffix(int device, struct sweep s, int64_t begin, int64_t end,      \
                                      const type *field)                                           \
    {                                                                                              \
        double min = (double)INFINITY;                                                             \
        double max = -(double)INFINITY;                                                            \
        int64_t p0 = 0;                                                                            \
        int64_t p1 = 0;                                                                            \
        int64_t p2 = 0;                                                                            \
        int64_t nbad = 0;                                                                          \
        int64_t first_bad = INT64_MAX;                                                             \
        TARGET(TARGET_LOOP device(device) is_device_ptr(field) firstprivate(s) FIND_CLAUSES)       \
        for (int64_t n = begin; n < end; n++) {                                                    \
            const struct place at = place_of(&s, n);                                               \
            const double cell = (double)field[at.element];                                         \
            const bool good = fabs(cell) < EXACT_SUM_LIMIT; /* false for NaN */                    \
            const double low = good ? cell : (double)INFINITY;                                     \
            const double high = good ? cell : -(double)INFINITY;                                   \
            struct exact_parts one = {{0}};                                                        \
            exact_parts_add(&one, tally_term(cell));                                               \
            p0 += one.part[0];                                                                     \
            p1 += one.part[1];                                                                     \
            p2 += one.part[2];                                                                     \
            min = low < min ? low : min;                                                           \
            max = high > max ? high : max;                                                         \
            nbad += good ? 0 : 1;                                                                  \
            first_bad = !good && at.index < first_bad ? at.index : first_bad;                      \
        }                                                                                          \
        return (struct found){.min = min,                                                          \
                              .max = max,                                                          \
                              .parts = {{p0, p1, p2}},                                             \
                              .nbad = nbad,                                                        \
                              .first_bad = first_bad};                                             \
    }                                                                                              \
    static uint64_t hash_##suffix(int device, struct sweep s, int64_t count, const type *in)       \
    {                                                                                              \
        uint64_t hash = 0;                                                                         \
        TARGET(TARGET_LOOP device(device) is_device_ptr(in) firstprivate(s) \
                   map(tofrom : hash) reduction(+ : hash))                      \
        for (int64_t n = 0; n < count; n++) {                                                      \
            const struct place at = place_of(&s, n);                                               \
            hash += heat_cell_hash((uint64_t)at.index, bits_of_##suffix(in[at.element]));          \
        }                                                                                          \
        return hash;                                                                               \
    }
DEFINE_REDUCTIONS(double, float64)
DEFINE_REDUCTIONS(float, float32)

static void summarise_box(struct queue *queue, const struct layout *layout,
                          const struct placement *placement, const void *d_field,
                          const struct box *box, struct field_summary *summary)
{
    const int device = queue->device->number;
    const struct sweep s = sweep_of(layout, placement, box);
    const int64_t count = box_cells(box);
    *summary = (struct field_summary){.min = INFINITY, .max = -INFINITY, .first_bad = -1};
    for (int64_t begin = 0, end; begin < count; begin = end) {
        end = count - begin < EXACT_PARTS_MAX_TERMS ? count : begin + EXACT_PARTS_MAX_TERMS;
        const struct found f = layout->precision == PRECISION_FLOAT64
                                   ? find_float64(device, s, begin, end, d_field)
                                   : find_float32(device, s, begin, end, d_field);
        exact_sum_add_parts(&summary->sum, &f.parts);
        if (f.nbad < end - begin) { /* else they depend on the compiler's initial value */
            /* + 0.0: report 0 rather than -0, which compares equal */
            summary->min = f.min < summary->min ? f.min + 0.0 : summary->min;
            summary->max = f.max > summary->max ? f.max + 0.0 : summary->max;
        }
        summary->bad_cells += f.nbad;
        if (f.nbad > 0 && (summary->first_bad < 0 || f.first_bad < summary->first_bad)) {
            summary->first_bad = f.first_bad;
        }
    }
}

void offload_tally(struct queue *queue, const struct layout *layout, const void *d_field,
                   const struct box *box, struct exact_sum *h_sum)
{
    struct field_summary summary;
    summarise_box(queue, layout, NULL, d_field, box, &summary);
    exact_sum_add(h_sum, &summary.sum);
}

enum status offload_summarise(struct queue *queue, const struct layout *layout,
                              const struct placement *placement, const struct device_medium *medium,
                              const void *d_field, struct field_summary *h_summary)
{
    const struct box owned = layout_owned(layout);
    (void)medium;
    summarise_box(queue, layout, placement, d_field, &owned, h_summary);
    return STATUS_OK;
}

enum status offload_hash(struct queue *queue, const struct layout *layout,
                         const struct placement *placement, const void *d_field, uint64_t *h_hash)
{
    const int device = queue->device->number;
    const struct box owned = layout_owned(layout);
    const struct sweep s = sweep_of(layout, placement, &owned);
    *h_hash = layout->precision == PRECISION_FLOAT64
                  ? hash_float64(device, s, box_cells(&owned), d_field)
                  : hash_float32(device, s, box_cells(&owned), d_field);
    return STATUS_OK;
}

/* The planes across one axis: what a step along it, and along the other two, skips in memory. */
struct planes {
    int64_t count[AXIS_COUNT];
    int64_t stride[AXIS_COUNT];
    int64_t origin;
    bool counted; /* planes of another axis had the cells above the limit */
};

#define DEFINE_PLANES(type, suffix)                                                                \
    static void planes_##suffix(int device, struct planes p, const type *in, double limit,         \
                                uint64_t *keys, uint64_t *cells)                                   \
    {                                                                                              \
        TARGET(TARGET_LOOP device(device) is_device_ptr(in, keys, cells) map(to : p))              \
        for (int64_t n = 0; n < p.count[0]; n++) {                                                 \
            uint64_t highest = 0;                                                                  \
            uint64_t above = 0;                                                                    \
            for (int64_t b = 0; b < p.count[2]; b++) {                                             \
                for (int64_t a = 0; a < p.count[1]; a++) {                                         \
                    const double value = (double)                                                  \
                        in[p.origin + n * p.stride[0] + a * p.stride[1] + b * p.stride[2]];        \
                    const uint64_t key = class_key_of(value);                                      \
                    highest = key > highest ? key : highest;                                       \
                    above += value > limit ? 1 : 0;                                                \
                }                                                                                  \
            }                                                                                      \
            keys[n] = highest > keys[n] ? highest : keys[n];                                       \
            if (!p.counted && above > 0) {                                                         \
                TARGET(omp atomic update)                                                          \
                *cells += above;                                                                   \
            }                                                                                      \
        }                                                                                          \
    }
DEFINE_PLANES(double, float64)
DEFINE_PLANES(float, float32)

enum status offload_plane_maxima(struct queue *queue, const struct layout *layout,
                                 const void *d_field, double limit, uint64_t *d_planes)
{
    const int64_t stride[AXIS_COUNT] = {1, layout->pitch_y, layout->pitch_z};
    uint64_t *d_keys = d_planes + 1;
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        struct planes p = {.origin = layout->origin, .counted = axis > 0};
        for (int n = 0; n < AXIS_COUNT; n++) {
            p.count[n] = layout->cells[(axis + n) % AXIS_COUNT];
            p.stride[n] = stride[(axis + n) % AXIS_COUNT];
        }
        if (layout->precision == PRECISION_FLOAT64) {
            planes_float64(queue->device->number, p, d_field, limit, d_keys, d_planes);
        } else {
            planes_float32(queue->device->number, p, d_field, limit, d_keys, d_planes);
        }
        d_keys += layout->cells[axis];
    }
    return STATUS_OK;
}
