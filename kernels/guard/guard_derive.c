/* Samples of a field, and its sources, on the backend `guard`: the cpu functions, queued. */
#include "kernels/guard/guard_device.h"

static enum status run_gather(struct queue *queue, const struct operation *op)
{
    (void)queue;
    cpu_gather(op->layout.precision, op->from, op->elements, (int64_t)op->bytes, op->to);
    return STATUS_OK;
}

enum status guard_gather(struct queue *queue, enum precision precision, const void *d_field,
                         const int64_t *d_elements, int64_t count, void *d_values)
{
    const struct operation op = {.run = run_gather,
                                 .layout = {.precision = precision},
                                 .from = d_field,
                                 .elements = d_elements,
                                 .bytes = (size_t)count,
                                 .to = d_values};
    return guard_add(queue, &op, NULL);
}

static enum status run_track(struct queue *queue, const struct operation *op)
{
    (void)queue;
    cpu_track(&op->layout, &op->kept, &op->track, op->from);
    return STATUS_OK;
}

enum status guard_track(struct queue *queue, const struct layout *layout, const struct layout *kept,
                        const struct track_args *args, const void *d_field)
{
    const struct operation op = {
        .run = run_track, .layout = *layout, .kept = *kept, .track = *args, .from = d_field};
    return guard_add(queue, &op, NULL);
}

static enum status run_flux(struct queue *queue, const struct operation *op)
{
    (void)queue;
    cpu_flux_squared(&op->layout, &op->kept, &op->flux, op->from, op->to);
    return STATUS_OK;
}

enum status guard_flux_squared(struct queue *queue, const struct layout *layout,
                               const struct layout *kept, const struct flux_args *args,
                               const void *d_field, double *d_flux)
{
    const struct operation op = {.run = run_flux,
                                 .layout = *layout,
                                 .kept = *kept,
                                 .flux = *args,
                                 .from = d_field,
                                 .to = d_flux};
    return guard_add(queue, &op, NULL);
}

static enum status run_extract(struct queue *queue, const struct operation *op)
{
    (void)queue;
    cpu_extract(&op->layout, &op->extract, op->from, op->to);
    return STATUS_OK;
}

enum status guard_extract(struct queue *queue, const struct layout *layout,
                          const struct extract_args *args, const void *d_field, void *d_values)
{
    const struct operation op = {
        .run = run_extract, .layout = *layout, .extract = *args, .from = d_field, .to = d_values};
    return guard_add(queue, &op, NULL);
}

static enum status run_add_source(struct queue *queue, const struct operation *op)
{
    (void)queue;
    cpu_add_source(&op->layout, &op->source, op->to, &op->boxes[0]);
    return STATUS_OK;
}

enum status guard_add_source(struct queue *queue, const struct layout *layout,
                             const struct source_args *args, void *d_field, const struct box *box)
{
    const struct operation op = {
        .run = run_add_source, .layout = *layout, .source = *args, .to = d_field, .nboxes = 1};
    return guard_add(queue, &op, box);
}

struct perfusion_call {
    struct layout layout;
    struct device_medium medium;
    struct box box;
};

static void call_sum_perfusion(const void *arguments, void *to, const void *from)
{
    const struct perfusion_call *call = arguments;
    cpu_sum_perfusion(&call->layout, &call->medium, from, &call->box, to);
}

enum status guard_sum_perfusion(struct queue *queue, const struct layout *layout,
                                const struct device_medium *medium, const void *d_field,
                                const struct box *box, struct exact_sum *d_sum)
{
    const struct perfusion_call call = {*layout, *medium, *box};
    return guard_call(queue, call_sum_perfusion, &call, sizeof call, d_sum, d_field);
}

struct classes_call {
    struct layout layout;
    struct device_medium medium;
    const uint8_t *groups;
};

static void call_summarise_classes(const void *arguments, void *to, const void *from)
{
    const struct classes_call *call = arguments;
    cpu_summarise_classes(&call->layout, &call->medium, call->groups, from, to);
}

enum status guard_summarise_classes(struct queue *queue, const struct layout *layout,
                                    const struct device_medium *medium, const uint8_t *d_groups,
                                    const void *d_field, struct class_summary *d_summaries)
{
    const struct classes_call call = {*layout, *medium, d_groups};
    return guard_call(queue, call_summarise_classes, &call, sizeof call, d_summaries, d_field);
}

struct number_call {
    struct layout kept;
    struct device_medium medium;
};

static void call_number_classes(const void *arguments, void *to, const void *from)
{
    const struct number_call *call = arguments;
    cpu_number_classes(&call->kept, &call->medium, from, to);
}

enum status guard_number_classes(struct queue *queue, const struct layout *kept,
                                 const struct device_medium *medium, const uint8_t *d_numbers,
                                 double *d_values)
{
    const struct number_call call = {*kept, *medium};
    return guard_call(queue, call_number_classes, &call, sizeof call, d_values, d_numbers);
}

struct change_call {
    struct layout layout;
    struct class_changes change;
    struct box box;
};

static void call_change_classes(const void *arguments, void *to, const void *from)
{
    const struct change_call *call = arguments;
    (void)to;
    cpu_change_classes(&call->layout, &call->change, from, &call->box);
}

enum status guard_change_classes(struct queue *queue, const struct layout *layout,
                                 const struct class_changes *change, const void *d_field,
                                 const struct box *box)
{
    const struct change_call call = {*layout, *change, *box};
    return guard_call(queue, call_change_classes, &call, sizeof call, change->d_class, d_field);
}

struct planes_call {
    struct layout layout;
    double limit;
};

static void call_plane_maxima(const void *arguments, void *to, const void *from)
{
    const struct planes_call *call = arguments;
    cpu_plane_maxima(&call->layout, from, call->limit, to);
}

enum status guard_plane_maxima(struct queue *queue, const struct layout *layout,
                               const void *d_field, double limit, uint64_t *d_planes)
{
    const struct planes_call call = {*layout, limit};
    return guard_call(queue, call_plane_maxima, &call, sizeof call, d_planes, d_field);
}

static enum status run_convert(struct queue *queue, const struct operation *op)
{
    (void)queue;
    cpu_convert(&op->layout, op->given, op->conversion, op->from, op->to);
    return STATUS_OK;
}

enum status guard_convert(struct queue *queue, const struct layout *layout,
                          const struct device_medium *medium, enum enthalpy_conversion conversion,
                          const void *d_in, void *d_out)
{
    const struct operation op = {.run = run_convert,
                                 .layout = *layout,
                                 .given = medium,
                                 .conversion = conversion,
                                 .from = d_in,
                                 .to = d_out};
    return guard_add(queue, &op, NULL);
}

static enum status run_liquid(struct queue *queue, const struct operation *op)
{
    (void)queue;
    cpu_liquid_fraction(&op->layout, &op->kept, op->given, op->from, op->to);
    return STATUS_OK;
}

enum status guard_liquid_fraction(struct queue *queue, const struct layout *layout,
                                  const struct layout *kept, const struct device_medium *medium,
                                  const void *d_field, double *d_fraction)
{
    const struct operation op = {.run = run_liquid,
                                 .layout = *layout,
                                 .kept = *kept,
                                 .given = medium,
                                 .from = d_field,
                                 .to = d_fraction};
    return guard_add(queue, &op, NULL);
}
