#include "solve/observe/self_check_kept.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/comm.h"
#include "base/log.h"

/* Sums of bits in device memory: of the field, as passes have changed it and as it was at the
 * start; of memory that is compared; and of messages. */
enum { OF_PASSES, OF_START, OF_MEMORY, OF_SENT, OF_RECEIVED = OF_SENT + HALO_MESSAGES_MAX };
enum { BITS = OF_RECEIVED + HALO_MESSAGES_MAX };

/* ---- sums of bits ---------------------------------------------------------------------------- */

/* Begin a sum with 0, and add the bits of boxes of some memory. Queued. */
static enum status sum_boxes(const struct self_check *check, const struct layout *layout,
                             const void *d_from, const struct box *boxes, int nboxes, int sum)
{
    static const uint32_t zero = 0;
    struct engine *engine = check->stepper->level->engine;
    TRY(engine->runtime->copy_to_device(engine->bulk_queue, &check->d_bits[sum], &zero,
                                        sizeof zero));
    return ENQUEUE(engine->operations, add_bits, engine->bulk_queue, .layout = *layout,
                   .d_plus = d_from, .boxes = boxes, .nboxes = nboxes,
                   .d_bits = &check->d_bits[sum]);
}

static enum status read_sums(const struct self_check *check, uint32_t sums[BITS])
{
    struct engine *engine = check->stepper->level->engine;
    TRY(engine->runtime->copy_to_host(engine->bulk_queue, sums, check->d_bits,
                                      BITS * sizeof *sums));
    return engine->runtime->queue_wait(engine->bulk_queue);
}

/* Of whole words, as rows of float32. */
static enum status sum_words(const struct self_check *check, const void *d_from, size_t bytes,
                             uint32_t *bits)
{
    enum { ROW = 4096 };
    const int64_t words = (int64_t)(bytes / sizeof(float));
    const int64_t rows = words / ROW;
    const struct layout layout = {.precision = PRECISION_FLOAT32,
                                  .cells = {ROW, rows + 1, 1},
                                  .pitch_y = ROW,
                                  .pitch_z = words,
                                  .elements = words};
    const struct box boxes[] = {{{0, 0, 0}, {ROW, rows, 1}},
                                {{0, rows, 0}, {words % ROW, rows + 1, 1}}};
    uint32_t sums[BITS];
    TRY(sum_boxes(check, &layout, d_from, boxes, 2, OF_MEMORY));
    TRY(read_sums(check, sums));
    *bits = sums[OF_MEMORY];
    return STATUS_OK;
}

/* ---- what steps never write ------------------------------------------------------------------ */

/* NULL: the run has none of it. */
static enum status keep(struct self_check *check, void *d_memory, size_t bytes)
{
    struct engine *engine = check->stepper->level->engine;
    struct kept *kept = &check->kept[check->nkept];
    if (d_memory == NULL) {
        return STATUS_OK;
    }
    *kept = (struct kept){.d_memory = d_memory, .bytes = bytes};
    TRY(engine->runtime->memory_alloc(engine->device, bytes, &kept->d_copy));
    check->nkept++;
    TRY(engine->runtime->copy_on_device(engine->bulk_queue, kept->d_copy, d_memory, bytes));
    return sum_words(check, d_memory, bytes, &kept->bits);
}

uint64_t kept_bytes(const struct problem *problem, const struct box *owned)
{
    uint64_t bytes = source_files_bytes(problem, owned);
    for (int f = 0; f < FACE_COUNT; f++) {
        const struct box layer = box_inside(owned, (enum face)f, 1);
        bytes +=
            boundary_is_painted(&problem->boundary, (enum face)f) ? (uint64_t)box_cells(&layer) : 0;
    }
    return bytes;
}

