#include "kernels/study/study.h"

#include <omp.h>

#include "kernels/backend.h"
#include "kernels/guard/guard_device.h"
#ifdef ISOTHERM_WITH_HIP
#define HIP(study, kernels) {study, &backend_hip, kernels, NULL, NULL},
#else
#define HIP(study, kernels)
#endif

#define ON(backend, study)                                                                         \
    {                                                                                              \
        &(study), &(backend), (study).host, NULL, NULL                                             \
    }

static const struct study_entry table[] = {
    HIP(&study_laplacian, laplacian_hip) ON(backend_cpu, study_laplacian),
    ON(backend_guard, study_laplacian),
    HIP(&study_xcorr, xcorr_hip) ON(backend_cpu, study_xcorr),
    ON(backend_guard, study_xcorr),
    HIP(&study_diffusion, diffusion_hip) ON(backend_cpu, study_diffusion),
    ON(backend_guard, study_diffusion),
    HIP(&study_mhd, mhd_hip) ON(backend_cpu, study_mhd),
    ON(backend_guard, study_mhd),
    HIP(&study_jacobi, jacobi_hip) ON(backend_cpu, study_jacobi),
#ifdef ISOTHERM_WITH_OFFLOAD
    {&study_jacobi, &backend_cpu, jacobi_offload, "offload", jacobi_offload_has_device},
#endif
};
enum { ENTRIES = sizeof table / sizeof table[0] };

const struct study_entry *study_entry(int index)
{
    return index < ENTRIES ? &table[index] : NULL;
}

const char *study_model(const struct study_entry *entry)
{
    return entry->model != NULL ? entry->model : entry->backend->name;
}

const struct study *study_at(int index)
{
    for (int e = 0; e < ENTRIES; e++) {
        if ((e == 0 || table[e].study != table[e - 1].study) && index-- == 0) {
            return table[e].study;
        }
    }
    return NULL;
}

const struct study *study_of_any_size(int index)
{
    for (int s = 0; study_at(s) != NULL; s++) {
        if (study_at(s)->published == NULL && index-- == 0) {
            return study_at(s);
        }
    }
    return NULL;
}

const struct study_kernel *study_kernels(const struct study *study, const struct backend *backend)
{
    static const struct study_kernel none;
    for (int e = 0; e < ENTRIES; e++) {
        if (table[e].study == study && table[e].backend == backend) {
            return table[e].kernels;
        }
    }
    return &none;
}

const struct study_kernel *study_on_host(const struct study *study, int part)
{
    const struct study_kernel *found = study->host;
    for (const struct study_kernel *kernel = study->host; kernel->name != NULL; kernel++) {
        found = kernel->part == part ? kernel : found;
    }
    return found;
}

int study_shapes(const struct study_kernel *kernel, const struct study_problem *problem,
                 struct study_shape shapes[STUDY_MOST_SHAPES])
{
    shapes[0] = (struct study_shape){.block = {0}};
    return kernel->shapes != NULL ? kernel->shapes(problem, shapes) : 1;
}

void study_run_on_host(const struct study_call *call)
{
    const struct study_problem *problem = call->problem;
    const int64_t *n = problem->layout.cells;
    const int64_t pieces = study_pieces_of_row(problem) * n[AXIS_Y] * n[AXIS_Z];
    if (call->kernel->regions != NULL) {
        call->kernel->regions(call);
        return;
    }
    for (int k = call->kernel->follows; k > 0; k--) {
        struct study_call part = *call;
        part.kernel = call->kernel - k;
        study_run_on_host(&part);
    }
    study_rows *rows = call->kernel->rows[problem->layout.precision];
    if (rows != NULL) {
#pragma omp parallel
        {
            const int64_t thread = omp_get_thread_num();
            const int64_t threads = omp_get_num_threads();
            rows(call, pieces * thread / threads, pieces * (thread + 1) / threads);
        }
    }
}

static enum status run_call(struct queue *queue, const void *call)
{
    study_run_on_host(call);
    return STATUS_OK;
}

enum status study_run(const struct backend *backend, struct queue *queue,
                      const struct study_call *call)
{
    for (int n = call->kernel->follows; n > 0; n--) {
        struct study_call part = *call;
        part.kernel = call->kernel - n;
        TRY(study_run(backend, queue, &part));
    }
    if (call->kernel->follows > 0) {
        return backend->runtime->queue_wait(queue);
    }
#ifdef ISOTHERM_WITH_HIP
    if (backend == &backend_hip) {
        return study_run_hip(queue, call);
    }
#endif
    if (backend == &backend_guard) {
        static const struct host_memory problem[] = {
            {.pointer = offsetof(struct study_call, problem), .bytes = sizeof *call->problem}, {0}};
        return guard_add(queue, run_call, call, sizeof *call, problem);
    }
    study_run_on_host(call);
    return STATUS_OK;
}
