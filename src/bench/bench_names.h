/* The names of kernels in `bench kernels`. */
#ifndef ISOTHERM_BENCH_BENCH_NAMES_H
#define ISOTHERM_BENCH_BENCH_NAMES_H

#include <stdbool.h>

#include "bench/bench.h"
#include "kernels/backend.h"
#include "kernels/study/studies.h"

/* A pass of several steps, or a step with a wider stencil. */
struct bench_pass {
    int nsteps;
    int radius; /* 1: of the 7-point stencil */
    const char *name;
    const char *about;
};
enum { BENCH_PASS_COUNT = 7 };
extern const struct bench_pass bench_passes[BENCH_PASS_COUNT];

/* Has the backend that pass? */
bool bench_has_pass(const struct backend *backend, const struct bench_pass *pass);

/* The kind of kernels; as a value of --kernel it selects all of them. NULL: the step. */
const char *bench_kind_name(const struct study *study);

/* Does --kernel select this kernel, of that kind? */
bool bench_is_selected(const struct bench_request *request, const struct study *study,
                       const char *name);

/* STATUS_INPUT for a --kernel that the backend does not have. */
enum status bench_check_names(const struct bench_request *request,
                              const struct backend *backend) MUST_CHECK;

#endif
