#include "model/problem.h"

enum { HALO_WIDTH = 1 }; /* the reach of the 7-point stencil, one step a pass */

enum status choose_decomp(const struct settings *settings, const struct grid *grid,
                          const struct boundary *boundary, int nranks, struct decomp *decomp)
{
    const int *wanted = settings->run.decomposition_auto ? NULL : settings->run.decomposition;
    const enum status status =
        decomp_create(grid->cells, boundary->periodic, nranks, HALO_WIDTH, wanted, decomp);
    if (status == STATUS_INPUT) {
        return settings_fail(settings, wanted != NULL ? "run.decomposition" : "grid.cells", "%s",
                             fail_message());
    }
    return status;
}

enum status choose_backend(const struct settings *settings, const struct backend **backend,
                           char *why, size_t why_bytes)
{
    const enum status status = backend_choose(settings->run.backend, backend, why, why_bytes);
    if (status == STATUS_INPUT) {
        return settings_fail(settings, "run.backend", "%s", fail_message());
    }
    return status;
}
