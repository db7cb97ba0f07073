#include "kernels/study/study.h"

#include "kernels/cpu/backend_cpu.h"
#include "kernels/guard/backend_guard.h"
#include "kernels/study/laplacian.h"
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
};
enum { ROWS = sizeof table / sizeof table[0] };

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
