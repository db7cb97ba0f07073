#include "kernels/cpu/schedule/tile_tuner.h"

#include <stdbool.h>
#include <string.h>

/* Measured, see docs/records/kernels_cpu.md: the first three for chips like Zen 5, the next three
 * for Zen 4, the last two for Granite Rapids. */
const struct tile_choice tile_tuner_choice[TILE_TUNER_CHOICES] = {
    {192 * 1024, TILE_AHEAD},  {256 * 1024, TILE_AHEAD},  {384 * 1024, TILE_AHEAD},
    {96 * 1024, TILE_WIDE},    {128 * 1024, TILE_WIDE},   {192 * 1024, TILE_WIDE},
    {192 * 1024, TILE_PLANES}, {256 * 1024, TILE_PLANES},
};

struct tile_record *tile_tuner_find(struct tile_tuner *tuner, const struct box *box,
                                    size_t cell_bytes)
{
    if (box_cells(box) < TILE_TUNER_FEW) {
        return NULL;
    }
    const int64_t extent[AXIS_COUNT] = {box_extent(box, AXIS_X), box_extent(box, AXIS_Y),
                                        box_extent(box, AXIS_Z)};
    for (int n = 0; n < TILE_TUNER_SHAPES; n++) {
        struct tile_record *record = &tuner->record[n];
        if (record->cell_bytes == cell_bytes &&
            memcmp(record->extent, extent, sizeof extent) == 0) {
            return record;
        }
    }
    struct tile_record *record = &tuner->record[tuner->next];
    tuner->next = (tuner->next + 1) % TILE_TUNER_SHAPES;
    *record = (struct tile_record){.cell_bytes = cell_bytes};
    memcpy(record->extent, extent, sizeof extent);
    return record;
}

/* The first choice is close to the best in the machine's fast state, so the others must be clearly
 * faster than the noise of a few steps. */
static double score(const struct tile_record *record, int choice)
{
    const double handicap = 1.03;
    return record->seconds[choice] * (choice == 0 ? 1.0 : handicap);
}

int tile_record_choose(const struct tile_record *record)
{
    for (int round = 0; round < TILE_TUNER_ROUNDS; round++) {
        for (int choice = 0; choice < TILE_TUNER_CHOICES; choice++) {
            if (record->trials[choice] == round && !record->far[choice]) {
                return choice;
            }
        }
    }
    if (record->calls % TILE_TUNER_RETRY == 0) { /* the others in turn */
        const int64_t turn = record->calls / TILE_TUNER_RETRY;
        const int other =
            (int)((record->best + 1 + turn % (TILE_TUNER_CHOICES - 1)) % TILE_TUNER_CHOICES);
        const bool pass = record->far[other] && record->trials[other] == TILE_TUNER_ROUNDS &&
                          turn % TILE_TUNER_SELDOM != 0;
        return pass ? record->best : other;
    }
    return record->best;
}

void tile_record_tell(struct tile_record *record, int choice, double seconds)
{
    const bool first_rounds = record->trials[choice] < TILE_TUNER_ROUNDS;
    double *known = &record->seconds[choice];
    if (first_rounds && *known > 0.0) {
        /* without first touches of pages and waking threads */
        *known = seconds < *known ? seconds : *known;
    } else if (choice == record->best && *known > 0.0) {
        /* follows a change within a few steps, and damps a single disturbance */
        *known = 0.5 * (*known + seconds);
    } else {
        *known = seconds; /* the old time is outdated */
    }
    record->calls++;
    record->trials[choice] += first_rounds ? 1 : 0;
    for (int other = 0; other < TILE_TUNER_CHOICES; other++) {
        if (record->seconds[other] > 0.0 && score(record, other) < score(record, record->best)) {
            record->best = other;
        }
    }
    record->far[choice] = *known > 2.0 * record->seconds[record->best];
}
