#include "solve/hot.h"

void hot_image(const struct level *level, int n, int64_t offset[AXIS_COUNT])
{
    static const int step[] = {0, -1, 1};
    const struct placement *placement = &level->field->placement;
    const int image[AXIS_COUNT] = {step[n % 3], step[n / 3 % 3], step[n / 9]};
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        offset[axis] = placement->offset[axis] + image[axis] * placement->global_cells[axis];
    }
}

struct box hot_widened(const struct box *box, int64_t by)
{
    struct box wide = *box;
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        wide.lo[axis] -= by;
        wide.hi[axis] += by;
    }
    return wide;
}

/* All are disjoint: of those that meet the larger part of one box becomes one, else the part of the
 * new one outside. */
static void add_hot(struct hot *hot, struct box box)
{
    for (int b = 0; b < hot->count; b++) {
        const struct box *other = &hot->of[b];
        const struct box both = box_intersect(other, &box);
        if (hot->count < HOT_MOST && box_is_empty(&both)) {
            continue;
        }
        const struct box all = box_around(other, &box);
        if (hot->count < HOT_MOST &&
            4 * box_cells(&all) > 5 * (box_cells(other) + box_cells(&box))) {
            struct box pieces[FACE_COUNT];
            const int count = box_shell(&box, &both, pieces);
            for (int p = 0; p < count; p++) {
                add_hot(hot, pieces[p]);
            }
            return;
        }
        box = all;
        hot->of[b] = hot->of[--hot->count];
        b = -1;
    }
    hot->of[hot->count++] = box;
}

/* Where an image of source `s` heats cells that those of this rank depend on. */
static struct box heated_by(const struct level *level, const struct coefficients *levels,
                            int nsteps, int s, int image)
{
    const int reach = nsteps - 1;
    const struct box owned = layout_owned(&level->field->layout);
    struct box known = owned;
    struct box all = {{0, 0, 0}, {0, 0, 0}};
    int64_t to_local[AXIS_COUNT];
    for (int f = 0; f < FACE_COUNT; f++) {
        known = decomp_neighbour(level->decomp, level->rank, (enum face)f) >= 0
                    ? box_shrink_face(&known, (enum face)f, -reach)
                    : known;
    }
    hot_image(level, image, to_local);
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        to_local[axis] = -to_local[axis];
    }
    for (int step = 0; step < nsteps; step++) {
        struct box box = box_shift(&levels[step].sources[s].box, to_local);
        box = box_intersect(&box, &known);
        if (!box_is_empty(&box)) {
            all = box_is_empty(&all) ? box : box_around(&all, &box);
        }
    }
    if (!box_is_empty(&all)) {
        all = hot_widened(&all, reach);
        all = box_intersect(&all, &owned);
        for (int axis = AXIS_X; axis < AXIS_Z && level->classes->surfaces.count > 0; axis++) {
            all.lo[axis] = owned.lo[axis]; /* whole planes: see sum_surfaces in pass.c */
            all.hi[axis] = owned.hi[axis];
        }
    }
    return all;
}

static void find_hot(struct level *level, const struct coefficients *levels, int nsteps)
{
    const int images = level->halo != NULL ? HOT_IMAGES : 1;
    for (int n = 0; n < levels->nsources * images; n++) {
        const struct box box = heated_by(level, levels, nsteps, n / images, n % images);
        if (!box_is_empty(&box)) {
            add_hot(&level->hot, box);
        }
    }
}

/* Whether there are two fields for the steps between; taken when they are first needed. */
static bool has_fields(struct level *level)
{
    const struct engine *engine = level->engine;
    struct hot *hot = &level->hot;
    for (int n = 0; n < 2 && !hot->refused; n++) {
        hot->refused =
            hot->d_field[n] == NULL &&
            engine->runtime->memory_alloc(engine->device, layout_bytes(&level->field->layout),
                                          &hot->d_field[n]) != STATUS_OK;
    }
    if (hot->refused) {
        fail_clear();
    }
    return !hot->refused;
}

int hot_find(struct level *level, const struct coefficients *levels, int nsteps)
{
    const struct box owned = layout_owned(&level->field->layout);
    const int single = levels->nsources > 0 ? 1 : level->fused;
    struct hot *hot = &level->hot;
    int64_t cells = 0;
    hot->count = 0;
    if (nsteps == 1 || pass_share(nsteps, level->fused, level->whole) < nsteps ||
        coefficients_corrections(levels, nsteps) != 0) {
        return nsteps == 1 ? 1 : single;
    }
    find_hot(level, levels, nsteps);
    for (int b = 0; b < hot->count; b++) {
        cells += box_cells(&hot->of[b]);
    }
    /* single steps of more cells take longer than they gain (docs/records/hip.md) */
    const int eighths = levels->kind == KIND_UNIFORM ? 3 : 1;
    if (8 * cells > eighths * box_cells(&owned) || (cells > 0 && !has_fields(level))) {
        hot->count = 0;
        return single;
    }
    return level->fused;
}
