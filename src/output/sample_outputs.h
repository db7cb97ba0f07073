/* Probes and lines: temperatures at points over time, each series with its own cadence. */
#ifndef ISOTHERM_OUTPUT_SAMPLE_OUTPUTS_H
#define ISOTHERM_OUTPUT_SAMPLE_OUTPUTS_H

#include "io/series/sampler.h"
#include "io/series/series.h"
#include "output/writer.h"
#include "solve/solver.h"

struct sample_output {
    const struct cadence *cadence; /* borrowed, and so is the name */
    const char *name;              /* NULL: the probes */
    struct sampler *sampler;
    struct series *series; /* rank 0 */
};

struct sample_outputs {
    int count;
    struct sample_output *output;
};

/* Rank 0; nothing is changed. Can all go on with what a run left? A damaged probes.h5 can. */
enum status sample_outputs_check(const struct run *run) MUST_CHECK;

/* Collective. Open all that are not turned off; restart_step as for series_open. */
enum status sample_outputs_open(const struct run *run, int64_t restart_step,
                                struct sample_outputs *outputs) MUST_CHECK;
void sample_outputs_close(struct sample_outputs *outputs); /* takes a zeroed one; does not flush */

/* Is any of them due at the present step? */
bool sample_outputs_due(const struct sample_outputs *outputs, const struct run *run);

/* Collective. Take the samples that are due at the present step. probes.h5 is written by the step
 * loop: all ranks first wait until the writer leaves HDF5 alone. */
enum status sample_outputs_take(struct sample_outputs *outputs, struct writer *writer,
                                struct run *run) MUST_CHECK;

/* Collective. All rows to the disk: before a checkpoint, so that a restart finds what it does not
 * compute again; and at the end. */
enum status sample_outputs_flush(struct sample_outputs *outputs, struct writer *writer,
                                 const struct run *run) MUST_CHECK;

#endif
