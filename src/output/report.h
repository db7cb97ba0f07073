/* report.json: all facts of a run in one file. */
#ifndef ISOTHERM_OUTPUT_REPORT_H
#define ISOTHERM_OUTPUT_REPORT_H

#include "output/writer.h"
#include "solve/diagnostics.h"

/* Call on rank 0. `wall`: the time of the time loop, s. */
enum status report_write(const char *path, const struct stepper *stepper, struct writer *writer,
                         const struct diagnostics *final, uint64_t field_hash,
                         double wall) MUST_CHECK;

#endif
