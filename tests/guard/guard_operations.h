/* The backend `guard`: the memory that the arguments of each operation point to. */
#pragma once

#include <stddef.h>

#include "kernels/operations.h"

/* Host memory that a member of the arguments points to. */
struct host_memory {
    size_t pointer; /* offset of the member */
    size_t bytes;   /* per element; 0 ends a list of these */
    size_t count;   /* offset of the number of elements, an int; 0: one element */
    bool is_result;
};
#define HOST_MEMORY(name, member, count, is_result)                                                \
    {offsetof(struct name##_args, member), sizeof *((struct name##_args *)NULL)->member, count,    \
     is_result},
#define HOST_ARRAY(name, member, number)                                                           \
    HOST_MEMORY(name, member, offsetof(struct name##_args, number), false)
#define HOST_ONE(name, member) HOST_MEMORY(name, member, 0, false)
#define HOST_RESULT(name, member) HOST_MEMORY(name, member, 0, true)

/* Device memory that a member of the arguments points to. What no argument points to is neither
 * read nor written. */
enum field_region { REGION_ALL, REGION_OWNED, REGION_BOX, REGION_BOXES, REGION_STEP };
struct field_access {
    size_t pointer; /* offset of the member; 0 ends a list of these */
    bool is_written;
    enum field_region region; /* REGION_STEP: what `step` reads of its input */
    size_t layout;            /* offset of the field's; not with REGION_ALL */
    size_t boxes, count;      /* offsets of the box, or of the boxes and their number */
};
#define READS(name, member) {.pointer = offsetof(struct name##_args, member)},
#define FIELD(name, member, written, part, of_layout, ...)                                         \
    {.pointer = offsetof(struct name##_args, member),                                              \
     .is_written = (written),                                                                      \
     .region = (part),                                                                             \
     .layout = offsetof(struct name##_args, of_layout),                                            \
     __VA_ARGS__},
#define BOX_AT(name, box) .boxes = offsetof(struct name##_args, box)
#define BOXES_AT(name) BOX_AT(name, boxes), .count = offsetof(struct name##_args, nboxes)
#define READS_OWNED(name, member) FIELD(name, member, false, REGION_OWNED, layout)
#define READS_BOX(name, member) FIELD(name, member, false, REGION_BOX, layout, BOX_AT(name, box))
#define WRITES_OWNED(name, member, of_layout) FIELD(name, member, true, REGION_OWNED, of_layout)
#define WRITES_BOX(name, member) FIELD(name, member, true, REGION_BOX, layout, BOX_AT(name, box))
#define WRITES_BOXES(name, member) FIELD(name, member, true, REGION_BOXES, layout, BOXES_AT(name))
#define STEP_FIELDS                                                                                \
    WRITES_BOXES(step, d_out) FIELD(step, d_in, false, REGION_STEP, layout, BOXES_AT(step))

/* X(name, host memory, device memory): every operation, each with its struct name_args. */
#define GUARD_OPERATIONS(X)                                                                        \
    X(step,                                                                                        \
      HOST_ARRAY(step, levels, nsteps) HOST_ARRAY(step, boxes, nboxes)                             \
          HOST_ARRAY(step, without, nwithout) HOST_ONE(step, tiles) HOST_RESULT(step, h_summary),  \
      STEP_FIELDS)                                                                                 \
    X(add_source, HOST_ONE(add_source, medium) HOST_ONE(add_source, tiles),                        \
      WRITES_BOX(add_source, d_field) READS(add_source, d_values) READS(add_source, d_curve)       \
          READS_BOX(add_source, d_old))                                                            \
    X(sum_perfusion, HOST_ONE(sum_perfusion, medium), READS_BOX(sum_perfusion, d_field))           \
    X(sum_faces, HOST_ONE(sum_faces, medium) HOST_ARRAY(sum_faces, faces, nfaces),                 \
      READS_OWNED(sum_faces, d_field) READS_OWNED(sum_faces, d_enthalpy)                           \
          READS(sum_faces, d_closures) READS(sum_faces, d_sources) READS(sum_faces, d_material)    \
              READS(sum_faces, d_curves))                                                          \
    X(sum_surfaces, HOST_ARRAY(sum_surfaces, levels, nsteps),                                      \
      READS(sum_surfaces, d_field) READS(sum_surfaces, d_elements) READS(sum_surfaces, d_pairs))   \
    X(sum_by_surface, ,                                                                            \
      READS(sum_by_surface, d_field) READS(sum_by_surface, d_elements)                             \
          READS(sum_by_surface, d_pairs) READS(sum_by_surface, d_numbers)                          \
              READS(sum_by_surface, d_faces) READS(sum_by_surface, d_exchanges))                   \
    X(exchange_surfaces, ,                                                                         \
      READS(exchange_surfaces, d_in) READS(exchange_surfaces, d_elements)                          \
          READS(exchange_surfaces, d_faces) READS(exchange_surfaces, d_exchanges))                 \
    X(pack, HOST_ARRAY(pack, boxes, nboxes) HOST_ARRAY(pack, d_buffers, nboxes),                   \
      FIELD(pack, d_field, false, REGION_BOXES, layout, BOXES_AT(pack)))                           \
    X(unpack, HOST_ARRAY(unpack, boxes, nboxes) HOST_ARRAY(unpack, d_buffers, nboxes),             \
      WRITES_BOXES(unpack, d_field))                                                               \
    X(summarise,                                                                                   \
      HOST_ONE(summarise, medium) HOST_ONE(summarise, tiles) HOST_RESULT(summarise, h_summary),    \
      READS_OWNED(summarise, d_field) READS_OWNED(summarise, d_times))                             \
    X(summarise_classes, HOST_ONE(summarise_classes, medium),                                      \
      READS_OWNED(summarise_classes, d_field) READS(summarise_classes, d_groups))                  \
    X(number_classes, HOST_ONE(number_classes, medium),                                            \
      READS(number_classes, d_numbers) WRITES_OWNED(number_classes, d_values, kept))               \
    X(change_classes, ,                                                                            \
      READS_BOX(change_classes, d_field) READS(change_classes, d_at) READS(change_classes, d_to))  \
    X(plane_maxima, , READS_OWNED(plane_maxima, d_field))                                          \
    X(compare, HOST_ARRAY(compare, levels, nsteps), READS(compare, d_a) READS(compare, d_b))       \
    X(add_bits, HOST_ARRAY(add_bits, boxes, nboxes),                                               \
      FIELD(add_bits, d_plus, false, REGION_BOXES, layout, BOXES_AT(add_bits))                     \
          FIELD(add_bits, d_minus, false, REGION_BOXES, layout, BOXES_AT(add_bits)))               \
    X(hash, HOST_RESULT(hash, h_hash), READS_OWNED(hash, d_field))                                 \
    X(gather, HOST_ONE(gather, medium),                                                            \
      READS(gather, d_field) READS(gather, d_elements) READS(gather, d_classes))                   \
    X(track, HOST_ONE(track, medium), READS_OWNED(track, d_field))                                 \
    X(flux_squared, HOST_ONE(flux_squared, around),                                                \
      READS(flux_squared, d_field) WRITES_OWNED(flux_squared, d_flux, kept))                       \
    X(extract, , READS_OWNED(extract, d_field))                                                    \
    X(convert, HOST_ONE(convert, medium),                                                          \
      READS_OWNED(convert, d_in) WRITES_OWNED(convert, d_out, layout))                             \
    X(liquid_fraction, HOST_ONE(liquid_fraction, medium),                                          \
      READS_OWNED(liquid_fraction, d_field) WRITES_OWNED(liquid_fraction, d_fraction, kept))       \
    X(combine, ,                                                                                   \
      READS(combine, x.d_values) READS(combine, y.d_values) READS(combine, z.d_values)             \
          WRITES_OWNED(combine, d_out, layout))                                                    \
    X(relax, , READS(relax, d_r) READS(relax, d_e))                                                \
    X(ascend, , READS(ascend, d_r) READS(ascend, d_e))                                             \
    X(cycle, , )                                                                                   \
    X(correct, ,                                                                                   \
      READS(correct, d_in) READS(correct, d_e) READS(correct, d_heat)                              \
          WRITES_OWNED(correct, d_out, layout))                                                    \
    X(flow_out, , READS(flow_out, d_e) READS(flow_out, d_b))                                       \
    X(coarsen, , )                                                                                 \
    X(gather_up, , READS(gather_up, d_r))                                                          \
    X(average, , READS(average, d_r))                                                              \
    X(interpolate, , READS(interpolate, d_e))
