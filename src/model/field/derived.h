/* Derived fields: per-cell records over time, and the heat flux. In device memory and always in
 * float64: times that accumulate over millions of steps need it. */
#pragma once

#include "config/settings.h"
#include "kernels/backend.h"

/* For its dataset and the key `derived`. */
struct derived_label {
    const char *name;
    const char *units;
    const char *long_name;
};
const struct derived_label *derived_label(enum derived_kind kind);
/* The label of the dataset T, the field itself. */
const struct derived_label *derived_field_label(void);

/* The number of a kind for the kernel `track`; -1: none. */
int derived_tracked(enum derived_kind kind);

static inline bool derived_wants(unsigned mask, int kind)
{
    return (mask >> (unsigned)kind & 1U) != 0;
}
int derived_count(unsigned mask);

/* Those that depend on the past and so belong to the state; and of them those that are sampled. */
static inline unsigned derived_kept(unsigned mask)
{
    return mask & ~(1U << (unsigned)DERIVED_FLUX | 1U << (unsigned)DERIVED_LIQUID);
}
static inline unsigned derived_sampled(unsigned mask)
{
    return derived_kept(mask) & ~(1U << (unsigned)DERIVED_MATERIAL);
}

/* The kinds that the outputs of these settings use, and that of the materials where they change; 0:
 * none. */
unsigned derived_of_settings(const struct settings *settings);

struct derived {
    const struct backend *backend; /* borrowed, as is the device */
    struct device *device;
    unsigned mask;                   /* the kinds in use */
    struct layout layout;            /* of each: the cells of the field, no halo */
    double *d_values[DERIVED_COUNT]; /* NULL where not in use; the heat flux squared */
    bool started;                    /* a sample has been taken */
    int64_t sampled_step;            /* of the latest sample */
    double sampled_time;             /* s */
};

/* For a rank that owns `cells`. All values start as NaN. Not collective. */
enum status derived_create(const struct backend *backend, struct device *device,
                           const int64_t cells[AXIS_COUNT], unsigned mask,
                           struct derived **derived);
void derived_destroy(struct derived *derived); /* takes NULL */

/* Bytes of device memory on a rank that owns these cells. */
enum status derived_bytes(const struct box *owned, unsigned mask, uint64_t *bytes);
