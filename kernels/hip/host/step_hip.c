/* The backend `hip`: the choice of step kernel and launch shape. */
#include "kernels/hip/host/device_hip.h"

/* A kernel, and how it is launched. */
struct step_choice {
    hip_step_launcher *launch; /* NULL: hip_launch_step_cell, with other boxes */
    struct hip_launch_shape shape;
};

static enum status add_bits(struct queue *queue, const struct step_args *args, const void *d_plus,
                            const void *d_minus, const struct box *boxes, int nboxes)
{
    return hip_add_bits(queue, &(struct add_bits_args){.layout = args->layout,
                                                       .d_plus = d_plus,
                                                       .d_minus = d_minus,
                                                       .boxes = boxes,
                                                       .nboxes = nboxes,
                                                       .d_bits = args->d_bits});
}

enum status hip_rest_of_bits(struct queue *queue, const struct hip_step *step,
                             const struct box *boxes, int nboxes)
{
    const struct step_args *args = step->args;
    if (args->d_bits == NULL) {
        return STATUS_OK;
    }
    if (!step->has_bits) {
        return add_bits(queue, args, args->d_out, args->d_in, boxes, nboxes);
    }
    struct box below = *step->boxes, above = *step->boxes;
    below.hi[AXIS_Z] = below.lo[AXIS_Z] + step->bits_below;
    above.lo[AXIS_Z] = above.hi[AXIS_Z];
    above.hi[AXIS_Z] += step->bits_above;
    TRY(add_bits(queue, args, NULL, args->d_in, &below, 1));
    return add_bits(queue, args, args->d_in, NULL, &above, 1);
}

static enum status run_step(struct queue *queue, struct hip_step *step,
                            const struct step_choice *choice, const struct box *boxes, int nboxes)
{
    step->boxes = boxes;
    step->nboxes = nboxes;
    step->shape = choice->shape;
    step->has_bits = false;
    TRY(hip_check(choice->launch(step), "step kernel"));
    return hip_rest_of_bits(queue, step, boxes, nboxes);
}

typedef struct step_choice choose_function(const struct device *device, const struct layout *layout,
                                           const struct box *box);
static struct step_choice choose_kind(const struct device *device, const struct step_args *args,
                                      choose_function *choose, const struct box *box);

enum status hip_perfuse(struct queue *queue, const struct step_args *args, const struct box *box,
                        const struct box *done)
{
    struct box pieces[FACE_COUNT];
    const int count = args->d_perfusion != NULL ? box_shell(box, done, pieces) : 0;
    for (int p = 0; p < count; p++) {
        TRY(hip_sum_perfusion(queue, &(struct sum_perfusion_args){.layout = args->layout,
                                                                  .medium = &args->levels->medium,
                                                                  .d_field = args->d_in,
                                                                  .box = pieces[p],
                                                                  .d_sum = args->d_perfusion}));
    }
    return STATUS_OK;
}

enum { BOXES_AT_ONCE = 16 };

static enum status step_with(struct queue *queue, struct hip_step *step, choose_function *choose)
{
    const struct step_args *args = step->args;
    struct box left[BOXES_AT_ONCE];
    int nleft = 0;
    const struct step_choice cells = {.launch = hip_launch_step_cell};
    if (args->levels->kind == KIND_HIGH_ORDER && !args->levels->corrects) {
        TRY(hip_step_radius(queue, args));
        return hip_rest_of_bits(queue, step, args->boxes, args->nboxes);
    }
    for (int b = 0; b < args->nboxes; b++) {
        const struct box *box = &args->boxes[b];
        const struct step_choice choice = choose_kind(queue->device, args, choose, box);
        step->perfused = (struct box){{0}, {0}};
        if (choice.launch != NULL) {
            TRY(run_step(queue, step, &choice, box, 1));
        } else {
            left[nleft++] = *box;
        }
        TRY(hip_perfuse(queue, args, box, &step->perfused));
        if (nleft == BOXES_AT_ONCE) {
            TRY(run_step(queue, step, &cells, left, nleft));
            nleft = 0;
        }
    }
    return nleft > 0 ? run_step(queue, step, &cells, left, nleft) : STATUS_OK;
}

/* --- the variants ---------------------------------------------------------------------------- */

static struct step_choice choose_cell(const struct device *device, const struct layout *layout,
                                      const struct box *box)
{
    return (struct step_choice){.launch = NULL};
}

static struct step_choice choose_march(const struct device *device, const struct layout *layout,
                                       const struct box *box)
{
    const bool takes = hip_step_march_takes(layout) && !box_is_empty(box);
    return (struct step_choice){.launch = takes ? hip_launch_step_march : NULL};
}

/* Without the copy engine. Thin boxes share a launch. */
static struct step_choice choose_plain(const struct device *device, const struct layout *layout,
                                       const struct box *box)
{
    const int64_t march_cells = (int64_t)1 << 20;
    return box_cells(box) >= march_cells && box_extent(box, AXIS_X) >= 64 &&
                   box_extent(box, AXIS_Z) >= 8
               ? choose_march(device, layout, box)
               : choose_cell(device, layout, box);
}

