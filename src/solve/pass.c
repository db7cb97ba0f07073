#include "solve/pass.h"

#include <string.h>

#include "solve/hot.h"

/* Steps of a pass that one kernel advances, and the layers of the halo that it advances, too: those
 * that the later steps of the pass need. */
struct stage {
    int first, nsteps;
    int beyond;
};

/* The owned cells and some layers of the halo as a subdomain of its own, for kernels that take
 * owned cells only. */
struct region {
    struct layout layout;
    int64_t shift[AXIS_COUNT]; /* from indices of the field */
    struct box cells;          /* to be advanced, in indices of the field */
    int beyond;                /* layers of the halo among them */
};

static struct region region_of(const struct level *level, int beyond)
{
    const struct layout *layout = &level->field->layout;
    /* rows begin at aligned elements; the padding before them is as long */
    const int unit = LAYOUT_ALIGN_BYTES / (int)precision_bytes(layout->precision);
    struct region r = {.layout = *layout, .cells = layout_owned(layout), .beyond = beyond};
    struct box whole = r.cells;
    for (int f = 0; f < FACE_COUNT && beyond > 0; f++) {
        const enum face face = (enum face)f;
        if (decomp_neighbour(level->decomp, level->rank, face) >= 0) {
            const int rows = (beyond + unit - 1) / unit * unit;
            whole = box_shrink_face(&whole, face, face == FACE_X_MIN ? -rows : -beyond);
            r.cells = box_shrink_face(&r.cells, face, -beyond);
        }
    }
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        r.shift[axis] = -whole.lo[axis];
        r.layout.cells[axis] = box_extent(&whole, (enum axis)axis);
        r.layout.halo[axis] = layout->halo[axis] > beyond ? layout->halo[axis] - beyond : 0;
    }
    r.layout.origin = layout_index(layout, whole.lo[0], whole.lo[1], whole.lo[2]);
    return r;
}

/* The coefficients of a region; `silent`: without the sums of the ledger. */
static struct coefficients coefficients_in(const struct region *region,
                                           const struct coefficients *of_owned, bool silent)
{
    const int64_t *shift = region->shift;
    struct coefficients c = *of_owned;
    struct device_medium *m = &c.medium;
    if (silent) {
        memset(c.d_face_sum, 0, sizeof c.d_face_sum);
    }
    if (coefficients_medium(of_owned) == NULL) {
        return c;
    }
    m->layout.origin = layout_index(&m->layout, -shift[AXIS_X], -shift[AXIS_Y], -shift[AXIS_Z]);
    m->numbered = m->numbered && region->beyond == 0; /* rows of the halo have no numbers */
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        m->layout.cells[axis] = region->layout.cells[axis];
        m->layout.halo[axis] -= m->layout.halo[axis] > region->beyond ? region->beyond : 0;
    }
    for (int f = 0; f < FACE_COUNT; f++) {
        if (m->d_patch[f] != NULL) {
            const int64_t before =
                shift[face_up((enum face)f)] * m->patch_pitch[f] + shift[face_across((enum face)f)];
            m->d_patch[f] -= before;
            m->first_closure[f] -= m->first_closure[f] > 0 ? before : 0;
        }
    }
    return c;
}

/* The layout of boxes to be heated, and where they lie. */
struct heated {
    const struct region *region;
    const struct coefficients *coefficients;
    struct exact_sum *d_sum;
    const struct box *boxes; /* in indices of the region */
    int nboxes;
};

/* A source changes the field in place: the bits before it are taken off, those after it added. */
static enum status add_bits(const struct level *level, struct queue *queue,
                            const struct add_source_args *source, const struct heated *heated,
                            bool before)
{
    return level->d_bits == NULL || heated->d_sum == &level->d_sums[UNCOUNTED_SUM]
               ? STATUS_OK
               : ENQUEUE(level->engine->operations, add_bits, queue, .layout = source->layout,
                         .d_plus = before ? NULL : source->d_field,
                         .d_minus = before ? source->d_field : NULL, .boxes = &source->box,
                         .nboxes = 1, .d_bits = level->d_bits);
}

