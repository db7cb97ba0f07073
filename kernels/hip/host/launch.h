/* The launchers, for both the C host code and the kernel sources.
 *
 * A launcher puts kernels on a stream and returns the first error. Layouts, boxes and arguments are
 * copied; device memory must live until the kernels have run. */
#pragma once

#include <hip/hip_runtime_api.h>

#include "kernels/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { HIP_PACE_COUNTERS = 1 << 15 };

/* Device memory of one queue, whose kernels run one after another. Each kernel leaves it as
 * hip_launch_scratch_reset does. */
struct hip_scratch {
    /* of the running reduction; min and max as keys in the order of the values */
    unsigned long long min_key;
    unsigned long long max_key;
    unsigned long long digit[4];
    unsigned long long heat[4];
    unsigned long long bad_cells;
    unsigned long long first_bad;
    unsigned long long hash;
    unsigned int blocks_done;  /* of the running kernel */
    unsigned int strips_taken; /* of faces that are summed */
    unsigned int items_taken;  /* of a queue of columns, see work_list */
    /* progress of the blocks of a step kernel, see ring/kernel.h */
    unsigned int pace[HIP_PACE_COUNTERS];
};

/* Once, while *processors is 0: let blocks of a kernel share `bytes`, and count the processors of
 * the device; a process has one. */
static inline hipError_t hip_prepare(const void *kernel, unsigned bytes, int *processors)
{
    int device = 0;
    if (*processors > 0) {
        return hipSuccess;
    }
    hipError_t error =
        hipFuncSetAttribute(kernel, hipFuncAttributeMaxDynamicSharedMemorySize, (int)bytes);
    error = error == hipSuccess ? hipGetDevice(&device) : error;
    return error == hipSuccess
               ? hipDeviceGetAttribute(processors, hipDeviceAttributeMultiprocessorCount, device)
               : error;
}

/* The result of a reduction, in pinned host memory. */
struct hip_result {
    struct field_summary summary;
    uint64_t hash;
};

/* The launch of a step kernel; 0: the kernel's default. */
struct hip_launch_shape {
    int window_mib; /* staged: how far all blocks together may be ahead of the slowest */
    int wide;       /* march: threads of a block along x, 16, 32, 64 or 128 of 256 */
    int depth;      /* march: planes of a column */
    int shared_kib; /* march: shared memory of a block, to have fewer blocks at once */
};

/* One launch, or a few, of a step or of a pass of several. */
struct hip_step {
    hipStream_t stream;
    struct hip_scratch *d_scratch; /* two: the second one for `early` */
    const struct step_args *args;  /* but for its boxes */
    const struct box *boxes;       /* not empty; of most launchers only the first */
    int nboxes;
    struct hip_launch_shape shape;
    int64_t beside; /* cells that the next launch advances beside this one */
    bool early;     /* this one begins while that before it runs */
    /* optional results of a pass, set by kernels that support them */
    struct hip_result *result; /* the summary of the box, if not NULL: where cells are invalid or
                                  not below 2^18 K, only bad_cells > 0 */
    bool summarised;
    bool summed;         /* the sums over closed faces before each step */
    struct box perfused; /* where the heat of perfusion was added to args->d_perfusion */
    /* the sum of d_bits; without the cells of d_in in the first bits_below planes of the box, and
     * with those of bits_above planes behind it */
    bool has_bits;
    int bits_below, bits_above;
};
typedef hipError_t hip_step_launcher(struct hip_step *step);

/* One thread per cell: any number of boxes, best for thin ones, or args->tiles. d_out NULL, of high
 * order: only the sums over closed faces. */
hip_step_launcher hip_launch_step_cell;

/* Marching in z with the neighbours in z in registers: any box of a field with several cells in x
 * and y. With high order: with three used axes, a box without the cells next to closed faces of y
 * and z, without sums. */
hip_step_launcher hip_launch_step_march;
bool hip_step_march_takes(const struct layout *layout);

/* Planes of tiles staged in shared memory, several in flight: boxes that hip_step_staged_takes. In
 * several shapes. */
hip_step_launcher hip_launch_step_staged_free; /* no pacing: boxes that fit the L2 cache */
hip_step_launcher hip_launch_step_staged_pair; /* two blocks per multiprocessor */
hip_step_launcher hip_launch_step_staged_deep; /* one, more planes in flight */
hip_step_launcher hip_launch_step_staged_wide; /* one, rows twice as long */
/* In a medium of classes, with conductances per cell, or graded, that hip_step_medium_takes. A step
 * that corrects: where hip_step_medium_corrects. */