#define DEFINE_CHOOSE(name)                                                                        \
    static struct step_choice choose_##name(const struct device *device,                           \
                                            const struct layout *layout, const struct box *box)    \
    {                                                                                              \
        return hip_step_staged_takes(layout, box)                                                  \
                   ? (struct step_choice){.launch = hip_launch_step_##name}                        \
                   : choose_plain(device, layout, box);                                            \
    }
DEFINE_CHOOSE(staged_free)
DEFINE_CHOOSE(staged_pair)
DEFINE_CHOOSE(staged_deep)
DEFINE_CHOOSE(staged_wide)

/* --- the production kernel ------------------------------------------------------------------- */

/* Measured (docs/records/hip.md). Boxes that fit the L2 cache need no pacing; with small planes,
 * more of them are in flight. */
static hip_step_launcher *staged_by_rule(const struct layout *layout, const struct box *box)
{
    const int64_t cache_bytes = (int64_t)40 << 20;
    const int64_t small_plane_bytes = (int64_t)5 << 19;
    const int64_t bytes = box_cells(box) * (int64_t)precision_bytes(layout->precision);
    if (bytes < cache_bytes) {
        return hip_launch_step_staged_free;
    }
    if (bytes / box_extent(box, AXIS_Z) < small_plane_bytes) {
        return hip_launch_step_staged_deep;
    }
    return layout->precision == PRECISION_FLOAT64 ? hip_launch_step_staged_wide
                                                  : hip_launch_step_staged_pair;
}

/* X(name, kernel, MiB of pacing window (0: its own), threads in x and planes of the march, KiB of
 * shared memory of its blocks). The rule first; few, since a run tries all. */
#define STAGED_SHAPES(X)                                                                           \
    X("rule", staged_free, 0, 0, 0, 0)                                                             \
    X("free", staged_free, 0, 0, 0, 0)                                                             \
    X("pair", staged_pair, 13, 0, 0, 0)                                                            \
    X("pair, window 9 MiB", staged_pair, 9, 0, 0, 0)                                               \
    X("pair, window 18 MiB", staged_pair, 18, 0, 0, 0)                                             \
    X("deep", staged_deep, 13, 0, 0, 0)                                                            \
    X("deep, window 9 MiB", staged_deep, 9, 0, 0, 0)                                               \
    X("deep, window 18 MiB", staged_deep, 18, 0, 0, 0)                                             \
    X("wide", staged_wide, 13, 0, 0, 0)                                                            \
    X("wide, window 9 MiB", staged_wide, 9, 0, 0, 0)                                               \
    X("wide, window 18 MiB", staged_wide, 18, 0, 0, 0)                                             \
    X("march", march, 0, 64, 64, 0)

/* On gfx90a 32 KiB leave 2 blocks of 4 waves at once per compute unit, 21 KiB 3: fewer blocks drift
 * less apart, so rows are still in the cache (docs/developers/gcd_model.md). */
#define MARCH_SHAPES(X)                                                                            \
    X("rule", march, 0, 64, 64, 32)                                                                \
    X("march 64 x 4, 64 planes, 3 blocks", march, 0, 64, 64, 21)                                   \
    X("march 64 x 4, 64 planes, all blocks", march, 0, 64, 64, 0)                                  \
    X("march 64 x 4, 16 planes, all blocks", march, 0, 64, 16, 0)                                  \
    X("march 64 x 4, 32 planes, 2 blocks", march, 0, 64, 32, 32)                                   \
    X("march 64 x 4, 32 planes, 3 blocks", march, 0, 64, 32, 21)                                   \
    X("march 64 x 4, 128 planes, 2 blocks", march, 0, 64, 128, 32)                                 \
    X("march 64 x 4, 128 planes, 3 blocks", march, 0, 64, 128, 21)                                 \
    X("march 32 x 8, 64 planes, 2 blocks", march, 0, 32, 64, 32)                                   \
    X("march 32 x 8, 64 planes, 3 blocks", march, 0, 32, 64, 21)                                   \
    X("march 128 x 2, 64 planes, 2 blocks", march, 0, 128, 64, 32)

#define SHAPE_NAME(name, kernel, window, wide, depth, shared) name,
#define SHAPE_CHOICE(name, kernel, window, wide, depth, shared)                                    \
    {hip_launch_step_##kernel, {window, wide, depth, shared}},
static const char *const staged_names[] = {STAGED_SHAPES(SHAPE_NAME)};
static const struct step_choice staged_shapes[] = {STAGED_SHAPES(SHAPE_CHOICE)};
static const char *const march_names[] = {MARCH_SHAPES(SHAPE_NAME)};
static const struct step_choice march_shapes[] = {MARCH_SHAPES(SHAPE_CHOICE)};

int hip_step_shapes(const char *const **names)
{
    const bool staged = hip_step_staged_is_built();
    *names = staged ? staged_names : march_names;
    return (int)(staged ? sizeof staged_names / sizeof staged_names[0]
                        : sizeof march_names / sizeof march_names[0]);
}

enum status hip_step_shape(struct device *device, enum precision precision,
                           const int64_t extent[AXIS_COUNT], int shape)
{
    struct shape_choice *choice = &device->shape[precision];
    *choice = (struct shape_choice){.number = shape};
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        choice->extent[axis] = extent[axis];
    }
    return STATUS_OK;
}

/* NULL where no shape was chosen for boxes of this size. */
static const struct step_choice *tuned(const struct device *device, const struct layout *layout,
                                       const struct box *box)
{
    const struct shape_choice *choice = &device->shape[layout->precision];
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        if (choice->number == 0 || choice->extent[axis] != box_extent(box, (enum axis)axis)) {
            return NULL;
        }
    }
    return hip_step_staged_is_built() ? &staged_shapes[choice->number]
                                      : &march_shapes[choice->number];
}

