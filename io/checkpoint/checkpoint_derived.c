#include "io/checkpoint/checkpoint_derived.h"

#include "base/comm.h"
#include "io/hdf5/h5_field.h"
#include "model/view.h"

unsigned checkpoint_kept(const struct derived *derived)
{
    return derived == NULL ? 0 : derived_kept(derived->mask);
}

static struct view whole_grid(const struct field *field)
{
    struct view whole = {.stride = {1, 1, 1}};
    for (int a = 0; a < AXIS_COUNT; a++) {
        whole.grid.cells[a] = field->placement.global_cells[a];
    }
    return whole;
}

/* One field, bit for bit; blocks without `copy_out`. */
static enum status take(struct field *field, struct copy_out *copy_out, const struct layout *layout,
                        const void *d_memory, const struct box *cells, void *h_values)
{
    const struct view whole = whole_grid(field);
    return copy_out != NULL ? view_send(&whole, copy_out, field, layout, d_memory, VIEW_AS_IT_IS,
                                        layout->precision, h_values)
                            : view_read(&whole, field, layout, d_memory, cells, VIEW_AS_IT_IS,
                                        layout->precision, h_values);
}

enum status checkpoint_capture_fields(struct field *field, struct copy_out *copy_out,
                                      char *h_memory, struct checkpoint_part *part)
{
    const struct derived *derived = field->derived;
    const uint64_t cells = (uint64_t)box_cells(&part->cells);
    TRY(take(field, copy_out, &field->layout, field_temperature(field), &part->cells, h_memory));
    part->values = h_memory;
    h_memory += copy_out_bytes(cells * precision_bytes(part->precision));
    if (field->d_shown != NULL) {
        TRY(take(field, copy_out, &field->layout, field->d_now, &part->cells, h_memory));
        part->enthalpy = h_memory;
        h_memory += copy_out_bytes(cells * precision_bytes(part->precision));
    }
    for (int kind = 0; kind < DERIVED_COUNT; kind++) {
        if (derived_wants(part->kept, kind)) {
            TRY(take(field, copy_out, &derived->layout, derived->d_values[kind], &part->cells,
                     h_memory));
            part->derived[kind] = (const double *)(const void *)h_memory;
            h_memory += copy_out_bytes(cells * sizeof(double));
        }
    }
    return STATUS_OK;
}

static enum status describe(hid_t file, const struct derived_label *label)
{
    hid_t dataset = H5I_INVALID_HID;
    TRY(h5_dataset_open(file, label->name, &dataset));
    const enum status status = h5_attribute_label(dataset, label->units, label->long_name);
    H5Dclose(dataset);
    return status;
}

enum status checkpoint_make_derived(hid_t file, const struct grid *grid, unsigned kept,
                                    struct raw_place *places)
{
    for (int kind = 0; kind < DERIVED_COUNT; kind++) {
        if (derived_wants(kept, kind)) {
            const struct derived_label *label = derived_label((enum derived_kind)kind);
            TRY(h5_raw_make(file, label->name, grid->cells, PRECISION_FLOAT64, places++));
            TRY(describe(file, label));
        }
    }
    return STATUS_OK;
}

/* Collective, agreed. Read this rank's box in pieces, which are contiguous in `values`. */
static enum status read_pieces(MPI_Comm comm, hid_t dataset, const struct box *box, double *values)
{
    struct pieces pieces;
    int64_t cells[AXIS_COUNT];
    for (int a = 0; a < AXIS_COUNT; a++) {
        cells[a] = box_extent(box, (enum axis)a);
    }
    TRY(pieces_create(comm, cells, H5_FIELD_PIECE_BYTES / (int64_t)sizeof *values, &pieces));
    for (int64_t p = 0; p < pieces.count; p++) {
        const struct box local = pieces_box(&pieces, p);
        const struct box global = box_shift(&local, box->lo);
        TRY(status_agree(comm, h5_read_box(dataset, &global, PRECISION_FLOAT64, true, values)));
        values += box_cells(&local);
    }
    return STATUS_OK;
}

enum status checkpoint_read_derived(MPI_Comm comm, const char *path, enum derived_kind kind,
                                    const struct box *box, double *values, bool *found)
{
    const char *name = derived_label(kind)->name;
    hid_t file = H5I_INVALID_HID;
    hid_t dataset = H5I_INVALID_HID;
    TRY(h5_open_parallel(comm, path, false, &file));
    enum status status = STATUS_OK;
    *found = H5Lexists(file, name, H5P_DEFAULT) > 0; /* the same on all ranks */
    if (*found) {
        TRY_GOTO(status_agree(comm, h5_dataset_open(file, name, &dataset)));
        TRY_GOTO(read_pieces(comm, dataset, box, values));
    }
done:
    h5_close(file);
    return fail_prefix(status, "%s of the checkpoint %s: ", name, path);
}