hip_step_launcher hip_launch_step_medium_free; /* no pacing */
hip_step_launcher hip_launch_step_medium_deep;
hip_step_launcher hip_launch_step_faces_free;
hip_step_launcher hip_launch_step_faces_deep;
hip_step_launcher hip_launch_step_graded_free;
hip_step_launcher hip_launch_step_graded_deep;
bool hip_step_medium_corrects(const struct step_args *args, const struct box *box);
/* Where properties depend on temperature. */
hip_step_launcher hip_launch_step_nonlinear;
bool hip_step_nonlinear_takes(const struct device_medium *medium, const struct box *box);
/* It calls this in media of one class and one segment, where hip_step_staged_takes the box without
 * the cells on closed faces. */
hip_step_launcher hip_launch_step_line;
/* After it, which calls this: the cells beside those of other curves, in a box without cells on
 * closed faces. */
hip_step_launcher hip_launch_step_odd;
/* `compare` with two steps, where hip_step_staged_takes the box: in a uniform medium, and in one of
 * classes where hip_step_medium_corrects, with one dt_number. */
hipError_t hip_launch_compare_ring(struct hip_step *step, const struct compare_args *args);
bool hip_step_staged_is_built(void);
bool hip_step_staged_takes(const struct layout *layout, const struct box *box);
bool hip_step_medium_takes(const struct device_medium *medium);

/* Of high order, with planes of tiles staged in shared memory, where hip_step_staged_takes the box
 * without the cells next to closed faces of z; without sums. */
hip_step_launcher hip_launch_step_high_order;

/* Several steps in a pass of a uniform medium, or of classes: the memory of a block on gfx90a, and
 * what a pass on sm_90 has. */
enum {
    HIP_STEPS_MOST = 4,
    HIP_STEPS_OF_CLASSES = 3,
    HIP_STEPS_OF_FACES = 2 /* with a copy engine; else 1 */
};
/* Of 2 or more steps: */
hip_step_launcher hip_launch_steps_tile; /* any box */
/* Boxes less than `nsteps` cells from a closed face, on sm_90: in a medium that a large kernel of
 * classes or of faces takes, without args->without. */
hip_step_launcher hip_launch_steps_shell;
hip_step_launcher hip_launch_steps_rows; /* a uniform medium, where there is no engine for tiles */
/* In a uniform medium with planes of tiles staged in shared memory, of 2, 3 and 4 steps; where
 * hip_step_staged_is_built. */
hip_step_launcher hip_launch_steps_staged_2;
hip_step_launcher hip_launch_steps_staged_3;
hip_step_launcher hip_launch_steps_staged_4;
hip_step_launcher hip_launch_steps_staged_pair_2; /* where a step corrects */
hip_step_launcher hip_launch_steps_staged_pair_3;
hip_step_launcher hip_launch_steps_staged_pair_4;
/* The same in a medium of classes, of 2 and 3 steps: media that hip_steps_classes_takes. */
hip_step_launcher hip_launch_steps_classes_2;
hip_step_launcher hip_launch_steps_classes_3;
bool hip_steps_classes_takes(const struct step_args *args);
/* Bits of the faces of such a medium at which they advance no cell that is less than `nsteps` from
 * them: those that radiate, those of x and y with patches, and where cells have own closures. */
unsigned hip_steps_classes_apart(const struct step_args *args);
/* Two steps with conductances per cell, of boxes that are as far from all closed faces. */
hip_step_launcher hip_launch_steps_faces_2;
bool hip_steps_faces_takes(const struct step_args *args);
/* Add the sums over closed faces before each step, for boxes whose kernels did not. */
hip_step_launcher hip_launch_steps_sums;

hipError_t hip_launch_copy(hipStream_t stream, void *d_to, const void *d_from, size_t bytes);
/* Does the copy engine pack long rows? */
bool hip_packs_by_copy(void);
/* Any number of boxes; buffers may be another device's memory. */
hipError_t hip_launch_pack(hipStream_t stream, const struct layout *layout, const void *d_field,
                           const struct box *boxes, void *const *d_buffers, int nboxes);
/* Boxes in one launch, and flags. */
enum { HIP_BOXES_PER_MOVE = 26 };

/* At most HIP_BOXES_PER_MOVE flags. The wait ends after limit_s; then *late, in pinned host memory,
 * becomes 1. */
hipError_t hip_launch_flags_write(hipStream_t stream, uint32_t *const *d_flags, int nflags,
                                  uint32_t value);
hipError_t hip_launch_flags_wait(hipStream_t stream, uint32_t *const *d_flags, int nflags,
                                 uint32_t value, double limit_s, uint32_t *late);

hipError_t hip_launch_scratch_reset(hipStream_t stream, struct hip_scratch *d_scratch);
#ifdef __cplusplus
}

/* f(a number of the precision's type) */
template <typename F> static inline auto in_precision(enum precision precision, const F &f)
{
    return precision == PRECISION_FLOAT64 ? f(double{}) : f(float{});
}
#endif