struct hip_launch_shape hip_tuned_shape(const struct device *device, const struct layout *layout,
                                        const struct box *box)
{
    const struct step_choice *choice = tuned(device, layout, box);
    return choice != NULL ? choice->shape : (struct hip_launch_shape){0};
}

/* Without the copy engine, in the shape that was chosen. */
static struct step_choice choose_march_shape(const struct device *device,
                                             const struct layout *layout, const struct box *box)
{
    const struct step_choice *shape = tuned(device, layout, box);
    const struct step_choice choice = choose_plain(device, layout, box);
    const bool shaped =
        choice.launch == hip_launch_step_march && shape != NULL && shape->shape.wide > 0;
    return shaped ? *shape : choice;
}

static struct step_choice choose_production(const struct device *device,
                                            const struct layout *layout, const struct box *box)
{
    const struct step_choice *shape = tuned(device, layout, box);
    if (hip_step_staged_takes(layout, box)) {
        return shape != NULL ? *shape : (struct step_choice){.launch = staged_by_rule(layout, box)};
    }
    return choose_march_shape(device, layout, box);
}

/* In a medium of classes, as staged_by_rule, with conductances per cell, or graded. */
static struct step_choice choose_classes(const struct device *device, const struct step_args *args,
                                         choose_function *choose, const struct box *box)
{
    const struct layout *layout = &args->layout;
    const int64_t cache_bytes = (int64_t)40 << 20;
    const int64_t bytes = box_cells(box) * (int64_t)precision_bytes(layout->precision);
    if (choose == choose_cell || choose == choose_march) {
        return choose(device, layout, box);
    }
    if (!hip_step_staged_takes(layout, box) || !hip_step_medium_takes(&args->levels->medium)) {
        return choose_march_shape(device, layout, box);
    }
    static hip_step_launcher *const launchers[KIND_COUNT][2] = {
        [KIND_CLASSES] = {hip_launch_step_medium_free, hip_launch_step_medium_deep},
        [KIND_FACES] = {hip_launch_step_faces_free, hip_launch_step_faces_deep},
        [KIND_GRADED] = {hip_launch_step_graded_free, hip_launch_step_graded_deep}};
    return (struct step_choice){.launch = launchers[args->levels->kind][bytes >= cache_bytes]};
}

/* A step that corrects is one of many: else the kernels for any chip do. */
static struct step_choice choose_correction(const struct device *device,
                                            const struct step_args *args, choose_function *choose,
                                            const struct box *box)
{
    const enum kind kind = args->levels->kind;
    if (kind == KIND_ENTHALPY || kind == KIND_HIGH_ORDER) {
        choose = choose_cell;
    } else if (choose != choose_march) {
        choose = choose_plain;
    }
    return choose(device, &args->layout, box);
}

/* In a medium of any kind; that of an enthalpy has the same kernels in every variant. */
static struct step_choice choose_kind(const struct device *device, const struct step_args *args,
                                      choose_function *choose, const struct box *box)
{
    if (args->levels->corrects && !hip_step_medium_corrects(args, box)) {
        return choose_correction(device, args, choose, box);
    }
    if (args->levels->kind == KIND_ENTHALPY) {
        const bool takes = hip_step_nonlinear_takes(&args->levels->medium, box);
        return (struct step_choice){.launch = takes ? hip_launch_step_nonlinear : NULL};
    }
    const enum kind kind = args->levels->kind;
    return kind == KIND_CLASSES || kind == KIND_FACES || kind == KIND_GRADED
               ? choose_classes(device, args, choose, box)
               : choose(device, &args->layout, box);
}

#define DEFINE_STEP(name, about)                                                                   \
    enum status hip_step_##name(struct queue *queue, const struct step_args *args)                 \
    {                                                                                              \
        struct hip_step step = hip_step_on(queue, args);                                           \
        return step_with(queue, &step, choose_##name);                                             \
    }
HIP_STEP_VARIANTS(DEFINE_STEP)

enum status hip_step_production(struct queue *queue, struct hip_step *step)
{
    return step_with(queue, step, choose_production);
}