/* Each box was computed on this queue, and the next step waits for it there. */
static enum status add_sources(const struct level *level, struct queue *queue,
                               const struct heated *heated)
{
    const int images = heated->region->beyond > 0 ? HOT_IMAGES : 1;
    for (int n = 0; n < images * heated->coefficients->nsources; n++) {
        const struct heat_source *source = &heated->coefficients->sources[n / images];
        struct add_source_args args = {.layout = heated->region->layout,
                                       .medium = coefficients_medium(heated->coefficients),
                                       .d_field = level->field->d_next,
                                       .shape = source->shape,
                                       .d_values = source->d_values,
                                       .d_curve = source->d_curve,
                                       .d_old =
                                           source->d_curve != NULL ? level->field->d_now : NULL,
                                       .d_sum = heated->d_sum,
                                       .tiles = level->sleep.is_on ? &level->sleep.tiles : NULL};
        int64_t to_local[AXIS_COUNT];
        hot_image(level, n % images, args.offset);
        for (int axis = 0; axis < AXIS_COUNT; axis++) {
            args.offset[axis] -= heated->region->shift[axis];
            to_local[axis] = -args.offset[axis];
        }
        const struct box local = box_shift(&source->box, to_local);
        for (int b = 0; b < heated->nboxes; b++) {
            args.box = box_intersect(&local, &heated->boxes[b]);
            if (box_is_empty(&args.box)) {
                continue;
            }
            TRY(add_bits(level, queue, &args, heated, true));
            TRY(level->engine->operations->add_source(queue, &args));
            TRY(add_bits(level, queue, &args, heated, false));
        }
    }
    return STATUS_OK;
}

/* After a pass its two fields have the same values in cells of ambients, which later passes between
 * them may leave out. A super step also writes other values into its fields. */
static void note_ambients(struct level *level)
{
    if (level->classes->surfaces.active.begin != NULL && level->nslots == 1) {
        level->d_held[0] = level->field->d_now;
        level->d_held[1] = level->field->d_next;
    }
}

static const struct active_planes *active_of(const struct level *level, const struct region *region)
{
    const struct field *field = level->field;
    const bool both = (field->d_now == level->d_held[0] && field->d_next == level->d_held[1]) ||
                      (field->d_now == level->d_held[1] && field->d_next == level->d_held[0]);
    return both && region->beyond == 0 && level->d_bits == NULL ? &level->classes->surfaces.active
                                                                : NULL;
}

/* Advance boxes (in indices of the field) of a region, then heat them. */
static enum status launch(const struct level *level, struct queue *queue,
                          const struct region *region, bool silent,
                          const struct coefficients *coefficients, int nsteps,
                          const struct box *boxes, int nboxes)
{
    const struct field *field = level->field;
    struct coefficients levels[STEPS_MOST];
    struct box moved[FACE_COUNT];
    if (nboxes == 0) {
        return STATUS_OK;
    }
    for (int b = 0; b < nboxes; b++) {
        moved[b] = box_shift(&boxes[b], region->shift);
    }
    for (int s = 0; s < nsteps; s++) {
        levels[s] = coefficients_in(region, &coefficients[s], silent);
        levels[s].medium.active = active_of(level, region);
    }
    const struct device_medium *medium = coefficients_medium(levels);
    const bool is_perfused = nsteps == 1 && !silent && medium != NULL && medium->perfused;
    TRY(ENQUEUE(level->engine->operations, step, queue, .layout = region->layout, .levels = levels,
                .nsteps = nsteps, .d_out = field->d_next, .d_in = field->d_now, .boxes = moved,
                .nboxes = nboxes, .without = level->hot.of,
                .nwithout = nsteps > 1 ? level->hot.count : 0,
                .d_perfusion = is_perfused ? coefficients->d_source_sum : NULL,
                .tiles = level->sleep.is_on ? &level->sleep.tiles : NULL,
                .d_bits = silent ? NULL : level->d_bits));
    if (nsteps > 1) {
        return STATUS_OK; /* sources heat hot boxes only */
    }
    const struct heated heated = {.region = region,
                                  .coefficients = &levels[0],
                                  .d_sum = silent ? &level->d_sums[UNCOUNTED_SUM]
                                                  : coefficients->d_source_sum,
                                  .boxes = moved,
                                  .nboxes = nboxes};
    return add_sources(level, queue, &heated);
}

/* Queued. Advance boxes by `nsteps` steps (at most level->fused), from d_next = d_now, and heat
 * them by the sources of the coefficients, one for each step. */
