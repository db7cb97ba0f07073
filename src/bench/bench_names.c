#include "bench/bench_parts.h"

#include <stdio.h>
#include <string.h>

#include "kernels/backends.h"

bool bench_kernel_at(const struct backend *backend, int index, struct bench_kernel *kernel)
{
    static const struct bench_kernel passes[] = {
        {.nsteps = 2, .name = "steps_2", .about = "two steps in one pass over memory"},
        {.nsteps = 3, .name = "steps_3", .about = "three"},
        {.nsteps = 4, .name = "steps_4", .about = "four"},
        {.nsteps = 4,
         .corrects = 1,
         .name = "steps_4_pair",
         .about = "four; the second corrects the first"},
        {.nsteps = 4, .corrects = 3, .name = "steps_4_pair_last", .about = "four; the last does"},
        {.nsteps = 2,
         .corrects = 1,
         .estimates = true,
         .name = "estimate",
         .about = "of the error of a super step"},
        {.nsteps = 8, .name = "steps_8", .about = "eight"},
        {.nsteps = 1,
         .radius = 2,
         .name = "order_4",
         .about = "a step with the stencil of order 4"},
        {.nsteps = 1, .radius = 3, .name = "order_6", .about = "of order 6"},
        {.nsteps = 1, .radius = 4, .name = "order_8", .about = "of order 8"},
        {.nsteps = 2, .radius = 2, .name = "order_4_steps_2", .about = "two steps of order 4"},
        {.nsteps = 2, .radius = 3, .name = "order_6_steps_2", .about = "of order 6"},
        {.nsteps = 2, .radius = 4, .name = "order_8_steps_2", .about = "of order 8"},
    };
    const struct operations *operations = backend->operations;
    if (index < operations->nvariants) {
        const struct kernel_variant *variant = &operations->variants[index];
        *kernel = (struct bench_kernel){.name = variant->name,
                                        .about = variant->about,
                                        .step = variant->step,
                                        .settling_calls = variant->settling_calls};
        return true;
    }
    index -= operations->nvariants;
    for (size_t p = 0; p < sizeof passes / sizeof passes[0]; p++) {
        const enum kind kind = passes[p].radius > 1 ? KIND_HIGH_ORDER : KIND_UNIFORM;
        if (passes[p].nsteps <= operations->steps_most[kind] && index-- == 0) {
            *kernel = passes[p];
            kernel->settling_calls = operations->variants[operations->nvariants - 1].settling_calls;
            return true;
        }
    }
    for (int s = 0; study_of_any_size(s) != NULL; s++) {
        const struct study_kernel *study = study_kernels(study_of_any_size(s), backend);
        for (; study->name != NULL; study++) {
            if (index-- == 0) {
                *kernel = (struct bench_kernel){.kind = study_of_any_size(s),
                                                .name = study->name,
                                                .about = study->about,
                                                .study = study};
                return true;
            }
        }
    }
    return false;
}

const char *bench_kind_name(const struct study *study)
{
    return study != NULL ? study->name : "step";
}

bool bench_is_listed(const struct option_list *list, const char *word)
{
    bool found = list->count == 0;
    for (int i = 0; i < list->count; i++) {
        found = found || strcmp(list->item[i], word) == 0;
    }
    return found;
}

bool bench_has_radius(const struct option_list *radii, int radius)
{
    char word[16];
    snprintf(word, sizeof word, "%d", radius);
    return bench_is_listed(radii, word);
}

bool bench_is_selected(const struct bench_request *request, const struct study *study,
                       const char *name)
{
    return bench_is_listed(&request->kernels, name) ||
           bench_is_listed(&request->kernels, bench_kind_name(study));
}

static void append(char *text, size_t nbytes, const char *name)
{
    const char *last = strrchr(text, ' ');
    if (strcmp(last != NULL ? last + 1 : text, name) != 0) {
        text_add(text, nbytes, ", ", "%s", name);
    }
}

static enum status fail_kernel(const char *word, const char *backend, const char *list)
{
    return fail(STATUS_INPUT, "--kernel %s: the backend %s has no such kernel; available: %s", word,
                backend, list);
}

enum status bench_check_names(const struct bench_request *request, const struct backend *backend)
{
    for (int i = 0; i < request->kernels.count; i++) {
        const char *word = request->kernels.item[i];
        bool known = strcmp(word, bench_kind_name(NULL)) == 0;
        char list[1024];
        snprintf(list, sizeof list, "%s", bench_kind_name(NULL));
        struct bench_kernel kernel;
        for (int n = 0; bench_kernel_at(backend, n, &kernel); n++) {
            const char *kind = bench_kind_name(kernel.kind);
            known = known || strcmp(word, kernel.name) == 0 || strcmp(word, kind) == 0;
            if (kernel.study != NULL && strstr(list, kind) == NULL) {
                append(list, sizeof list, kind);
            }
            append(list, sizeof list, kernel.name);
        }
        FAIL_IF(!known, fail_kernel(word, backend->name, list));
    }
    return STATUS_OK;
}

enum status bench_check_kernels(const struct bench_request *request,
                                const struct study_entry *entry)
{
    for (int i = 0; i < request->kernels.count; i++) {
        const char *word = request->kernels.item[i];
        bool known = false;
        char list[1024] = "";
        for (const struct study_kernel *k = entry->kernels; k->name != NULL; k++) {
            known = known || strcmp(k->name, word) == 0;
            append(list, sizeof list, k->name);
        }
        FAIL_IF(!known, fail_kernel(word, study_model(entry), list));
    }
    return STATUS_OK;
}

enum status bench_check_radii(const struct bench_request *request, const struct study *study)
{
    for (int i = 0; i < request->radii.count; i++) {
        const struct option_list one = {.item = {request->radii.item[i]}, .count = 1};
        struct study_case found;
        bool known = false;
        for (int c = 0; study->published(c, PRECISION_FLOAT64, &found); c++) {
            known = known || bench_has_radius(&one, found.radius);
        }
        FAIL_IF(!known, fail(STATUS_INPUT, "--radius %s: bench %s has no case with this radius",
                             one.item[0], study->name));
    }
    return STATUS_OK;
}

enum status bench_choose_model(const struct bench_request *request, const struct study *study,
                               const char **model)
{
    const char *name = request->backend.name;
    const struct backend *backend = NULL;
    char why[256];
    *model = NULL;
    if (study->compares && strcmp(name, "auto") == 0) {
        return STATUS_OK;
    }
    for (int e = 0; study_entry(e) != NULL; e++) {
        if (study_entry(e)->study == study && strcmp(study_model(study_entry(e)), name) == 0) {
            *model = name;
            return fail_prefix(study_entry(e)->backend->runtime->probe(),
                               "the backend '%s' cannot run here: ", name);
        }
    }
    TRY(backend_choose(name, &backend, why, sizeof why));
    *model = backend->name;
    FAIL_IF(study_kernels(study, backend)->name == NULL,
            fail(STATUS_INPUT, "--backend %s: bench %s has no kernels for it", backend->name,
                 study->name));
    return STATUS_OK;
}
