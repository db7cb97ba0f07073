/* The words of the command line that choose kernels and cases. */
#ifndef ISOTHERM_BENCH_BENCH_NAMES_H
#define ISOTHERM_BENCH_BENCH_NAMES_H

#include <stdbool.h>

#include "bench/bench.h"
#include "kernels/backend.h"
#include "kernels/study/study.h"

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

/* An empty list has every word. */
bool bench_is_listed(const struct option_list *list, const char *word);
bool bench_has_radius(const struct option_list *radii, int radius);

/* ---- of a study with published cases: STATUS_INPUT for a word that is of no use ---- */

enum status bench_check_kernels(const struct bench_request *request,
                                const struct study_entry *entry) MUST_CHECK;
enum status bench_check_radii(const struct bench_request *request,
                              const struct study *study) MUST_CHECK;
/* The programming model of --backend. NULL: all that run here, so that they can be compared. */
enum status bench_choose_model(const struct bench_request *request, const struct study *study,
                               const char **model) MUST_CHECK;

#endif
