#include "bench/bench_names.h"

#include <stdio.h>
#include <string.h>

const struct bench_pass bench_passes[BENCH_PASS_COUNT] = {
    {2, 1, "steps_2", "two steps in one pass over memory"},
    {3, 1, "steps_3", "three"},
    {4, 1, "steps_4", "four"},
    {8, 1, "steps_8", "eight"},
    {1, 2, "order_4", "a step with the stencil of order 4"},
    {1, 3, "order_6", "of order 6"},
    {1, 4, "order_8", "of order 8"},
};

bool bench_has_pass(const struct backend *backend, const struct bench_pass *pass)
{
    return pass->radius > 1 || pass->nsteps <= backend->operations->steps_most[KIND_UNIFORM];
}

const char *bench_kind_name(const struct study *study)
{
    return study != NULL ? study->name : "step";
}

bool bench_is_selected(const struct bench_request *request, const struct study *study,
                       const char *name)
{
    const struct option_list *kernels = &request->kernels;
    bool found = kernels->count == 0;
    for (int i = 0; i < kernels->count; i++) {
        found = found || strcmp(kernels->item[i], name) == 0 ||
                strcmp(kernels->item[i], bench_kind_name(study)) == 0;
    }
    return found;
}

static void append(char *text, size_t nbytes, const char *name)
{
    const size_t used = strlen(text);
    const char *last = strrchr(text, ' ');
    if (strcmp(last != NULL ? last + 1 : text, name) != 0) {
        snprintf(text + used, nbytes - used, ", %s", name);
    }
}

enum status bench_check_names(const struct bench_request *request, const struct backend *backend)
{
    for (int i = 0; i < request->kernels.count; i++) {
        const char *word = request->kernels.item[i];
        bool known = strcmp(word, bench_kind_name(NULL)) == 0;
        char list[1024];
        snprintf(list, sizeof list, "%s", bench_kind_name(NULL));
        for (int v = 0; v < backend->operations->nvariants; v++) {
            known = known || strcmp(word, backend->operations->variants[v].name) == 0;
            append(list, sizeof list, backend->operations->variants[v].name);
        }
        for (int p = 0; p < BENCH_PASS_COUNT; p++) {
            if (bench_has_pass(backend, &bench_passes[p])) {
                known = known || strcmp(word, bench_passes[p].name) == 0;
                append(list, sizeof list, bench_passes[p].name);
            }
        }
        for (int s = 0; study_of_any_size(s) != NULL; s++) {
            known = known || strcmp(word, study_of_any_size(s)->name) == 0;
            append(list, sizeof list, study_of_any_size(s)->name);
            const struct study_kernel *kernel = study_kernels(study_of_any_size(s), backend);
            for (; kernel->name != NULL; kernel++) {
                known = known || strcmp(word, kernel->name) == 0;
                append(list, sizeof list, kernel->name);
            }
        }
        if (!known) {
            return fail(STATUS_INPUT,
                        "--kernel %s: the backend %s has no such kernel; available: %s", word,
                        backend->name, list);
        }
    }
    return STATUS_OK;
}
