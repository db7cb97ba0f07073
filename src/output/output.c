#include "output/output.h"

#include <string.h>

#define DECLARE_KIND(name) extern const struct output_kind output_##name;
OUTPUT_KIND_LIST(DECLARE_KIND)

#define KIND_ROW(name) &output_##name,
const struct output_kind *const output_kinds[] = {OUTPUT_KIND_LIST(KIND_ROW)};

enum status output_flush(void *const *objects)
{
    for (int k = 0; k < OUTPUT_KINDS; k++) {
        if (output_kinds[k]->flush != NULL && objects[k] != NULL) {
            TRY(output_kinds[k]->flush(objects[k]));
        }
    }
    return STATUS_OK;
}

int output_number(const struct output_kind *kind)
{
    int k = 0;
    while (output_kinds[k] != kind) {
        k++;
    }
    return k;
}

const struct output_section *output_section_of(const char *key, const struct output_kind **kind)
{
    for (int k = 0; k < OUTPUT_KINDS; k++) {
        for (int s = 0; s < 2; s++) {
            const struct output_section *section = &output_kinds[k]->section[s];
            if (section->key != NULL && strncmp(key, section->key, strlen(section->key)) == 0) {
                *kind = output_kinds[k];
                return section;
            }
        }
    }
    return NULL;
}

int64_t output_count(const struct problem *problem, int kind, int64_t step)
{
    const struct timeline *timeline = &problem->timeline;
    const struct output_kind *of = NULL;
    const struct cadence *cadence = NULL;
    char key[CADENCE_KEY_BYTES];
    int64_t count = 0;
    for (int i = 0; (cadence = settings_cadence(&problem->output, i, key)) != NULL; i++) {
        if (!cadence_is_on(cadence) || output_section_of(key, &of) == NULL ||
            of != output_kinds[kind]) {
            continue;
        }
        if (cadence->every == 0 && timeline->why_landing == NULL) {
            count += step >= timeline->steps
                         ? timeline_count_due(timeline, cadence)
                         : timeline_count_times(cadence, timeline_time(timeline, step));
            count -= of->not_at_start ? 1 : 0;
            continue;
        }
        int64_t due = of->not_at_start ? timeline_next_due(timeline, cadence, 0) : 0;
        for (; due >= 0 && due <= step; due = timeline_next_due(timeline, cadence, due)) {
            count++;
        }
    }
    return count;
}

struct output_memory output_memory_need(const struct problem *problem, const struct box *owned)
{
    uint64_t most = 0;
    uint64_t kept = 0;
    for (int k = 0; k < OUTPUT_KINDS; k++) {
        const struct output_kind *kind = output_kinds[k];
        const uint64_t bytes =
            kind->capture_bytes != NULL ? kind->capture_bytes(problem, owned) : 0;
        most = bytes > most ? bytes : most;
        kept += kind->kept_bytes != NULL ? kind->kept_bytes(problem, owned) : 0;
    }
    const bool background = problem->output.writer == WRITER_AUTO;
    return (struct output_memory){.host_bytes = most * WRITER_SLOTS,
                                  .device_bytes = background ? most : 0,
                                  .kept_bytes = kept};
}
