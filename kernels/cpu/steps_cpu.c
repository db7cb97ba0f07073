/* Several steps in one pass: of every box with the cells around it, one step after the other in
 * scratch memory. */
#include <stdlib.h>
#include <string.h>

#include "kernels/cpu/kernels_cpu.h"

/* A box and the cells around it as a subdomain of its own, so that kernels for owned cells advance
 * them all. */
struct region {
    struct box wide;                   /* in indices of the field */
    struct layout layout;              /* its first cell is (0, 0, 0) */
    struct box box;                    /* the box, in these indices */
    struct step_args args[STEPS_MOST]; /* closed: only where the region touches the face */
};

static struct region region_of(const struct layout *layout, const struct step_args *args,
                               int nsteps, const struct box *box)
{
    const struct box owned = layout_owned(layout);
    struct region r = {.wide = *box, .layout = *layout};
    int64_t shift[AXIS_COUNT];
    memcpy(r.args, args, (size_t)nsteps * sizeof *args);
    for (int face = 0; face < FACE_COUNT; face++) {
        const int axis = (int)face_axis((enum face)face);
        const int64_t before = face_side((enum face)face) == SIDE_MIN
                                   ? r.wide.lo[axis] - owned.lo[axis]
                                   : owned.hi[axis] - r.wide.hi[axis];
        const bool cut = args->closed[face] && before < nsteps;
        r.wide = box_shrink_face(&r.wide, (enum face)face, cut ? -before : -nsteps);
        for (int s = 0; s < nsteps; s++) {
            r.args[s].closed[face] = cut;
        }
    }
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        shift[axis] = -r.wide.lo[axis];
        r.layout.cells[axis] = box_extent(&r.wide, (enum axis)axis);
    }
    r.layout.origin = layout_index(layout, r.wide.lo[0], r.wide.lo[1], r.wide.lo[2]);
    r.box = box_shift(box, shift);
    return r;
}

/* One step of the region's box, with its face sums, and of the cells within `width` without. */
static void region_step(const struct region *r, const struct step_args *args, void *out,
                        const void *in, int width)
{
    const struct box all = layout_owned(&r->layout);
    struct step_args silent = *args;
    struct box wide = r->box;
    for (int face = 0; face < FACE_COUNT; face++) {
        silent.d_face_sum[face] = NULL;
        wide = box_shrink_face(&wide, (enum face)face, -width);
    }
    wide = box_intersect(&wide, &all);
    struct box pieces[FACE_COUNT];
    const int npieces = box_shell(&wide, &r->box, pieces);
    cpu_step_plain(&r->layout, args, out, in, &r->box, 1);
    cpu_step_plain(&r->layout, &silent, out, in, pieces, npieces);
}

enum status cpu_steps(const struct layout *layout, const struct step_args *args, int nsteps,
                      void *out, const void *in, const struct box *boxes, int nboxes)
{
    const size_t unit = LAYOUT_ALIGN_BYTES;
    const size_t bytes = (layout_bytes(layout) + unit - 1) / unit * unit;
    char *scratch = aligned_alloc(unit, 2 * bytes);
    TRY(CHECK_MEMORY(scratch != NULL, "no memory for a pass of several steps"));
    for (int b = 0; b < nboxes; b++) {
        const struct region region = region_of(layout, args, nsteps, &boxes[b]);
        const void *from = in;
        for (int s = 0; s < nsteps; s++) {
            void *to = s == nsteps - 1 ? out : scratch + (s % 2) * bytes;
            region_step(&region, &region.args[s], to, from, nsteps - 1 - s);
            from = to;
        }
    }
    free(scratch);
    return STATUS_OK;
}
