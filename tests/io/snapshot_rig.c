#include "snapshot_rig.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char TITLE[] = "a <title> & \"more\", 20 \xc2\xb0"
                     "C";
const char CONFIG[] = "title: for the test\ngrid: {cells: [1, 2, 3]}\n";

static double time_of(int64_t step)
{
    return 0.1 * (double)step;
}

/* Cells of an ambient, which have no values, as expectations.py has them. */
static void make_gaps(struct work *w)
{
    struct field *f = w->rig.field;
    const struct box owned = layout_owned(&f->layout);
    w->of_class = calloc(1, (size_t)f->layout.elements);
    assert_non_null(w->of_class);
    for (int64_t c = 0; c < box_cells(&owned); c++) {
        int64_t at[AXIS_COUNT];
        box_cell(&owned, c, at);
        const int64_t *first = f->placement.offset;
        const int64_t sum = at[0] + first[0] + 2 * (at[1] + first[1]) + 3 * (at[2] + first[2]);
        w->of_class[layout_index(&f->layout, at[0], at[1], at[2])] = 0xf0 | (sum % 5 == 0);
    }
    f->gaps = (struct field_gaps){
        .layout = f->layout, .h_class = w->of_class, .mask = 15, .is_gap = {false, true}};
    w->view.has_gaps = true;
}

void work_open_derived(struct work *w, const char *name, const int64_t cells[AXIS_COUNT],
                       enum precision field, enum precision file, int compress,
                       const struct region_setting *region, unsigned derived)
{
    memset(w, 0, sizeof *w);
    w->region = "null";
    snprintf(w->folder, sizeof w->folder, "%.2000s/%s", rig_folder, name);
    folder_make_empty(w->folder);
    rig_open(&w->rig, comm_size(MPI_COMM_WORLD), cells, field, "guard");
    if (strncmp(name, "graded", strlen("graded")) == 0) {
        rig_grade(&w->rig.grid);
    }
    view_whole(&w->rig.grid, &w->view);
    if (region != NULL) {
        view_create(&w->rig.grid, region, &w->view);
    }
    if (strstr(name, "gaps") != NULL) {
        make_gaps(w);
    }
    w->setting = (struct snapshot_setting){{.every = 10}, file, compress, derived};
    if (derived != 0) {
        struct field *f = w->rig.field;
        must(derived_create(f->backend, f->device, f->layout.cells, derived, &f->derived));
    }
    must(snapshots_open(w->rig.comm, w->folder, "snapshots", &w->view, &w->setting, TITLE, CONFIG,
                        -1, &w->snapshots));
}

void work_open_region(struct work *w, const char *name, const int64_t cells[AXIS_COUNT],
                      enum precision field, enum precision file, int compress,
                      const struct region_setting *region)
{
    work_open_derived(w, name, cells, field, file, compress, region, 0);
}

void work_open(struct work *w, const char *name, const int64_t cells[AXIS_COUNT],
               enum precision field, enum precision file, int compress)
{
    work_open_region(w, name, cells, field, file, compress, NULL);
}

void work_reopen(struct work *w, int64_t restart_step)
{
    snapshots_close(w->snapshots);
    w->snapshots = NULL;
    must(snapshots_open(w->rig.comm, w->folder, "snapshots", &w->view, &w->setting, TITLE, CONFIG,
                        restart_step, &w->snapshots));
    while (w->expected.count > 0 && w->expected.steps[w->expected.count - 1] > restart_step) {
        w->expected.count--;
    }
}

/* Capture and write a step. */
enum status put_step(struct work *w, int64_t step)
{
    struct snapshot_capture capture = {0};
    void *memory = malloc(snapshots_capture_bytes(w->snapshots, w->rig.field) + 1);
    enum status status =
        snapshots_capture(w->snapshots, w->rig.field, NULL, step, time_of(step), memory, &capture);
    if (status == STATUS_OK) {
        status = snapshots_put(w->snapshots, &capture);
    }
    free(memory);
    return status;
}

void work_write(struct work *w, int64_t step, int seed)
{
    rig_fill_plain(&w->rig, seed);
    if (w->setting.derived != 0) {
        rig_fill_derived(&w->rig, seed);
    }
    if (snapshots_wants(w->snapshots, step)) {
        must(put_step(w, step));
    }
    struct expected *expected = &w->expected;
    if (expected->count == 0 || expected->steps[expected->count - 1] < step) {
        expected->steps[expected->count] = step;
        expected->seeds[expected->count] = seed;
        expected->count++;
    }
}

static void write_expected(const struct work *w)
{
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "%.3000s/expect.json", w->folder);
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    const struct grid *grid = &w->rig.grid;
    const struct view *view = &w->view;
    fprintf(out, "{\"grid\": [%" PRId64 ", %" PRId64 ", %" PRId64 "],\n", grid->cells[0],
            grid->cells[1], grid->cells[2]);
    fprintf(out, " \"cells\": [%" PRId64 ", %" PRId64 ", %" PRId64 "],\n", view->grid.cells[0],
            view->grid.cells[1], view->grid.cells[2]);
    fprintf(out, " \"region\": %s,\n", w->region);
    fprintf(out, " \"lower\": [%.17g, %.17g, %.17g],\n", grid->lower[0], grid->lower[1],
            grid->lower[2]);
    fprintf(out, " \"spacing\": [%.17g, %.17g, %.17g],\n", grid->spacing[0], grid->spacing[1],
            grid->spacing[2]);
    fprintf(out, " \"edges\": [");
    for (int a = 0; a < AXIS_COUNT; a++) {
        for (int64_t i = 0; i <= grid->cells[a]; i++) {
            fprintf(out, "%s%.17g",
                    i > 0   ? ", "
                    : a > 0 ? "], ["
                            : "[",
                    grid_edge(grid, (enum axis)a, i));
        }
    }
    fprintf(out, "]],\n \"precision\": \"%s\", \"compress\": %d,\n",
            precision_name(w->setting.precision), w->setting.compress);
    fprintf(out, " \"derived\": {");
    const char *comma = "";
    for (int kind = 0; kind < DERIVED_COUNT; kind++) {
        if (derived_wants(w->setting.derived, kind)) {
            fprintf(out, "%s\"%s\": %d", comma, derived_label(kind)->name, 1 + kind);
            comma = ", ";
        }
    }
    fprintf(out, "},\n \"gaps\": %s,\n \"snapshots\": [", w->of_class != NULL ? "true" : "false");
    for (int i = 0; i < w->expected.count; i++) {
        fprintf(out, "%s\n  {\"step\": %" PRId64 ", \"time\": %.17g, \"seed\": %d}",
                i > 0 ? "," : "", w->expected.steps[i], time_of(w->expected.steps[i]),
                w->expected.seeds[i]);
    }
    fprintf(out, "]}\n");
    assert_int_equal(fclose(out), 0);
}

void work_close(struct work *w)
{
    snapshots_close(w->snapshots);
    if (comm_rank(w->rig.comm) == 0) {
        write_expected(w);
    }
    MPI_Barrier(w->rig.comm);
    rig_close(&w->rig);
    free(w->of_class);
}
