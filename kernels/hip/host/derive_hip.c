/* Samples of a field on the backend `hip`. */
#include "kernels/hip/host/device_hip.h"

enum status hip_gather(struct queue *queue, enum precision precision, const void *d_field,
                       const int64_t *d_elements, int64_t count, void *d_values)
{
    TRY_HIP(hip_launch_gather, queue->stream, precision, d_field, d_elements, count, d_values);
    return STATUS_OK;
}

enum status hip_track(struct queue *queue, const struct layout *layout, const struct layout *kept,
                      const struct track_args *args, const void *d_field)
{
    TRY_HIP(hip_launch_track, queue->stream, layout, kept, args, d_field);
    return STATUS_OK;
}

enum status hip_flux_squared(struct queue *queue, const struct layout *layout,
                             const struct layout *kept, const struct flux_args *args,
                             const void *d_field, double *d_flux)
{
    TRY_HIP(hip_launch_flux_squared, queue->stream, layout, kept, args, d_field, d_flux);
    return STATUS_OK;
}

enum status hip_extract(struct queue *queue, const struct layout *layout,
                        const struct extract_args *args, const void *d_field, void *d_values)
{
    TRY_HIP(hip_launch_extract, queue->stream, layout, args, d_field, d_values);
    return STATUS_OK;
}

enum status hip_add_source(struct queue *queue, const struct layout *layout,
                           const struct source_args *args, void *d_field, const struct box *box)
{
    if (!box_is_empty(box)) {
        TRY_HIP(hip_launch_add_source, queue->stream, queue->d_scratch, layout, args, d_field, box);
    }
    return STATUS_OK;
}

enum status hip_sum_perfusion(struct queue *queue, const struct layout *layout,
                              const struct device_medium *medium, const void *d_field,
                              const struct box *box, struct exact_sum *d_sum)
{
    if (!box_is_empty(box)) {
        TRY_HIP(hip_launch_sum_perfusion, queue->stream, queue->d_scratch, layout, medium, d_field,
                box, d_sum);
    }
    return STATUS_OK;
}

enum status hip_summarise_classes(struct queue *queue, const struct layout *layout,
                                  const struct device_medium *medium, const uint8_t *d_groups,
                                  const void *d_field, struct class_summary *d_summaries)
{
    TRY_HIP(hip_launch_summarise_classes, queue->stream, layout, medium, d_groups, d_field,
            d_summaries);
    return STATUS_OK;
}

enum status hip_number_classes(struct queue *queue, const struct layout *kept,
                               const struct device_medium *medium, const uint8_t *d_numbers,
                               double *d_values)
{
    TRY_HIP(hip_launch_number_classes, queue->stream, kept, medium, d_numbers, d_values);
    return STATUS_OK;
}

enum status hip_change_classes(struct queue *queue, const struct layout *layout,
                               const struct class_changes *change, const void *d_field,
                               const struct box *box)
{
    if (!box_is_empty(box)) {
        TRY_HIP(hip_launch_change_classes, queue->stream, layout, change, d_field, box);
    }
    return STATUS_OK;
}

enum status hip_plane_maxima(struct queue *queue, const struct layout *layout, const void *d_field,
                             double limit, uint64_t *d_planes)
{
    TRY_HIP(hip_launch_plane_maxima, queue->stream, layout, d_field, limit, d_planes);
    return STATUS_OK;
}

enum status hip_convert(struct queue *queue, const struct layout *layout,
                        const struct device_medium *medium, enum enthalpy_conversion conversion,
                        const void *d_in, void *d_out)
{
    TRY_HIP(hip_launch_convert, queue->stream, layout, medium, conversion, d_in, d_out);
    return STATUS_OK;
}

enum status hip_liquid_fraction(struct queue *queue, const struct layout *layout,
                                const struct layout *kept, const struct device_medium *medium,
                                const void *d_field, double *d_fraction)
{
    TRY_HIP(hip_launch_liquid_fraction, queue->stream, layout, kept, medium, d_field, d_fraction);
    return STATUS_OK;
}
