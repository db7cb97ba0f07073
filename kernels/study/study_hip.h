/* What the sources with kernels for GPUs share; they include kernels/hip/device/arch.h before. */
#pragma once

#include "kernels/hip/host/launch.h"
#include "kernels/study/study.h"

static inline unsigned parts(int64_t n, int64_t size)
{
    return (unsigned)((n + size - 1) / size);
}

static inline dim3 threads_of(const study_shape &shape)
{
    return dim3((unsigned)shape.block[0], (unsigned)shape.block[1], (unsigned)shape.block[2]);
}

/* The launchers of both precisions. */
#define STUDY_BOTH(launch, ...) launch<double, __VA_ARGS__>, launch<float, __VA_ARGS__>

/* A line of the table. */
static inline study_kernel study_hip(const char *name, const char *about, study_launch *float64,
                                     study_launch *float32, study_shapes_function *shapes)
{
    study_kernel kernel = {};
    kernel.name = name;
    kernel.about = about;
    kernel.launch[PRECISION_FLOAT64] = float64;
    kernel.launch[PRECISION_FLOAT32] = float32;
    kernel.shapes = shapes;
    return kernel;
}
