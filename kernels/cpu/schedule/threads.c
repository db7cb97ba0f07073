#include "kernels/cpu/schedule/threads.h"

#include "base/clock.h"

const struct step_kind *const step_kinds[KIND_COUNT] = {
    [KIND_UNIFORM] = &step_uniform,
    [KIND_CLASSES] = &step_classes,
    [KIND_ENTHALPY] = &step_enthalpy,
    [KIND_HIGH_ORDER] = &step_high_order,
};

void step_parallel(thread_function *thread, const struct step_call *call)
{
#pragma omp parallel if (share_is_worthwhile(call->boxes, call->nboxes))
    {
        struct tally tally[FACE_COUNT];
        tally_begin(tally, call->args);
        thread(call, tally);
#pragma omp critical(step_tally)
        tally_end(tally);
    }
}

void step_tuned(struct tile_tuner *tuner, thread_function *const threads[TILE_WAY_COUNT],
                size_t cell_bytes, struct step_call *call)
{
    struct tile_record *record =
        tuner != NULL && call->nboxes == 1 ? tile_tuner_find(tuner, call->boxes, cell_bytes) : NULL;
    const int choice = record != NULL ? tile_record_choose(record) : 0;
    const struct tile_choice *tiles = &tile_tuner_choice[choice];
    call->tile_bytes = tiles->bytes;
    const double start = clock_seconds();
    step_parallel(threads[tiles->way], call);
    if (record != NULL) {
        tile_record_tell(record, choice, clock_seconds() - start);
    }
}
