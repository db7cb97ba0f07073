#include "solve/observe/self_check_flips.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/comm.h"

static bool read_flip(const char *text, struct flip *flip)
{
    static const char *const memories[] = {
        [FLIP_FIELD] = "field", [FLIP_COPY] = "copy",   [FLIP_CLASS] = "class",
        [FLIP_TABLE] = "table", [FLIP_PATCH] = "patch", [FLIP_SOURCE] = "source",
        [FLIP_HALO] = "halo",   [FLIP_HOST] = "host",   [FLIP_FACTOR] = "factor"};
    char memory[8];
    bool known = false;
    const bool complete = sscanf(text, "%" SCNd64 ":%d:%7[a-z]:%" SCNd64 ":%d", &flip->step,
                                 &flip->rank, memory, &flip->cell, &flip->bit) == 5;
    for (int m = FLIP_FIELD; complete && m < FLIP_MEMORIES && !known; m++) {
        flip->memory = (enum flip_memory)m;
        known = strcmp(memory, memories[m]) == 0;
    }
    return known && flip->step >= 0 && flip->cell >= 0 && flip->bit >= 0;
}

enum status flips_read(struct flips *flips)
{
    *flips = (struct flips){.count = 0};
    for (const char *text = getenv("ISOTHERM_FLIP_BITS"); text != NULL;) {
        FAIL_IF(flips->count == FLIPS_MOST || !read_flip(text, &flips->flip[flips->count++]),
                fail(STATUS_INPUT,
                     "ISOTHERM_FLIP_BITS: %s; give STEP:RANK:MEMORY:CELL:BIT with MEMORY one "
                     "of field, copy, class, table, factor, patch, source, halo, host",
                     text));
        text = strchr(text, ',');
        text = text != NULL ? text + 1 : NULL;
    }
    return STATUS_OK;
}

/* The bytes of patches and sources. */
static uint8_t *find_kept_byte(const struct stepper *stepper, const struct flip *flip)
{
    const struct classes *classes = stepper->level->classes;
    const struct source_files *files = &stepper->source_files;
    const struct box owned = layout_owned(&stepper->level->field->layout);
    for (int f = 0; flip->memory == FLIP_PATCH && f < FACE_COUNT; f++) {
        if (classes->d_patch[f] != NULL) {
            return (uint8_t *)classes->d_patch[f] + flip->cell % classes->patches.face[f].bytes;
        }
    }
    for (int s = 0; flip->memory == FLIP_SOURCE && files->file != NULL && s < files->count; s++) {
        if (files->file[s].d_values != NULL) {
            float *d_cell = files->file[s].d_values + flip->cell % box_cells(&owned);
            return (uint8_t *)d_cell + flip->bit / 8 % (int)sizeof *d_cell;
        }
    }
    return NULL;
}

/* The byte that holds the bit; NULL: the run has no such memory. */
static uint8_t *find_byte(const struct stepper *stepper, void *d_copy, const struct flip *flip)
{
    const struct field *field = stepper->level->field;
    const struct classes *classes = stepper->level->classes;
    const struct halo_plan *plan = &stepper->level->plan;
    const bool of_halo = flip->memory == FLIP_HALO;
    if (flip->memory == FLIP_PATCH || flip->memory == FLIP_SOURCE ||
        (of_halo && plan->nmessages == 0)) {
        return find_kept_byte(stepper, flip);
    }
    const struct box owned = of_halo ? plan->message[0].recv : layout_owned(&field->layout);
    const int64_t width = (int64_t)precision_bytes(field->layout.precision);
    int64_t cell[AXIS_COUNT];
    box_cell(&owned, flip->cell % box_cells(&owned), cell);
    if (flip->memory == FLIP_FIELD || flip->memory == FLIP_COPY || of_halo) {
        uint8_t *d_cells = flip->memory == FLIP_COPY ? d_copy : field->d_now;
        const int64_t at = layout_index(&field->layout, cell[0], cell[1], cell[2]);
        return d_cells + at * width + flip->bit / 8 % width;
    }
    if (stepper->problem->medium.nclasses == 0) {
        return NULL;
    }
    const int64_t element = layout_index(&classes->args.layout, cell[0], cell[1], cell[2]);
    if (flip->memory == FLIP_CLASS) {
        return (uint8_t *)classes->d_class + element;
    }
    if (flip->memory == FLIP_FACTOR) {
        uint8_t *d_factor = classes->d_factor[flip->cell % (AXIS_COUNT + 1)];
        const int64_t lines = (int64_t)classes->lines.bytes / width;
        const int64_t at = stepper->problem->medium.graded ? element % lines : element;
        return d_factor == NULL ? NULL : d_factor + at * width + flip->bit / 8 % width;
    }
    const int64_t at = (flip->cell * width + flip->bit / 8 % width) % (int64_t)classes->table_bytes;
    return (uint8_t *)classes->d_table[classes->slot] + at;
}

static enum status apply(struct stepper *stepper, void *d_copy, const struct flip *flip)
{
    struct engine *engine = stepper->level->engine;
    const struct runtime *runtime = engine->runtime;
    uint8_t byte = 0;
    uint8_t *d_byte = flip->rank == stepper->team->rank ? find_byte(stepper, d_copy, flip) : NULL;
    if (d_byte == NULL) {
        return STATUS_OK;
    }
    TRY(engine_wait(engine));
    TRY(runtime->copy_to_host(engine->bulk_queue, &byte, d_byte, 1));
    TRY(runtime->queue_wait(engine->bulk_queue));
    byte ^= (uint8_t)(1U << flip->bit % 8);
    TRY(runtime->copy_to_device(engine->bulk_queue, d_byte, &byte, 1));
    return runtime->queue_wait(engine->bulk_queue);
}

enum status flips_halo(struct flips *flips, struct stepper *stepper)
{
    for (int f = 0; f < flips->count; f++) {
        struct flip *flip = &flips->flip[f];
        if (flip->memory == FLIP_HALO && !flip->done && flip->step <= stepper->state->step) {
            flip->done = true;
            TRY(status_agree(stepper->team->comm, apply(stepper, flips->d_copy, flip)));
        }
    }
    return STATUS_OK;
}

void flips_host(struct flips *flips, const struct stepper *stepper, void *h_cells, size_t bytes)
{
    for (int f = 0; f < flips->count; f++) {
        struct flip *flip = &flips->flip[f];
        if (flip->memory == FLIP_HOST && !flip->done && flip->step <= stepper->state->step &&
            flip->rank == stepper->team->rank) {
            flip->done = true;
            for (size_t at = 0; at < bytes; at++) {
                ((uint8_t *)h_cells)[at] ^= (uint8_t)(1U << flip->bit % 8);
            }
        }
    }
}

enum status flips_advance(struct flips *flips, struct stepper *stepper, int64_t steps)
{
    const int64_t end = stepper->state->step + steps;
    for (int64_t step = stepper->state->step; step < end; step = stepper->state->step) {
        int64_t until = end;
        bool one = false;
        for (int f = 0; f < flips->count; f++) {
            struct flip *flip = &flips->flip[f];
            if (flip->memory >= FLIP_HALO) {
                continue;
            }
            if (!flip->done && flip->step > step && flip->step < until) {
                until = flip->step;
            }
            if (!flip->done && flip->step == step && !one) {
                flip->done = true;
                one = true; /* the next of this step when the step is repeated */
                TRY(status_agree(stepper->team->comm, apply(stepper, flips->d_copy, flip)));
            }
        }
        TRY(stepper_advance(stepper, until - step));
    }
    return STATUS_OK;
}
