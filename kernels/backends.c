#include "kernels/backends.h"

#include <stdio.h>
#include <string.h>

static const struct backend *const backends[] = {
#ifdef ISOTHERM_WITH_HIP
    &backend_hip,
#endif
    &backend_cpu,
#ifdef ISOTHERM_WITH_GUARD
    &backend_guard, /* of tests/guard */
#endif
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

const char *backend_names(void)
{
    static char names[128];
    size_t used = (size_t)snprintf(names, sizeof names, "auto");
    for (int i = 0; i < backend_count(); i++) {
        if (!backends[i]->for_tests) {
            used += (size_t)snprintf(names + used, sizeof names - used, ", %s", backends[i]->name);
        }
    }
    return names;
}

static enum status choose_by_name(const char *name, const struct backend **backend, char *why,
                                  size_t why_bytes)
{
    *backend = backend_find(name);
    if (*backend == NULL) {
        return fail(STATUS_INPUT, "there is no backend '%s' in this build; available: %s", name,
                    backend_names());
    }
    TRY(fail_prefix((*backend)->runtime->probe(), "the backend '%s' cannot run here: ", name));
    snprintf(why, why_bytes, "requested by name");
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
        if (backends[i]->for_tests) {
            continue;
        }
        if (backends[i]->runtime->probe() == STATUS_OK) {
            *backend = backends[i];
            if (backend_has(backends[i], BACKEND_GPU)) {
                snprintf(why, why_bytes, "a device was found");
            }
            return STATUS_OK;
        }
        snprintf(why, why_bytes, "%s: %s", backends[i]->name, fail_message());
        fail_clear();
    }
    return fail(STATUS_DEVICE, "no backend can run here: %s", why);
}
