/* PNG pictures of a mid-plane, for a first look without a viewer. */
#ifndef ISOTHERM_IO_PICTURE_PICTURE_H
#define ISOTHERM_IO_PICTURE_PICTURE_H

#include <mpi.h>
#include <stdbool.h>

#include "config/settings.h"
#include "model/field.h"
#include "model/grid.h"

/* Whether this build has Cairo; without it picture_write fails. */
bool picture_supported(void);

/* Collective. Gather at most PICTURE_MAX_SAMPLES^2 cells of the plane in the middle of
 * setting->plane_normal, and write `directory`/pictures/step_<10 digits>.png on rank 0 (by
 * file_replace). 2D runs show their plane, 1D runs a curve T(x). min, max: the field's range at
 * this step, K, for range_auto. `path` (may be NULL) receives the file's name on rank 0 (4096
 * bytes). */
enum status picture_write(MPI_Comm comm, const char *directory, struct field *field,
                          const struct grid *grid, const struct picture_setting *setting,
                          const char *title, int64_t step, double time, double min, double max,
                          char *path) MUST_CHECK;

#endif
