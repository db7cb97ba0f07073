/* The media of `bench kernels --medium`: classes in a pattern, with coefficients of their own, or
 * blocks of alloys that melt. */
#ifndef ISOTHERM_BENCH_BENCH_MEDIUM_H
#define ISOTHERM_BENCH_BENCH_MEDIUM_H

#include "base/text/options.h"
#include "kernels/backend.h"

/* The media that the words name, PATTERN:CLASSES, in device memory, for a field of this layout with
 * six closed faces. STATUS_INPUT for an unknown word. Blocks. */
enum status bench_media_create(const struct backend *backend, struct device *device,
                               struct queue *queue, const struct layout *field,
                               const struct option_list *words,
                               struct device_medium media[OPTIONS_MAX_LIST]) MUST_CHECK;
void bench_media_destroy(const struct backend *backend, struct device *device,
                         struct device_medium media[OPTIONS_MAX_LIST]);

/* STATUS_INPUT unless every word names a medium. */
enum status bench_media_check(const struct option_list *words) MUST_CHECK;

#endif
