/* The study `diffusion`: one step of forward Euler for the diffusion equation in one, two or three
 * dimensions, with central differences of order 2 radius. A new cell is the sum of weight times
 * cell over the points of the stencil, in the order of their addresses, by fma from -0 on. */
#pragma once

#include "kernels/study/study.h"

enum { DIFFUSION_MOST_RADIUS = 4 };

/* Parameters of the problem: the weight of the cell itself, and on each axis of its neighbours at
 * distances 1 to DIFFUSION_MOST_RADIUS. */
static inline int diffusion_weight_at(int axis, int distance)
{
    return distance == 0 ? 0 : axis * DIFFUSION_MOST_RADIUS + distance;
}

/* The axes in use are the first ones. */
static inline int diffusion_dimensions(const struct study_problem *problem)
{
    const int64_t *cells = problem->layout.cells;
    return cells[AXIS_Z] > 1 ? 3 : cells[AXIS_Y] > 1 ? 2 : 1;
}
