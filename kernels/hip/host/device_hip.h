/* The device, queues and results that the host code of the backend `hip` shares. */
#pragma once

#include "kernels/hip/host/launch.h"

#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Reductions that may be queued at once. */
enum { RESULTS_PER_QUEUE = 16 };

/* The launch shape for boxes of one size; number 0: the backend's own rule. */
struct shape_choice {
    int64_t extent[AXIS_COUNT];
    int number;
};

struct device {
    int index;
    struct shape_choice shape[PRECISION_FLOAT32 + 1];
};

/* A reduction's result stays in pinned memory until a wait for the queue copies it to the caller's
 * memory, which the device cannot access. */
struct delivery {
    void *h_to;
    const void *from;
    size_t bytes;
};

struct queue {
    struct device *device;
    hipStream_t stream;
    bool has_priority; /* its work runs concurrently with the step kernels of another queue */
    struct hip_scratch *d_scratch;                 /* two, see struct hip_step */
    struct hip_result *results;                    /* pinned, RESULTS_PER_QUEUE */
    struct delivery deliveries[RESULTS_PER_QUEUE]; /* cyclic, as are the results */
    uint64_t promised, delivered;                  /* results since the queue was made */
    uint32_t *late; /* pinned: not 0 when a wait for flags has timed out */
    double limit_s; /* of the last such wait */
};

struct event {
    hipEvent_t event;
    uint64_t promised; /* results of the queue before the mark */
};

struct stopwatch {
    hipEvent_t start, stop;
};

enum status hip_check(hipError_t error, const char *what);
enum status hip_out_of_host_memory(void);
/* The multiprocessors of the device, of which a process has one. */
enum status hip_count_processors(int *count);
/* Load a kernel whose blocks share `bytes`: CUDA takes 0.05 to 0.1 ms for one, else at its first
 * launch. */
enum status hip_load(const void *kernel, int bytes);
enum status hip_load_multigrid(void);

static inline struct hip_step hip_step_on(const struct queue *queue, const struct step_args *args)
{
    struct hip_step step; /* not by an initializer: C++ warns of the members that it leaves out */
    memset(&step, 0, sizeof step);
    step.stream = queue->stream;
    step.d_scratch = queue->d_scratch;
    step.args = args;
    return step;
}

/* Call a function of HIP; errors name it. */
#define HIP(function, ...) hip_check(function(__VA_ARGS__), #function)
#define TRY_HIP(...) TRY(HIP(__VA_ARGS__))

#define hip_shared_free hip_memory_free
#define HIP_DECLARE(name) RUNTIME_TYPE(name) hip_##name;
RUNTIME_FUNCTIONS(HIP_DECLARE)
#undef HIP_DECLARE

/* backend_hip.c */
/* Memory for the result of the next reduction, which waits for the queue where there is none; then
 * have it delivered: `bytes` bytes of it, at `from`. */
enum status hip_result_begin(struct queue *queue, struct hip_result **result);
void hip_result_deliver(struct queue *queue, void *h_to, const void *from, size_t bytes);
/* step_hip.c: after the kernel of boxes, which has not added their d_bits itself. */
enum status hip_rest_of_bits(struct queue *queue, const struct hip_step *step,
                             const struct box *boxes, int nboxes);
/* radius_hip.c */
step_function hip_step_radius;

/* peer_hip.c */
/* After the queue has been waited for: STATUS_DEVICE when a wait for flags has timed out. */
enum status hip_flags_check(struct queue *queue);

/* X(name, description for `bench kernels`): hip_step_NAME of step_hip.c. */
#define HIP_STEP_VARIANTS(X)                                                                       \
    X(cell, "one thread per cell")                                                                 \
    X(march, "16-byte loads, marching in z in registers")                                          \
    X(staged_free, "tiles staged in shared memory by bulk copies, no pacing")                      \
    X(staged_pair, "with pacing, two blocks per multiprocessor")                                   \
    X(staged_deep, "with pacing, one block, more planes in flight")                                \
    X(staged_wide, "with pacing, one block, rows twice as long")

int hip_step_shapes(const char *const **names);
bool hip_steps_share_a(enum kind kind);
enum status hip_step_shape(struct device *device, enum precision precision,
                           const int64_t extent[AXIS_COUNT], int shape);
/* The shape that a search chose for boxes of this size; zeroed: the rule. */
struct hip_launch_shape hip_tuned_shape(const struct device *device, const struct layout *layout,
                                        const struct box *box);

#define HIP_DECLARE_STEP(name, about) step_function hip_step_##name;
HIP_STEP_VARIANTS(HIP_DECLARE_STEP)
#undef HIP_DECLARE_STEP
extern const struct kernel_variant hip_laplacians[];
/* Add the heat of perfusion, if args->d_perfusion asks for it, in the cells of `box` outside of
 * `done`. */
enum status hip_perfuse(struct queue *queue, const struct step_args *args, const struct box *box,
                        const struct box *done);
/* This takes one step, with aligned rows. */
enum status hip_step_production(struct queue *queue, struct hip_step *step);

#define HIP_DECLARE(name)                                                                          \
    enum status hip_##name(struct queue *queue, const struct name##_args *args);
OPERATIONS(HIP_DECLARE)
#undef HIP_DECLARE

#ifdef __cplusplus
}
#endif
