#include "bench/bench_parts.h"

#include <stdio.h>
#include <string.h>

#include "kernels/backends.h"

bool bench_kernel_at(const struct backend *backend, int index, struct bench_kernel *kernel)
{
#define PASS(name_, nsteps_, radius_, about_, ...)                                                 \
    {                                                                                              \
        .name = name_, .nsteps = nsteps_, .radius = radius_, .about = about_, __VA_ARGS__          \
    }
    static const struct bench_kernel passes[] = {
        PASS("steps_2", 2, 0, "two steps in one pass over memory"),
        PASS("steps_3", 3, 0, "three"),
        PASS("steps_4", 4, 0, "four"),
        PASS("steps_4_pair", 4, 0, "four; the second corrects the first", .corrects = 1),
        PASS("steps_4_pair_last", 4, 0, "four; the last does", .corrects = 3),
        PASS("estimate", 2, 0, "of the error of a super step", .corrects = 1, .estimates = true),
        PASS("steps_8", 8, 0, "eight"),
        PASS("order_4", 1, 2, "a step with the stencil of order 4"),
        PASS("order_6", 1, 3, "of order 6"),
        PASS("order_8", 1, 4, "of order 8"),
        PASS("order_4_steps_2", 2, 2, "two steps of order 4"),
        PASS("order_6_steps_2", 2, 3, "of order 6"),
        PASS("order_8_steps_2", 2, 4, "of order 8"),
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

/* The valid names of --kernel, and whether the present one is among them. */
struct names {
    const char *word;
    bool known;
    char list[1024];
};

static void add_name(struct names *names, const char *name)
{
    const char *last = strrchr(names->list, ' ');
    names->known = names->known || strcmp(names->word, name) == 0;
    if (strcmp(last != NULL ? last + 1 : names->list, name) != 0) {
        text_add(names->list, sizeof names->list, ", ", "%s", name);
    }
}

static enum status check_names(const struct names *names, const char *backend)
{
    return names->known
               ? STATUS_OK
               : fail(STATUS_INPUT, "--kernel %s: the backend %s has no such kernel; available: %s",
                      names->word, backend, names->list);
}

enum status bench_check_names(const struct bench_request *request, const struct backend *backend)
{
    for (int i = 0; i < request->kernels.count; i++) {
        struct names names = {.word = request->kernels.item[i]};
        struct bench_kernel kernel;
        add_name(&names, bench_kind_name(NULL));
        for (int n = 0; bench_kernel_at(backend, n, &kernel); n++) {
            const char *kind = bench_kind_name(kernel.kind);
            if (kernel.study != NULL && strstr(names.list, kind) == NULL) {
                add_name(&names, kind);
            }
            add_name(&names, kernel.name);
        }
        TRY(check_names(&names, backend->name));
    }
    return STATUS_OK;
}

enum status bench_check_kernels(const struct bench_request *request,
                                const struct study_entry *entry)
{
    for (int i = 0; i < request->kernels.count; i++) {
        struct names names = {.word = request->kernels.item[i]};
        for (const struct study_kernel *k = entry->kernels; k->name != NULL; k++) {
            add_name(&names, k->name);
        }
        TRY(check_names(&names, study_model(entry)));
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