static enum status advance_box(const struct level *level, struct queue *queue,
                               const struct coefficients *coefficients, int nsteps,
                               const struct box *boxes, int nboxes)
{
    const struct region owned = region_of(level, 0);
    return launch(level, queue, &owned, false, coefficients, nsteps, boxes, nboxes);
}

/* Does the ledger need sums over owned cells? */
static bool has_sums(const struct coefficients *steps, int nsteps)
{
    const struct device_medium *medium = coefficients_medium(steps);
    bool any = steps->nsources > 0 || (medium != NULL && medium->perfused);
    for (int n = 0; n < nsteps * FACE_COUNT; n++) {
        any = any || steps[n / FACE_COUNT].d_face_sum[n % FACE_COUNT] != NULL;
    }
    return any;
}

/* Advance the cells of a stage without those of `inner`. The ledger counts owned cells only: where
 * it needs sums, the cells of the halo are a launch of their own. */
static enum status advance_around(const struct level *level, struct queue *queue,
                                  const struct pass *pass, const struct stage *stage,
                                  const struct box *inner)
{
    const struct region region = region_of(level, stage->beyond);
    const struct coefficients *coefficients = &pass->levels[stage->first];
    const struct box owned = layout_owned(&level->field->layout);
    const bool apart =
        stage->beyond > 0 && (has_sums(coefficients, stage->nsteps) || level->d_bits != NULL);
    struct box boxes[FACE_COUNT];
    int nboxes = box_shell(apart ? &owned : &region.cells, inner, boxes);
    TRY(launch(level, queue, &region, false, coefficients, stage->nsteps, boxes, nboxes));
    nboxes = apart ? box_shell(&region.cells, &owned, boxes) : 0;
    return launch(level, queue, &region, true, coefficients, stage->nsteps, boxes, nboxes);
}

/* The heat of surfaces in planes on z from `first` to before `end`, in steps from d_now, whose halo
 * is complete on the queue where there are several. */
static enum status sum_planes(const struct level *level, struct queue *queue,
                              const struct coefficients *levels, int nsteps, int64_t first,
                              int64_t end)
{
    const struct surfaces *s = &level->classes->surfaces;
    const int64_t at = s->count > 0 ? s->h_first[first] : 0;
    if (s->count == 0 || levels->d_surface_sum == NULL || s->h_first[end] == at) {
        return STATUS_OK;
    }
    return ENQUEUE(level->engine->operations, sum_surfaces, queue, .layout = level->field->layout,
                   .levels = levels, .nsteps = nsteps, .d_field = level->field->d_now,
                   .count = s->h_first[end] - at, .d_elements = (int64_t *)s->d_elements + at,
                   .d_pairs = (int32_t *)s->d_pairs + at,
                   .d_faces = s->d_faces != NULL ? (int64_t *)s->d_faces + at : NULL);
}

/* The same of a stage; not of hot boxes, which beside surfaces have all cells of their planes. */
static enum status sum_surfaces(const struct level *level, struct queue *queue,
                                const struct pass *pass, const struct stage *stage)
{
    const int64_t planes = level->field->layout.cells[AXIS_Z];
    const struct hot *hot = &level->hot;
    for (int64_t k = 0, first, end; k < planes; k = end) {
        first = end = planes;
        for (int b = 0; b < hot->count; b++) {
            if (hot->of[b].lo[AXIS_Z] >= k && hot->of[b].lo[AXIS_Z] < first) {
                first = hot->of[b].lo[AXIS_Z];
                end = hot->of[b].hi[AXIS_Z];
            }
        }
        TRY(sum_planes(level, queue, &pass->levels[stage->first], stage->nsteps, k, first));
    }
    return STATUS_OK;
}

/* What surfaces exchange in a step from d_now, which has filled d_next on this queue. */
static enum status exchange_surfaces(const struct level *level, struct queue *queue,
                                     const struct coefficients *step)
{
    const struct classes *classes = level->classes;
    const struct surfaces *surfaces = &classes->surfaces;
    if (surfaces->count == 0 || surfaces->d_exchange == NULL) {
        return STATUS_OK;
    }
    return ENQUEUE(level->engine->operations, exchange_surfaces, queue,
                   .precision = level->field->layout.precision, .d_out = level->field->d_next,
                   .d_in = level->field->d_now, .count = surfaces->count,
                   .d_elements = surfaces->d_elements, .d_faces = surfaces->d_exchange,
                   .d_exchanges =
                       (const void *)((const char *)step->medium.d_table + classes->exchanges_at),
                   .dt = step->medium.dt, .d_sum = step->d_surface_sum, .d_bits = level->d_bits);
}

