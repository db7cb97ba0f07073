/* The names of kernels in `bench kernels`. */
#ifndef ISOTHERM_BENCH_BENCH_NAMES_H
#define ISOTHERM_BENCH_BENCH_NAMES_H

#include <stdbool.h>

#include "bench/bench.h"
#include "kernels/backend.h"
#include "kernels/study/studies.h"

/* A pass of several steps; measured where the backend's steps_most allows. */
struct bench_pass {
    int nsteps;
    const char *name;
    const char *about;
};
enum { BENCH_PASS_COUNT = 4 };
extern const struct bench_pass bench_passes[BENCH_PASS_COUNT];

/* The kind of kernels; as a value of --kernel it selects all of them. NULL: the step. */
const char *bench_kind_name(const struct study *study);

/* Does --kernel select this kernel, of that kind? */
bool bench_is_selected(const struct bench_request *request, const struct study *study,
                       const char *name);

/* STATUS_INPUT for a --kernel that the backend does not have. */
enum status bench_check_names(const struct bench_request *request,
                              const struct backend *backend) MUST_CHECK;

#endif
