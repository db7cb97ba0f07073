#include "solve/state.h"

enum status state_create(struct engine *engine, const struct team *team, enum precision precision,
                         struct state *state)
{
    static const struct exact_sum zeros[DEVICE_SUMS];
    *state = (struct state){0};
    TRY(field_create(engine->backend, engine->device, engine->output_queue, &team->decomp,
                     team->rank, precision, &state->field));
    void *d_sums = NULL;
    TRY(engine->runtime->memory_alloc(engine->device, sizeof zeros, &d_sums));
    state->d_face_sum = (struct exact_sum *)d_sums;
    TRY(engine->runtime->copy_to_device(engine->bulk_queue, d_sums, zeros, sizeof zeros));
    return engine->runtime->queue_wait(engine->bulk_queue);
}

void state_destroy(struct engine *engine, struct state *state)
{
    field_destroy(state->field);
    if (state->d_face_sum != NULL) {
        engine->runtime->memory_free(engine->device, state->d_face_sum);
    }
    settings_changes_free(&state->changes);
}
