#include "kernels/cpu/schedule/threads.h"

#include "base/clock.h"

/* Of cpu/kind, in both precisions. */
#define KINDS(name)                                                                                \
    {                                                                                              \
        [KIND_UNIFORM] = &step_uniform_##name, [KIND_CLASSES] = &step_classes_##name,              \
        [KIND_ENTHALPY] = &step_enthalpy_##name, [KIND_HIGH_ORDER] = &step_high_order_##name,      \
        [KIND_FACES] = &step_faces_##name, [KIND_GRADED] = &step_faces_##name                      \
    }
extern const struct step_kind step_uniform_float64, step_classes_float64, step_enthalpy_float64,
    step_high_order_float64, step_faces_float64;
extern const struct step_kind step_uniform_float32, step_classes_float32, step_enthalpy_float32,
    step_high_order_float32, step_faces_float32;
const struct step_kind *const step_kinds[2][KIND_COUNT] = {
    [PRECISION_FLOAT64] = KINDS(float64), [PRECISION_FLOAT32] = KINDS(float32)};

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

#define DEFINE_STEP(name, about)                                                                   \
    extern thread_function *const step_##name##_float64, *const step_##name##_float32;             \
    enum status cpu_step_##name(struct queue *queue, const struct step_args *args)                 \
    {                                                                                              \
        const enum precision precision = args->layout.precision;                                   \
        struct step_call call = step_call_of(args);                                                \
        if (args->levels->kind != KIND_UNIFORM || args->levels->corrects) {                        \
            step_kinds[precision][args->levels->kind]->step(NULL, &call);                          \
        } else {                                                                                   \
            step_parallel(precision == PRECISION_FLOAT64 ? step_##name##_float64                   \
                                                         : step_##name##_float32,                  \
                          &call);                                                                  \
        }                                                                                          \
        return STATUS_OK;                                                                          \
    }
CPU_STEP_VARIANTS(DEFINE_STEP)
