/* The temperature on one rank: two copies in device memory that take turns. */
#ifndef ISOTHERM_MODEL_FIELD_H
#define ISOTHERM_MODEL_FIELD_H

#include "kernels/backend.h"
#include "model/decomp.h"

struct field {
    const struct backend *backend; /* borrowed, and so are device and queue */
    struct device *device;
    struct queue *queue; /* the one that field_read/field_write use */
    struct layout layout;
    struct placement placement;
    void *d_now;   /* complete state of the present step */
    void *d_next;  /* to be overwritten */
    void *d_stage; /* contiguous staging buffer in device memory ... */
    void *h_stage; /* ... and in pinned host memory, stage_bytes each */
    size_t stage_bytes;
    struct derived *derived; /* what follows from it (derived.h); NULL when nobody asks. Owned */
};

/* Allocate; everything, halo included, starts as NaN. Halo layers only on axes where they are
 * exchanged. Returns STATUS_MEMORY with the numbers when it does not fit. Not collective. */
enum status field_create(const struct backend *backend, struct device *device, struct queue *queue,
                         const struct decomp *decomp, int rank, enum precision precision,
                         struct field **field) MUST_CHECK;
void field_destroy(struct field *field); /* takes NULL */

/* Bytes of device memory that field_create will take for this rank. */
enum status field_bytes(const struct backend *backend, const struct decomp *decomp, int rank,
                        enum precision precision, uint64_t *bytes) MUST_CHECK;

static inline void field_swap(struct field *field)
{
    void *now = field->d_now;
    field->d_now = field->d_next;
    field->d_next = now;
}

/* Copy a box of owned cells (local indices) of the present step between the device and a
 * contiguous host buffer [z][y][x] in the field's own precision. Blocks until done. Boxes of any
 * size: moved in pieces of whole planes or rows through the staging buffers. */
enum status field_read(struct field *field, const struct box *box, void *h_values) MUST_CHECK;
enum status field_write(struct field *field, const struct box *box,
                        const void *h_values) MUST_CHECK;

struct grid;
struct initial_setting;

/* Paint an initial shape (all kinds but INITIAL_FILE) over the present step, by all OpenMP threads:
 * the same bits whatever their number. STATUS_INPUT, naming the first cell in [z][y][x] order, when
 * a formula gives no temperature there. */
enum status field_paint(struct field *field, const struct grid *grid,
                        const struct initial_setting *shape) MUST_CHECK;

#endif
