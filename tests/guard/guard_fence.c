/* The backend `guard`: operations see and change no more of a field than operations.h says. An
 * operation gets copies of its inputs that hold NaN outside of its reach. An output is compared
 * afterwards: it may differ in its region only. */
#include <stdlib.h>
#include <string.h>

#include "kernels/cpu/host/memory.h"
#include "tests/guard/guard_device.h"

static void copy_box(const struct layout *layout, const struct box *box, void *to, const void *from)
{
    if (box_is_empty(box)) {
        return;
    }
    const size_t bytes = precision_bytes(layout->precision);
    const size_t length = (size_t)box_extent(box, AXIS_X) * bytes;
    for (int64_t k = box->lo[AXIS_Z]; k < box->hi[AXIS_Z]; k++) {
        for (int64_t j = box->lo[AXIS_Y]; j < box->hi[AXIS_Y]; j++) {
            const size_t at = (size_t)layout_index(layout, box->lo[AXIS_X], j, k) * bytes;
            memcpy((char *)to + at, (const char *)from + at, length);
        }
    }
}

/* The cells of the halo too, but none beyond a closed face. */
static struct box readable(const struct step_args *args)
{
    struct box box = layout_owned(&args->layout);
    for (int f = 0; f < FACE_COUNT; f++) {
        const bool closed = args->levels[0].closed[f];
        box = box_shrink_face(&box, (enum face)f,
                              closed ? 0 : -args->layout.halo[face_axis((enum face)f)]);
    }
    return box;
}

/* One step reads along the axes, several steps read edges and corners as well. */
static void copy_reach(const struct step_args *args, void *to)
{
    const struct coefficients *first = &args->levels[0];
    /* beside a closed face the stencils of high order lean inward */
    const int radius = first->kind == KIND_HIGH_ORDER ? 2 * first->high_order.radius - 1 : 1;
    const struct box most = readable(args);
    for (int b = 0; b < args->nboxes; b++) {
        struct box all = args->boxes[b];
        for (int axis = 0; axis < AXIS_COUNT; axis++) {
            struct box wide = args->nsteps > 1 ? all : args->boxes[b];
            wide.lo[axis] -= (int64_t)radius * args->nsteps;
            wide.hi[axis] += (int64_t)radius * args->nsteps;
            all = wide;
            wide = box_intersect(&wide, &most);
            copy_box(&args->layout, &wide, to, args->d_in);
        }
    }
}

static void *pointer_at(const void *args, size_t offset)
{
    void *pointer;
    memcpy(&pointer, (const char *)args + offset, sizeof pointer);
    return pointer;
}

static void *pointer_of(const void *args, const struct field_access *field)
{
    return pointer_at(args, field->pointer);
}

static void copy_region(const void *args, const struct field_access *field, void *to,
                        const void *from)
{
    const char *bytes = args;
    const struct layout *layout = (const void *)(bytes + field->layout);
    const struct box owned = layout_owned(layout);
    const struct box *boxes = &owned;
    int count = 1;
    if (field->region == REGION_STEP) {
        copy_reach(args, to);
        return;
    }
    if (field->region == REGION_BOX) {
        boxes = (const void *)(bytes + field->boxes);
    } else if (field->region == REGION_BOXES) {
        boxes = pointer_at(args, field->boxes);
        memcpy(&count, bytes + field->count, sizeof count);
    }
    for (int b = 0; b < count; b++) {
        copy_box(layout, &boxes[b], to, from);
    }
}

static size_t bytes_of(const void *args, const struct field_access *field)
{
    const struct layout *layout = (const void *)((const char *)args + field->layout);
    return field->region != REGION_ALL && pointer_of(args, field) != NULL ? layout_bytes(layout)
                                                                          : 0;
}

/* An input that is also the output is not replaced. */
static bool is_output(const struct guard_fence *fence, const void *pointer)
{
    for (const struct field_access *f = fence->fields; f->pointer != 0; f++) {
        if (f->is_written && pointer_of(fence->args, f) == pointer) {
            return true;
        }
    }
    return false;
}

/* A step reads of its output only what it corrects or keeps. */
static enum status spoil_output(const struct step_args *step, const struct field_access *output)
{
    const size_t bytes = layout_bytes(&step->layout);
    if (step->levels[0].corrects || step->tiles != NULL) {
        return STATUS_OK;
    }
    SCOPED_FREE void *nan = malloc(bytes);
    TRY(CHECK_MEMORY(nan != NULL, "out of memory"));
    memset(nan, 0xFF, bytes);
    copy_region(step, output, step->d_out, nan);
    return STATUS_OK;
}

enum status guard_fence_begin(const struct field_access *fields, void *args,
                              struct guard_fence *fence)
{
    *fence = (struct guard_fence){.fields = fields, .args = args};
    for (int i = 0; fields[i].pointer != 0; i++) {
        const size_t bytes = bytes_of(args, &fields[i]);
        void *pointer = pointer_of(args, &fields[i]);
        if (bytes == 0 || (!fields[i].is_written && is_output(fence, pointer))) {
            continue;
        }
        TRY(host_memory_alloc(bytes, &fence->copy[i]));
        if (fields[i].is_written) {
            memcpy(fence->copy[i], pointer, bytes);
            continue;
        }
        memset(fence->copy[i], 0xFF, bytes);
        copy_region(args, &fields[i], fence->copy[i], pointer);
        memcpy((char *)args + fields[i].pointer, &fence->copy[i], sizeof fence->copy[i]);
        TRY(fields[i].region == REGION_STEP ? spoil_output(args, &fields[0]) : STATUS_OK);
    }
    return STATUS_OK;
}

enum status guard_fence_end(struct guard_fence *fence, enum status status)
{
    for (int i = 0; fence->fields[i].pointer != 0; i++) {
        const struct field_access *field = &fence->fields[i];
        const void *now = pointer_of(fence->args, field);
        if (field->is_written && fence->copy[i] != NULL) {
            copy_region(fence->args, field, fence->copy[i], now);
            if (status == STATUS_OK &&
                memcmp(fence->copy[i], now, bytes_of(fence->args, field)) != 0) {
                status = fail(STATUS_DEVICE, "guard: an operation has written outside its region");
            }
        }
        free(fence->copy[i]);
    }
    return status;
}