enum status kept_create(struct self_check *check)
{
    struct stepper *stepper = check->stepper;
    struct level *level = stepper->level;
    struct classes *classes = level->classes;
    const struct source_files *files = &stepper->source_files;
    const struct runtime *runtime = level->engine->runtime;
    const struct box owned = layout_owned(&level->field->layout);
    void *d_bits = NULL;
    TRY(runtime->memory_alloc(level->engine->device, BITS * sizeof(uint32_t), &d_bits));
    check->d_bits = d_bits;
    stepper->checked.each_pass = stepper->problem->run.memory_check == TRUTH_YES;
    level->d_bits = stepper->checked.each_pass ? d_bits : NULL;
    const size_t files_count = files->file != NULL ? (size_t)files->count : 0;
    check->kept = calloc(1 + AXIS_COUNT + 1 + FACE_COUNT + files_count, sizeof *check->kept);
    TRY(CHECK_MEMORY(check->kept != NULL, "no memory for the self-check"));
    const size_t elements = (size_t)classes->args.layout.elements;
    TRY(keep(check, classes->d_class, elements));
    for (int axis = 0; axis <= AXIS_COUNT; axis++) {
        const size_t cells = axis == AXIS_COUNT && stepper->problem->medium.graded ? 0 : elements;
        TRY(keep(check, classes->d_factor[axis],
                 cells * precision_bytes(stepper->problem->precision) +
                     (axis == AXIS_COUNT ? classes->lines.bytes : 0)));
    }
    for (int f = 0; f < FACE_COUNT; f++) {
        TRY(keep(check, classes->d_patch[f], (size_t)classes->patches.face[f].bytes));
    }
    for (size_t s = 0; s < files_count; s++) {
        TRY(keep(check, files->file[s].d_values, (size_t)box_cells(&owned) * sizeof(float)));
    }
    return STATUS_OK;
}

void kept_destroy(struct self_check *check)
{
    struct level *level = check->stepper->level;
    for (int n = 0; n < check->nkept; n++) {
        level->engine->runtime->memory_free(level->engine->device, check->kept[n].d_copy);
    }
    level->engine->runtime->memory_free(level->engine->device, check->d_bits);
    level->d_bits = NULL;
    free(check->kept);
}

enum status kept_copy_classes(struct self_check *check, bool back)
{
    struct engine *engine = check->stepper->level->engine;
    const struct kept *kept = &check->kept[0];
    return check->stepper->problem->medium.changes
               ? engine->runtime->copy_on_device(engine->bulk_queue,
                                                 back ? kept->d_memory : kept->d_copy,
                                                 back ? kept->d_copy : kept->d_memory, kept->bytes)
               : STATUS_OK;
}

/* Restore it where it was wrong. */
static enum status mend(struct self_check *check, const struct kept *kept, bool *wrong)
{
    struct engine *engine = check->stepper->level->engine;
    uint32_t bits = 0;
    TRY(sum_words(check, kept->d_memory, kept->bytes, &bits));
    if (bits == kept->bits) {
        return STATUS_OK;
    }
    *wrong = true;
    TRY(sum_words(check, kept->d_copy, kept->bytes, &bits));
    FAIL_IF(bits != kept->bits,
            fail(STATUS_DEVICE,
                 "self check: classes, factors, patches or sources and their copy have "
                 "changed; restart from the last checkpoint"));
    return engine->runtime->copy_on_device(engine->bulk_queue, kept->d_memory, kept->d_copy,
                                           kept->bytes);
}

/* This rank only. */
static enum status mend_all(struct self_check *check, bool *wrong)
{
    struct stepper *stepper = check->stepper;
    struct engine *engine = stepper->level->engine;
    struct classes *classes = stepper->level->classes;
    const int first = stepper->problem->medium.changes ? 1 : 0;
    TRY(engine_wait(engine));
    for (int n = first; n < check->nkept; n++) {
        TRY(mend(check, &check->kept[n], wrong));
    }
    if (classes->dt != 0) {
        SCOPED_FREE void *h_table = malloc(classes->table_bytes);
        TRY(CHECK_MEMORY(h_table != NULL, "no memory for a table of materials"));
        TRY(engine->runtime->copy_to_host(engine->bulk_queue, h_table,
                                          classes->d_table[classes->slot], classes->table_bytes));
        TRY(engine->runtime->queue_wait(engine->bulk_queue));
        *wrong =
            *wrong || memcmp(h_table, classes->h_table[classes->slot], classes->table_bytes) != 0;
        classes->dt = *wrong ? 0 : classes->dt;
    }
    return engine_wait(engine);
}

/* ---- the field ------------------------------------------------------------------------------- */

/* Begin a sum with the bits of this rank's cells in a field. Queued after all earlier work. */
static enum status sum_field(const struct self_check *check, const void *d_field, int sum)
{
    const struct level *level = check->stepper->level;
    const struct box owned = layout_owned(&level->field->layout);
    TRY(engine_settle(level->engine));
    return sum_boxes(check, &level->field->layout, d_field, &owned, 1, sum);
}

