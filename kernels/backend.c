#include "kernels/backend.h"

#include <stdio.h>
#include <string.h>

#include "kernels/cpu/backend_cpu.h"
#include "kernels/guard/backend_guard.h"
#ifdef ISOTHERM_WITH_HIP
#include "kernels/hip/backend_hip.h"
#endif

static const struct backend *const backends[] = {
#ifdef ISOTHERM_WITH_HIP
    &backend_hip,
#endif
    &backend_cpu, &backend_guard, /* for tests: never taken by auto */
};

int backend_count(void)
{
    return (int)(sizeof backends / sizeof backends[0]);
}

const struct backend *backend_at(int index)
{
    return backends[index];
}

const struct backend *backend_find(const char *name)
{
    for (int i = 0; i < backend_count(); i++) {
        if (strcmp(backends[i]->name, name) == 0) {
            return backends[i];
        }
    }
    return NULL;
}

static enum status choose_by_name(const char *name, const struct backend **backend, char *why,
                                  size_t why_bytes)
{
    *backend = backend_find(name);
    if (*backend == NULL) {
        char known[128] = "auto";
        for (int i = 0; i < backend_count(); i++) {
            const size_t used = strlen(known);
            snprintf(known + used, sizeof known - used, ", %s", backends[i]->name);
        }
        return fail(STATUS_INPUT, "there is no backend '%s' in this build; it has: %s", name,
                    known);
    }
    const enum status status = (*backend)->runtime->probe();
    if (status != STATUS_OK) {
        return fail_prefix(status, "the backend '%s' cannot run here: ", name);
    }
    snprintf(why, why_bytes, "asked for by name");
    return STATUS_OK;
}

enum status backend_choose(const char *name, const struct backend **backend, char *why,
                           size_t why_bytes)
{
    if (strcmp(name, "auto") != 0) {
        return choose_by_name(name, backend, why, why_bytes);
    }
    snprintf(why, why_bytes, "this build has no GPU backend");
    for (int i = 0; i < backend_count(); i++) {
        if (backends[i] == &backend_cpu || backends[i] == &backend_guard) {
            continue;
        }
        if (backends[i]->runtime->probe() == STATUS_OK) {
            *backend = backends[i];
            snprintf(why, why_bytes, "a device answers");
            return STATUS_OK;
        }
        snprintf(why, why_bytes, "%s: %s", backends[i]->name, fail_message());
        fail_clear();
    }
    *backend = &backend_cpu;
    return STATUS_OK;
}
