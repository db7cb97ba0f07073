/* The temperature on one rank: two buffers in device memory that alternate. Where properties depend
 * on temperature, the enthalpy of kernels/cell/nonlinear_cell.h; then outputs read the temperature.
 */
#pragma once

#include "config/settings.h"
#include "kernels/backend.h"
#include "model/space/decomp.h"

/* The cells of ambients, where outputs have no values. Borrowed from the classes; h_class NULL:
 * there are none. */
struct field_gaps {
    struct layout layout; /* of h_class */
    const uint8_t *h_class;
    uint8_t mask;
    bool is_gap[MEDIUM_CLASSES];
};

struct field {
    const struct backend *backend; /* borrowed, as are device and queue */
    struct device *device;
    struct queue *queue; /* used by field_read and field_write */
    struct layout layout;
    struct placement placement;
    void *d_now;   /* the complete current state */
    void *d_next;  /* to be overwritten */
    void *d_shown; /* of an enthalpy: its temperatures, in d_next until the next step; else NULL */
    void *d_stage; /* staging buffer in device memory ... */
    void *h_stage; /* ... and in pinned host memory, stage_bytes each */
    size_t stage_bytes;
    struct derived *derived; /* owned; NULL when no output uses any */
    struct field_gaps gaps;
};

/* Whether the owned cell of these local indices is one. */
static inline bool field_is_gap(const struct field_gaps *gaps, const int64_t cell[AXIS_COUNT])
{
    return gaps->h_class != NULL &&
           gaps->is_gap[gaps->mask & gaps->h_class[layout_index(&gaps->layout, cell[AXIS_X],
                                                                cell[AXIS_Y], cell[AXIS_Z])]];
}

/* Allocate; all values start as NaN, halo included. Halo layers exist only on axes where they are
 * exchanged. STATUS_MEMORY with the sizes when it does not fit. Not collective. */
enum status field_create(const struct backend *backend, struct device *device, struct queue *queue,
                         const struct decomp *decomp, int rank, enum precision precision,
                         struct field **field);
void field_destroy(struct field *field); /* takes NULL */

/* The layout of the field on this rank. STATUS_INPUT as layout_create. */
enum status field_layout(const struct backend *backend, const struct decomp *decomp, int rank,
                         enum precision precision, struct layout *layout);

/* Device memory in bytes that field_create needs on this rank. */
enum status field_bytes(const struct backend *backend, const struct decomp *decomp, int rank,
                        enum precision precision, uint64_t *bytes);

static inline void field_swap(struct field *field)
{
    void *now = field->d_now;
    field->d_now = field->d_next;
    field->d_next = now;
    field->d_shown = NULL;
}

/* The temperatures of the current step, for outputs. */
static inline const void *field_temperature(const struct field *field)
{
    return field->d_shown != NULL ? field->d_shown : field->d_now;
}

/* Copy a box of owned cells (local indices) of the current step between the device and a contiguous
 * host buffer [z][y][x] in the precision of the field. Blocks until done. Large boxes are copied in
 * pieces through the staging buffers. field_read gives temperatures, the others are of d_now;
 * field_read_now also reads the halo, where there is one. */
enum status field_read(struct field *field, const struct box *box, void *h_values);
enum status field_read_now(struct field *field, const struct box *box, void *h_values);
enum status field_write(struct field *field, const struct box *box, const void *h_values);
/* Likewise the cells of `args`, without its d_values, in its precision. */
enum status field_extract(struct field *field, const struct extract_args *args, void *h_values);
/* Read a box of a derived field, in any precision; write one, [z][y][x]. */
enum status field_read_derived(struct field *field, enum derived_kind kind, const struct box *box,
                               enum precision precision, void *h_values);
enum status field_write_derived(struct field *field, enum derived_kind kind, const struct box *box,
                                const double *h_values);

/* Sums of boxes that are queued. */
struct field_sums {
    int count;
    struct {
        struct exact_sum *total;
        struct field_summary sums[2];
    } piece[FACE_COUNT];
};

/* Queued. The exact sums of boxes of owned cells (local indices) of the current step, K, on the
 * device; `sums` and `queued` are complete after field_sums_end, and stay where they are until
 * then. Blocks where the stage holds fewer boxes. For a few layers of cells: those without whole
 * rows are copied to the stage. */
enum status field_sums_begin(struct field *field, const struct box *boxes, int nboxes,
                             struct field_sums *queued, struct exact_sum *sums);
/* Blocks until done. */
enum status field_sums_end(struct field *field, struct field_sums *queued);

struct grid;
struct shape_setting;

/* Set the cells of an initial shape (all kinds but INITIAL_FILE) in the current step, with all
 * OpenMP threads; the same bits for any number. `points`: see brush_begin. STATUS_INPUT, naming
 * the first cell in [z][y][x] order, when a formula gives no valid temperature. */
enum status field_paint(struct field *field, const struct grid *grid,
                        const struct shape_setting *shape, int points);