static const struct box nothing = {{0, 0, 0}, {0, 0, 0}};

/* After the kernels of the pass. The first step reads the field as they do, each further one fewer
 * cells around its box, and the last one writes the box. */
static enum status advance_hot(const struct level *level, struct queue *queue,
                               const struct pass *pass)
{
    const struct hot *hot = &level->hot;
    struct field field = *level->field;
    struct level steps = *level;
    steps.field = &field;
    for (int s = 0; s < pass->nsteps; s++) {
        const int margin = pass->nsteps - 1 - s;
        const struct region region = region_of(level, level->halo != NULL ? margin : 0);
        field.d_now = s == 0 ? level->field->d_now : hot->d_field[(s - 1) % 2];
        field.d_next = margin == 0 ? level->field->d_next : hot->d_field[s % 2];
        for (int b = 0; b < hot->count; b++) {
            struct box boxes[FACE_COUNT];
            const struct box *box = &hot->of[b];
            TRY(sum_planes(&steps, queue, &pass->levels[s], 1, box->lo[AXIS_Z], box->hi[AXIS_Z]));
            struct box wide = hot_widened(box, margin);
            wide = box_intersect(&wide, &region.cells);
            TRY(launch(&steps, queue, &region, false, &pass->levels[s], 1, box, 1));
            const int nboxes = box_shell(&wide, box, boxes);
            TRY(launch(&steps, queue, &region, true, &pass->levels[s], 1, boxes, nboxes));
        }
    }
    return STATUS_OK;
}

/* Let later work on `to` see that on `from`. */
static enum status join(struct engine *engine, struct queue *from, struct event *done,
                        struct queue *to)
{
    TRY(engine->runtime->event_record(from, done));
    return engine->runtime->event_wait(to, done);
}

static enum status stage_overlapped(struct level *level, const struct pass *pass,
                                    const struct stage *stage)
{
    struct engine *engine = level->engine;
    const struct runtime *runtime = engine->runtime;
    const struct field *field = level->field;
    struct halo_flight flight;

    phases_enter(level->phases, PHASE_HALO_BEGIN);
    TRY(runtime->event_record(engine->bulk_queue, engine->bulk_done));
    TRY(runtime->event_record(engine->halo_queue, engine->halo_done));
    TRY(halo_begin(level->halo, engine->halo_queue, field->d_now, &flight));

    phases_enter(level->phases, PHASE_INTERIOR);
    /* the interior reads cells that the previous shell wrote */
    TRY(runtime->event_wait(engine->bulk_queue, engine->halo_done));
    TRY(classes_follow_owned(level->classes, engine, field, engine->bulk_queue));
    if (!box_is_empty(&level->interior)) {
        TRY(advance_box(level, engine->bulk_queue, &pass->levels[stage->first], stage->nsteps,
                        &level->interior, 1));
    }

    phases_enter(level->phases, PHASE_HALO_END);
    TRY(halo_end(&flight));

    phases_enter(level->phases, PHASE_SHELL);
    /* and the shell reads cells that the previous interior wrote */
    TRY(runtime->event_wait(engine->halo_queue, engine->bulk_done));
    TRY(classes_follow_halo(level->classes, engine, field, engine->halo_queue));
    TRY(advance_around(level, engine->halo_queue, pass, stage, &level->interior));
    if (level->hot.count == 0 && level->classes->surfaces.d_exchange == NULL) {
        return STATUS_OK;
    }
    TRY(join(engine, engine->bulk_queue, engine->bulk_done, engine->halo_queue));
    TRY(exchange_surfaces(level, engine->halo_queue, &pass->levels[stage->first]));
    return level->hot.count > 0 ? advance_hot(level, engine->halo_queue, pass) : STATUS_OK;
}

bool pass_may_summarise(const struct level *level, enum kind kind, int nsteps)
{
    const struct surfaces *surfaces = &level->classes->surfaces;
    return !level->overlap && !level->sleep.is_on && surfaces->d_exchange == NULL &&
           surfaces->active.begin == NULL &&
           pass_share(nsteps, level->fused, level->whole) == nsteps &&
           kind == (nsteps > 1 ? KIND_UNIFORM : KIND_CLASSES);
}

