/* Thermal impedances of probes, (T - reference) / power in K/W: further columns of probes.csv. */
#pragma once

#include "config/settings.h"
#include "solve/stepper.h"

struct impedances {
    const struct output_setting *requests; /* borrowed */
    int count;
    char *columns; /* ",NAME,NAME" */
    char *notes;   /* lines that say what they are relative to */
    double *row;   /* the temperatures of all probes, then the impedances */
};

/* STATUS_MEMORY. Destroy it also after a failure. */
enum status impedances_create(const struct output_setting *requests, struct impedances *impedances);
void impedances_destroy(struct impedances *impedances); /* takes a zeroed one */

/* Collective, agreed. Complete impedances->row for these temperatures of the present step, K; NULL
 * except on rank 0. The power is that of the step before, or of the first one; NaN where it is 0.
 */
enum status impedances_take(struct impedances *impedances, const struct stepper *stepper,
                            const double *temperatures);
