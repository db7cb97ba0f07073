/* PNG pictures of a mid-plane, for a first look without a viewer. */
#pragma once

#include <mpi.h>
#include <stdbool.h>

#include "config/settings.h"
#include "io/picture/picture_draw.h"
#include "model/field/field.h"
#include "model/space/grid.h"

/* True if this build has Cairo; without it picture_write fails. */
bool picture_supported(void);

/* Collective. Gather at most PICTURE_MAX_SAMPLES^2 cells of the plane in the middle of
 * setting->plane_normal, and write `directory`/pictures/step_<10 digits>.png on rank 0 (by
 * file_replace). 2D runs show their plane, 1D runs a curve T(x). min, max: the field's range at
 * this step, K, for range_auto. `path` (may be NULL) receives the file's name on rank 0 (4096
 * bytes). */
enum status picture_write(MPI_Comm comm, const char *directory, struct field *field,
                          const struct grid *grid, const struct picture_setting *setting,
                          const char *title, int64_t step, double time, double min, double max,
                          char *path);

/* ---- for pictures of other data ---- */

/* A plane of a grid: sample p of a direction is the cell in the middle of the p-th of `samples`
 * equal parts. A graded axis has as many as show its smallest cell. */
struct picture_plane {
    enum axis axis[2]; /* across and up */
    enum axis normal;
    int64_t level; /* global index on the normal axis */
    int64_t cells[2];
    int samples[2];
    struct grid grid;
};

/* The plane in the middle of the grid across `normal`; for a 2D grid the whole grid. */
struct picture_plane picture_plane_choose(const struct grid *grid, enum axis normal);
/* Copy the samples that lie in `part`, of global indices, to their places in `values`,
 * [up][across]. `read` gets the cells of a box, [z][y][x]. */
typedef enum status picture_reader(void *context, const struct box *box, double *cells);
enum status picture_read(const struct picture_plane *plane, const struct box *part,
                         picture_reader *read, void *context, double *values);
/* The view of a plane, without title, step, time and values. min, max: see picture_write. */
struct picture_view picture_view_of(const struct grid *grid, const struct picture_plane *plane,
                                    const struct picture_setting *setting, double min, double max);

/* Colours for the curves of a chart that people with any colour vision can distinguish. */
enum { PICTURE_CURVE_COLORS = 7 };
uint32_t picture_curve_color(int number);

/* Widen a range by a share at both ends; a range that is empty or not finite gets an extent.
 */
void picture_widen(double range[2], double margin);
