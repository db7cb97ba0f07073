/* What the files of the backend `offload` share. Its operations run at once, each as one target
 * region or a few, so queues never wait. */
#ifndef ISOTHERM_KERNELS_OFFLOAD_DEVICE_OFFLOAD_H
#define ISOTHERM_KERNELS_OFFLOAD_DEVICE_OFFLOAD_H

#include "kernels/backend.h"

struct device {
    int number; /* of OpenMP */
    bool is_host;
};

struct queue {
    struct device *device;
};

/* The functions of operations.h by the same names. */
step_function offload_step;
step_function offload_step_rows;
enum status offload_step_wide(struct queue *queue, const struct layout *layout,
                              const struct coefficients *args, void *d_out, const void *d_in,
                              const struct box *boxes, int nboxes);
enum status offload_pack(struct queue *queue, const struct layout *layout, const void *d_field,
                         const struct box *box, void *d_buffer);
enum status offload_unpack(struct queue *queue, const struct layout *layout, const void *d_buffer,
                           const struct box *box, void *d_field);
enum status offload_pack_boxes(struct queue *queue, const struct layout *layout,
                               const void *d_field, const struct box *boxes, void *const *d_buffers,
                               int nboxes);
enum status offload_unpack_boxes(struct queue *queue, const struct layout *layout,
                                 void *const *d_buffers, const struct box *boxes, int nboxes,
                                 void *d_field);
enum status offload_gather(struct queue *queue, enum precision precision, const void *d_field,
                           const int64_t *d_elements, int64_t count, void *d_values);
enum status offload_extract(struct queue *queue, const struct layout *layout,
                            const struct extract_args *args, const void *d_field, void *d_values);
enum status offload_summarise(struct queue *queue, const struct layout *layout,
                              const struct placement *placement, const struct device_medium *medium,
                              const void *d_field, struct field_summary *h_summary);
enum status offload_hash(struct queue *queue, const struct layout *layout,
                         const struct placement *placement, const void *d_field, uint64_t *h_hash);
enum status offload_plane_maxima(struct queue *queue, const struct layout *layout,
                                 const void *d_field, double limit, uint64_t *d_planes);
enum status offload_track(struct queue *queue, const struct layout *layout,
                          const struct layout *kept, const struct track_args *args,
                          const void *d_field);
enum status offload_flux_squared(struct queue *queue, const struct layout *layout,
                                 const struct layout *kept, const struct flux_args *args,
                                 const void *d_field, double *d_flux);

/* Add the exact sum of the cells of a box, which may be empty, to one on the host. */
void offload_tally(struct queue *queue, const struct layout *layout, const void *d_field,
                   const struct box *box, struct exact_sum *h_sum);

/* Add a sum to one on the device. */
void offload_sum_add(struct queue *queue, struct exact_sum *d_sum, struct exact_sum sum);

/* The cells of a box next to a face; maybe none. */
struct box offload_layer_at(const struct box *box, const struct layout *layout, enum face face);

/* All bytes 0xFF; `bytes` is rounded up to whole words, which must be there. */
void offload_fill_nan(int device, void *d_memory, size_t bytes);

#endif