static enum status compare_field(const struct self_check *check, const void *d_field, int with,
                                 bool *wrong)
{
    uint32_t sums[BITS];
    TRY(sum_field(check, d_field, OF_MEMORY));
    TRY(read_sums(check, sums));
    *wrong = sums[OF_MEMORY] != sums[with];
    return STATUS_OK;
}

enum status kept_rebase(const struct self_check *check, bool is_start)
{
    const struct level *level = check->stepper->level;
    TRY(is_start ? sum_field(check, level->field->d_now, OF_START) : STATUS_OK);
    TRY(level->d_bits != NULL ? sum_field(check, level->field->d_now, OF_PASSES) : STATUS_OK);
    return engine_wait(level->engine);
}

enum status kept_check_start(const struct self_check *check, bool *wrong)
{
    return compare_field(check, check->d_start, OF_START, wrong);
}

static enum status check_one(struct self_check *check, bool *wrong, bool is_memory,
                             const char *what)
{
    const int64_t step = check->stepper->state->step;
    char device[DEVICE_TEXT];
    TRY(self_check_agree(check, wrong, device));
    if (*wrong) {
        log_warn("self check: %s on %s between steps %" PRId64 " and %" PRId64 "%s", what, device,
                 check->verified, step,
                 is_memory ? ". Outputs of the steps in between may be wrong" : "");
    }
    return STATUS_OK;
}

static enum status sum_messages(const struct self_check *check, uint32_t sums[BITS])
{
    const struct level *level = check->stepper->level;
    const struct field *field = level->field;
    TRY(engine_wait(level->engine));
    for (int m = 0; m < level->plan.nmessages; m++) {
        const struct halo_message *message = &level->plan.message[m];
        TRY(sum_boxes(check, &field->layout, field->d_now, &message->send, 1, OF_SENT + m));
        TRY(sum_boxes(check, &field->layout, field->d_now, &message->recv, 1, OF_RECEIVED + m));
    }
    return read_sums(check, sums);
}

enum status kept_check_halo(struct self_check *check, bool *wrong)
{
    struct stepper *stepper = check->stepper;
    const struct halo_plan *plan = &stepper->level->plan;
    MPI_Comm comm = stepper->team->comm;
    const int count = stepper->level->halo != NULL ? plan->nmessages : 0;
    uint32_t sums[BITS] = {0};
    uint32_t theirs[HALO_MESSAGES_MAX];
    MPI_Request requests[2 * HALO_MESSAGES_MAX];
    *wrong = false;
    TRY(status_agree(comm, level_exchange(stepper->level)));
    TRY(flips_halo(&check->flips, stepper));
    TRY(status_agree(comm, count > 0 ? sum_messages(check, sums) : STATUS_OK));
    for (int m = 0; m < count; m++) {
        const struct halo_message *message = &plan->message[m];
        TRY_MPI(MPI_Irecv(&theirs[m], 1, MPI_UINT32_T, message->peer, message->recv_tag, comm,
                          &requests[2 * m]));
        TRY_MPI(MPI_Isend(&sums[OF_SENT + m], 1, MPI_UINT32_T, message->peer, message->send_tag,
                          comm, &requests[2 * m + 1]));
    }
    TRY_MPI(MPI_Waitall(2 * count, requests, MPI_STATUSES_IGNORE));
    for (int m = 0; m < count; m++) {
        *wrong = *wrong || theirs[m] != sums[OF_RECEIVED + m];
    }
    return check_one(check, wrong, false,
                     "the halo differs from the cells of a neighbour, and is not "
                     "used,");
}

enum status kept_check(struct self_check *check, bool *wrong)
{
    struct stepper *stepper = check->stepper;
    MPI_Comm comm = stepper->team->comm;
    bool field_wrong = false;
    *wrong = false;
    TRY(status_agree(comm, mend_all(check, wrong)));
    TRY(check_one(check, wrong, true,
                  "classes of cells, their coefficients, patches or sources have "
                  "changed and are restored"));
    if (stepper->checked.each_pass) {
        const void *d_now = stepper->level->field->d_now;
        TRY(status_agree(comm, compare_field(check, d_now, OF_PASSES, &field_wrong)));
        TRY(check_one(check, &field_wrong, true, "a bit of the field has changed in memory"));
    }
    *wrong = *wrong || field_wrong;
    check->verified = stepper->state->step;
    return STATUS_OK;
}
