/* The hot boxes of a pass: see struct hot. Their cells are advanced by single steps, so that
 * kernels of several steps need no sources. */
#pragma once

#include "solve/level.h"

/* Cells of the halo beyond the end of a periodic axis are those of the other end: images of a
 * source heat them. Image 0 is the source itself. offset: the global index of the field's cell (0,
 * 0, 0) for image n. */
enum { HOT_IMAGES = 27 };
void hot_image(const struct level *level, int n, int64_t offset[AXIS_COUNT]);

/* The box with `by` layers more on all sides. */
struct box hot_widened(const struct box *box, int64_t by);

/* Not collective: ranks may differ. Find level->hot for a pass of these steps, with memory for
 * them. Returns the most steps that a kernel of the pass may advance: 1 where sources move and the
 * boxes are too large, or there is no memory. */
int hot_find(struct level *level, const struct coefficients *levels, int nsteps);
