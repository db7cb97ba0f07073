/* Derived fields of a uniform medium. */
#include "kernels/offload/target.h"

#include "kernels/derived_cell.h"
#include "kernels/offload/device_offload.h"

#define DEFINE_DERIVED(type, suffix)                                                               \
    static void track_##suffix(int device, struct layout layout, struct layout kept,               \
                               struct track_args args, const type *field)                          \
    {                                                                                              \
        TARGET(TARGET_ROWS(2) device(device) is_device_ptr(field)                                  \
                   firstprivate(layout, kept, args))                                               \
        for (int64_t k = 0; k < layout.cells[AXIS_Z]; k++) {                                       \
            for (int64_t j = 0; j < layout.cells[AXIS_Y]; j++) {                                   \
                LANES                                                                              \
                for (int64_t i = 0; i < layout.cells[AXIS_X]; i++) {                               \
                    derived_track(&args, layout_index(&kept, i, j, k),                             \
                                  (double)field[layout_index(&layout, i, j, k)]);                  \
                }                                                                                  \
            }                                                                                      \
        }                                                                                          \
    }                                                                                              \
    KERNEL_INLINE double neighbour_##suffix(const struct flux_args *args, const type *cell,        \
                                            int64_t step, enum face face, bool at_face)            \
    {                                                                                              \
        return at_face && args->closed[face]                                                       \
                   ? heat_outside_float64((double)*cell, args->a[face], args->b[face])             \
                   : (double)cell[step];                                                           \
    }                                                                                              \
    static void flux_##suffix(int device, struct layout l, struct layout kept,                     \
                              struct flux_args args, const type *field, double *flux)              \
    {                                                                                              \
        TARGET(TARGET_ROWS(2) device(device) is_device_ptr(field, flux)                            \
                   firstprivate(l, kept, args))                                                    \
        for (int64_t k = 0; k < l.cells[AXIS_Z]; k++) {                                            \
            for (int64_t j = 0; j < l.cells[AXIS_Y]; j++) {                                        \
                LANES                                                                              \
                for (int64_t i = 0; i < l.cells[AXIS_X]; i++) {                                    \
                    const int64_t *n = l.cells;                                                    \
                    const type *c = field + layout_index(&l, i, j, k);                             \
                    flux[layout_index(&kept, i, j, k)] = derived_flux_squared(                     \
                        neighbour_##suffix(&args, c, -1, FACE_X_MIN, i == 0),                      \
                        neighbour_##suffix(&args, c, 1, FACE_X_MAX, i == n[AXIS_X] - 1),           \
                        neighbour_##suffix(&args, c, -l.pitch_y, FACE_Y_MIN, j == 0),              \
                        neighbour_##suffix(&args, c, l.pitch_y, FACE_Y_MAX, j == n[AXIS_Y] - 1),   \
                        neighbour_##suffix(&args, c, -l.pitch_z, FACE_Z_MIN, k == 0),              \
                        neighbour_##suffix(&args, c, l.pitch_z, FACE_Z_MAX, k == n[AXIS_Z] - 1),   \
                        args.scale[AXIS_X], args.scale[AXIS_Y], args.scale[AXIS_Z]);               \
                }                                                                                  \
            }                                                                                      \
        }                                                                                          \
    }
DEFINE_DERIVED(double, float64)
DEFINE_DERIVED(float, float32)

enum status offload_track(struct queue *queue, const struct layout *layout,
                          const struct layout *kept, const struct track_args *args,
                          const void *d_field)
{
    const int device = queue->device->number;
    if (layout->precision == PRECISION_FLOAT64) {
        track_float64(device, *layout, *kept, *args, d_field);
    } else {
        track_float32(device, *layout, *kept, *args, d_field);
    }
    return STATUS_OK;
}

enum status offload_flux_squared(struct queue *queue, const struct layout *layout,
                                 const struct layout *kept, const struct flux_args *args,
                                 const void *d_field, double *d_flux)
{
    const int device = queue->device->number;
    if (layout->precision == PRECISION_FLOAT64) {
        flux_float64(device, *layout, *kept, *args, d_field, d_flux);
    } else {
        flux_float32(device, *layout, *kept, *args, d_field, d_flux);
    }
    return STATUS_OK;
}