static enum status stage_plain(struct level *level, const struct pass *pass,
                               const struct stage *stage)
{
    struct engine *engine = level->engine;
    const struct field *field = level->field;
    phases_enter(level->phases, PHASE_INTERIOR);
    if (pass->h_summary != NULL) {
        const struct box owned = layout_owned(&field->layout);
        return ENQUEUE(engine->operations, step, engine->bulk_queue, .layout = field->layout,
                       .levels = pass->levels, .nsteps = pass->nsteps, .d_out = field->d_next,
                       .d_in = field->d_now, .boxes = &owned, .nboxes = 1,
                       .h_summary = pass->h_summary, .placement = field->placement,
                       .d_bits = level->d_bits);
    }
    const struct box *apart = level->sleep.is_on ? &nothing : &level->apart;
    TRY(advance_around(level, engine->bulk_queue, pass, stage, apart));
    if (!box_is_empty(apart)) {
        TRY(advance_box(level, engine->bulk_queue, &pass->levels[stage->first], stage->nsteps,
                        apart, 1));
    }
    TRY(exchange_surfaces(level, engine->bulk_queue, &pass->levels[stage->first]));
    return level->hot.count > 0 ? advance_hot(level, engine->bulk_queue, pass) : STATUS_OK;
}

static enum status first_stage(struct level *level, const struct pass *pass,
                               const struct stage *stage)
{
    struct engine *engine = level->engine;
    const struct field *field = level->field;
    if (level->overlap && !level->sleep.is_on) {
        return stage_overlapped(level, pass, stage);
    }
    if (level->halo != NULL) {
        TRY(level_exchange(level));
        TRY(join(engine, engine->halo_queue, engine->halo_done, engine->bulk_queue));
    }
    TRY(classes_follow_owned(level->classes, engine, field, engine->bulk_queue));
    TRY(classes_follow_halo(level->classes, engine, field, engine->bulk_queue));
    return stage_plain(level, pass, stage);
}

/* The steps of the stage that begins with step `first`; pairs as in scheme_sts.c. */
static int stage_length(const struct pass *pass, int first, int most, int whole)
{
    const int n = pass_share(pass->nsteps - first, most, whole);
    const bool divides = first + n < pass->nsteps && pass->levels[first + n].corrects;
    return divides && n > 1 ? n - 1 : n;
}

enum status pass_queue(struct level *level, const struct pass *pass)
{
    struct engine *engine = level->engine;
    const int most = hot_find(level, pass->levels, pass->nsteps);
    const int radius = level->radius;
    struct stage stage = {.nsteps = stage_length(pass, 0, most, level->whole)};
    stage.beyond = radius * (pass->nsteps - stage.nsteps);
    if (level->sleep.is_on) {
        sleep_begin_step(&level->sleep, pass->levels);
    }
    TRY(first_stage(level, pass, &stage));
    level->exchanges += level->halo != NULL;
    TRY(sum_surfaces(level, level->overlap ? engine->halo_queue : engine->bulk_queue, pass,
                     &stage));
    note_ambients(level);
    field_swap(level->field);
    if (level->sleep.is_on) { /* the next pass may be one that overlaps, with a halo */
        level->sleep.tiles.all = false;
        return level->halo == NULL
                   ? STATUS_OK
                   : join(engine, engine->bulk_queue, engine->bulk_done, engine->halo_queue);
    }
    if (stage.nsteps == pass->nsteps) {
        return STATUS_OK;
    }
    TRY(join(engine, engine->halo_queue, engine->halo_done, engine->bulk_queue));
    while (stage.first + stage.nsteps < pass->nsteps) {
        stage.first += stage.nsteps;
        stage.nsteps = stage_length(pass, stage.first, most, level->whole);
        stage.beyond = radius * (pass->nsteps - stage.first - stage.nsteps);
        TRY(classes_follow_owned(level->classes, engine, level->field, engine->bulk_queue));
        TRY(stage_plain(level, pass, &stage));
        TRY(sum_surfaces(level, engine->bulk_queue, pass, &stage));
        field_swap(level->field);
    }
    return join(engine, engine->bulk_queue, engine->bulk_done, engine->halo_queue);
}
