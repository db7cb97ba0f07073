#include "kernels/study/studies.h"

#include <math.h>
#include <string.h>

#include "kernels/cpu/backend_cpu.h"
#include "kernels/guard/backend_guard.h"
#include "kernels/study/diffusion.h"
#include "kernels/study/laplacian.h"
#include "kernels/study/mhd.h"
#include "kernels/study/xcorr.h"
#ifdef ISOTHERM_WITH_HIP
#include "kernels/hip/backend_hip.h"
#endif

static const struct {
    const struct study *study;
    const struct backend *backend;
    const struct study_kernel *kernels;
} table[] = {
    {&study_laplacian, &backend_cpu, laplacian_cpu},
    {&study_laplacian, &backend_guard, laplacian_guard},
#ifdef ISOTHERM_WITH_HIP
    {&study_laplacian, &backend_hip, laplacian_hip},
#endif
    {&study_xcorr, &backend_cpu, xcorr_cpu},
    {&study_xcorr, &backend_guard, xcorr_guard},
#ifdef ISOTHERM_WITH_HIP
    {&study_xcorr, &backend_hip, xcorr_hip},
#endif
    {&study_diffusion, &backend_cpu, diffusion_cpu},
    {&study_diffusion, &backend_guard, diffusion_guard},
#ifdef ISOTHERM_WITH_HIP
    {&study_diffusion, &backend_hip, diffusion_hip},
#endif
    {&study_mhd, &backend_cpu, mhd_cpu},
    {&study_mhd, &backend_guard, mhd_guard},
#ifdef ISOTHERM_WITH_HIP
    {&study_mhd, &backend_hip, mhd_hip},
#endif
};
enum { ROWS = sizeof table / sizeof table[0] };

static const struct jacobi_model jacobi_models[] = {
#ifdef ISOTHERM_WITH_HIP
    {"hip", &backend_hip, jacobi_hip, NULL},
#endif
    {"cpu", &backend_cpu, jacobi_cpu, NULL},
    {"offload", &backend_cpu, jacobi_offload, jacobi_offload_has_device},
};

const struct jacobi_model *study_jacobi(int index)
{
    const int count = (int)(sizeof jacobi_models / sizeof jacobi_models[0]);
    return index < count ? &jacobi_models[index] : NULL;
}

/* Studies have their rows together. */
const struct study *study_at(int index)
{
    for (int row = 0; row < ROWS; row++) {
        if ((row == 0 || table[row].study != table[row - 1].study) && index-- == 0) {
            return table[row].study;
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
    for (int row = 0; row < ROWS; row++) {
        if (table[row].study == study && table[row].backend == backend) {
            return table[row].kernels;
        }
    }
    return &none;
}

int study_shapes(const struct study_kernel *kernel, const struct study_problem *problem,
                 struct study_shape shapes[STUDY_MOST_SHAPES])
{
    shapes[0] = (struct study_shape){.block = {0}};
    return kernel->shapes != NULL ? kernel->shapes(problem, shapes) : 1;
}

/* The number of an element in the order of its precision's values; -0 and 0 are one. */
static int64_t rank_of(enum precision precision, const void *element)
{
    if (precision == PRECISION_FLOAT64) {
        int64_t bits;
        memcpy(&bits, element, sizeof bits);
        return bits < 0 ? -(bits & INT64_MAX) : bits;
    }
    int32_t bits;
    memcpy(&bits, element, sizeof bits);
    return bits < 0 ? -(int64_t)(bits & INT32_MAX) : bits;
}

bool study_agrees(const struct study *study, enum precision precision, const void *a, const void *b)
{
    if (memcmp(a, b, precision_bytes(precision)) == 0) {
        return true;
    }
    const double x = precision_get(precision, a, 0);
    const double y = precision_get(precision, b, 0);
    if (study->most_ulps == 0 || !isfinite(x - y)) {
        return false;
    }
    int64_t difference = 0;
    return !__builtin_sub_overflow(rank_of(precision, a), rank_of(precision, b), &difference) &&
           difference <= study->most_ulps && difference >= -study->most_ulps;
}
