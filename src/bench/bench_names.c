#include "bench/bench_parts.h"

#include <string.h>

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
        if (passes[p].nsteps <= operations->steps_most[KIND_UNIFORM] && index-- == 0) {
            *kernel = passes[p];
            kernel->settling_calls = operations->variants[operations->nvariants - 1].settling_calls;
            return true;
        }
    }
    for (const struct kernel_variant *v = operations->laplacians; v->name != NULL; v++) {
        if (index-- == 0) {
            *kernel = (struct bench_kernel){
                .laplacian = true, .name = v->name, .about = v->about, .step = v->step};
            return true;
        }
    }
    return false;
}

const char *bench_kind_name(bool laplacian)
{
    return laplacian ? "laplacian" : "step";
}

bool bench_is_listed(const struct option_list *list, const char *word)
{
    bool found = list->count == 0;
    for (int i = 0; i < list->count; i++) {
        found = found || strcmp(list->item[i], word) == 0;
    }
    return found;
}

bool bench_is_selected(const struct bench_request *request, const struct bench_kernel *kernel)
{
    return bench_is_listed(&request->kernels, kernel->name) ||
           bench_is_listed(&request->kernels, bench_kind_name(kernel->laplacian));
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

enum status bench_check_names(const struct bench_request *request, const struct backend *backend)
{
    for (int i = 0; i < request->kernels.count; i++) {
        struct names names = {.word = request->kernels.item[i]};
        struct bench_kernel kernel;
        add_name(&names, bench_kind_name(false));
        for (int n = 0; bench_kernel_at(backend, n, &kernel); n++) {
            if (kernel.laplacian && strstr(names.list, bench_kind_name(true)) == NULL) {
                add_name(&names, bench_kind_name(true));
            }
            add_name(&names, kernel.name);
        }
        FAIL_IF(!names.known,
                fail(STATUS_INPUT, "--kernel %s: the backend %s has no such kernel; available: %s",
                     names.word, backend->name, names.list));
    }
    return STATUS_OK;
}
