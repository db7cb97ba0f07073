/* Copies on the device: boxes to and from contiguous buffers, cells for files, and fresh memory. */
#include "kernels/offload/target.h"

#include "kernels/extract_cell.h"
#include "kernels/offload/device_offload.h"

void offload_fill_nan(int device, void *d_memory, size_t bytes)
{
    uint64_t *words = d_memory;
    const int64_t count = (int64_t)(bytes / sizeof *words);
    TARGET(TARGET_LOOP device(device) is_device_ptr(words))
    for (int64_t n = 0; n < count; n++) {
        words[n] = UINT64_MAX;
    }
}

/* A box of a field and a contiguous buffer. */
struct transfer {
    int64_t first; /* element of the box's first cell */
    int64_t pitch_y, pitch_z;
    int64_t nx, ny, nz;
};

static struct transfer transfer_of(const struct layout *layout, const struct box *box)
{
    return (struct transfer){
        .first = layout_index(layout, box->lo[AXIS_X], box->lo[AXIS_Y], box->lo[AXIS_Z]),
        .pitch_y = layout->pitch_y,
        .pitch_z = layout->pitch_z,
        .nx = box_extent(box, AXIS_X),
        .ny = box_extent(box, AXIS_Y),
        .nz = box_extent(box, AXIS_Z)};
}

/* As integers, which keep the bits of a NaN. */
#define DEFINE_MOVES(word, suffix)                                                                 \
    static void pack_##suffix(int device, struct transfer t, word *buffer, const word *field)      \
    {                                                                                              \
        TARGET(TARGET_ROWS(2) device(device) is_device_ptr(buffer, field) firstprivate(t))         \
        for (int64_t k = 0; k < t.nz; k++) {                                                       \
            for (int64_t j = 0; j < t.ny; j++) {                                                   \
                LANES                                                                              \
                for (int64_t i = 0; i < t.nx; i++) {                                               \
                    buffer[i + t.nx * (j + t.ny * k)] =                                            \
                        field[t.first + i + j * t.pitch_y + k * t.pitch_z];                        \
                }                                                                                  \
            }                                                                                      \
        }                                                                                          \
    }                                                                                              \
    static void unpack_##suffix(int device, struct transfer t, word *field, const word *buffer)    \
    {                                                                                              \
        TARGET(TARGET_ROWS(2) device(device) is_device_ptr(buffer, field) firstprivate(t))         \
        for (int64_t k = 0; k < t.nz; k++) {                                                       \
            for (int64_t j = 0; j < t.ny; j++) {                                                   \
                LANES                                                                              \
                for (int64_t i = 0; i < t.nx; i++) {                                               \
                    field[t.first + i + j * t.pitch_y + k * t.pitch_z] =                           \
                        buffer[i + t.nx * (j + t.ny * k)];                                         \
                }                                                                                  \
            }                                                                                      \
        }                                                                                          \
    }                                                                                              \
    static void gather_##suffix(int device, const int64_t *elements, int64_t count, word *values,  \
                                const word *field)                                                 \
    {                                                                                              \
        TARGET(TARGET_LOOP device(device) is_device_ptr(elements, values, field))                  \
        for (int64_t n = 0; n < count; n++) {                                                      \
            values[n] = field[elements[n]];                                                        \
        }                                                                                          \
    }
DEFINE_MOVES(uint64_t, float64)
DEFINE_MOVES(uint32_t, float32)

enum status offload_pack(struct queue *queue, const struct layout *layout, const void *d_field,
                         const struct box *box, void *d_buffer)
{
    const int device = queue->device->number;
    if (layout->precision == PRECISION_FLOAT64) {
        pack_float64(device, transfer_of(layout, box), d_buffer, d_field);
    } else {
        pack_float32(device, transfer_of(layout, box), d_buffer, d_field);
    }
    return STATUS_OK;
}

enum status offload_unpack(struct queue *queue, const struct layout *layout, const void *d_buffer,
                           const struct box *box, void *d_field)
{
    const int device = queue->device->number;
    if (layout->precision == PRECISION_FLOAT64) {
        unpack_float64(device, transfer_of(layout, box), d_field, d_buffer);
    } else {
        unpack_float32(device, transfer_of(layout, box), d_field, d_buffer);
    }
    return STATUS_OK;
}

enum status offload_pack_boxes(struct queue *queue, const struct layout *layout,
                               const void *d_field, const struct box *boxes, void *const *d_buffers,
                               int nboxes)
{
    for (int b = 0; b < nboxes; b++) {
        TRY(offload_pack(queue, layout, d_field, &boxes[b], d_buffers[b]));
    }
    return STATUS_OK;
}

enum status offload_unpack_boxes(struct queue *queue, const struct layout *layout,
                                 void *const *d_buffers, const struct box *boxes, int nboxes,
                                 void *d_field)
{
    for (int b = 0; b < nboxes; b++) {
        TRY(offload_unpack(queue, layout, d_buffers[b], &boxes[b], d_field));
    }
    return STATUS_OK;
}

enum status offload_gather(struct queue *queue, enum precision precision, const void *d_field,
                           const int64_t *d_elements, int64_t count, void *d_values)
{
    const int device = queue->device->number;
    if (precision == PRECISION_FLOAT64) {
        gather_float64(device, d_elements, count, d_values, d_field);
    } else {
        gather_float32(device, d_elements, count, d_values, d_field);
    }
    return STATUS_OK;
}

/* `result` is an expression in `value` and args.root. */
#define DEFINE_EXTRACT(name, from, to, result)                                                     \
    static void extract_##name(int device, struct layout layout, struct extract_args args,         \
                               const from *field, to *values)                                      \
    {                                                                                              \
        TARGET(TARGET_ROWS(2) device(device) is_device_ptr(values, field)                          \
                   firstprivate(layout, args))                                                     \
        for (int64_t k = 0; k < args.cells[AXIS_Z]; k++) {                                         \
            for (int64_t j = 0; j < args.cells[AXIS_Y]; j++) {                                     \
                LANES                                                                              \
                for (int64_t i = 0; i < args.cells[AXIS_X]; i++) {                                 \
                    const from value =                                                             \
                        field[layout_index(&layout, args.first[AXIS_X] + i * args.stride[AXIS_X],  \
                                           args.first[AXIS_Y] + j * args.stride[AXIS_Y],           \
                                           args.first[AXIS_Z] + k * args.stride[AXIS_Z])];         \
                    values[i + args.cells[AXIS_X] * (j + args.cells[AXIS_Y] * k)] = result;        \
                }                                                                                  \
            }                                                                                      \
        }                                                                                          \
    }
DEFINE_EXTRACT(wide, double, double, args.root ? extract_root(value) : value)
DEFINE_EXTRACT(narrowed, double, float, extract_narrow(args.root ? extract_root(value) : value))
DEFINE_EXTRACT(widened, float, double, extract_widen(value))
DEFINE_EXTRACT(same, uint32_t, uint32_t, value)

enum status offload_extract(struct queue *queue, const struct layout *layout,
                            const struct extract_args *args, const void *d_field, void *d_values)
{
    const int device = queue->device->number;
    const bool to_wide = args->precision == PRECISION_FLOAT64;
    if (layout->precision == PRECISION_FLOAT64 && to_wide) {
        extract_wide(device, *layout, *args, d_field, d_values);
    } else if (layout->precision == PRECISION_FLOAT64) {
        extract_narrowed(device, *layout, *args, d_field, d_values);
    } else if (to_wide) {
        extract_widened(device, *layout, *args, d_field, d_values);
    } else {
        extract_same(device, *layout, *args, d_field, d_values);
    }
    return STATUS_OK;
}
