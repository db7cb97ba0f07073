/* Derived fields: what is kept of every cell over time, and the heat flux. In device memory, in
 * float64 whatever the temperature has: times that add up over millions of steps need it. */
#ifndef ISOTHERM_MODEL_DERIVED_H
#define ISOTHERM_MODEL_DERIVED_H

#include "config/settings.h"
#include "kernels/backend.h"

/* Of its datasets and of the key `derived`. */
struct derived_label {
    const char *name;
    const char *units;
    const char *long_name;
};
const struct derived_label *derived_label(enum derived_kind kind);

static inline bool derived_wants(unsigned mask, int kind)
{
    return (mask >> (unsigned)kind & 1U) != 0;
}
int derived_count(unsigned mask);

/* Of these, the ones that have a memory and so belong to the state. */
static inline unsigned derived_kept(unsigned mask)
{
    return mask & ~(1U << (unsigned)DERIVED_FLUX);
}

/* The kinds that the outputs of these settings show; 0: none. */
unsigned derived_of_settings(const struct settings *settings);

struct derived {
    const struct backend *backend; /* borrowed, and so is the device */
    struct device *device;
    unsigned mask;                   /* the kinds that there are */
    struct layout layout;            /* of all of them: the field's cells, no halo */
    double *d_values[DERIVED_COUNT]; /* NULL where not wanted; of the heat flux the square */
    bool started;                    /* a sample has been taken */
    int64_t sampled_step;            /* the latest one's */
    double sampled_time;             /* s */
};

/* Not collective. For a rank that owns so many cells. Everything starts as NaN. */
enum status derived_create(const struct backend *backend, struct device *device,
                           const int64_t cells[AXIS_COUNT], unsigned mask,
                           struct derived **derived) MUST_CHECK;
void derived_destroy(struct derived *derived); /* takes NULL */

/* Bytes of device memory on a rank that owns these cells. */
enum status derived_bytes(const struct box *owned, unsigned mask, uint64_t *bytes) MUST_CHECK;

#endif
