#include "io/snapshot/snapshot_index.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/file.h"
#include "model/field/derived.h"

static void write_escaped(FILE *out, const char *text)
{
    for (const char *c = text; *c != '\0'; c++) {
        switch (*c) {
        case '&':
            fputs("&amp;", out);
            break;
        case '<':
            fputs("&lt;", out);
            break;
        case '>':
            fputs("&gt;", out);
            break;
        case '"':
            fputs("&quot;", out);
            break;
        default:
            /* XML allows no control characters */
            fputc((unsigned char)*c < ' ' ? ' ' : *c, out);
        }
    }
}

/* XDMF orders axes from the slowest: z y x. */
static void write_vector(FILE *out, const char *name, const double v[AXIS_COUNT])
{
    fprintf(out,
            "          <DataItem Name=\"%s\" Dimensions=\"3\" NumberType=\"Float\" Precision=\"8\" "
            "Format=\"XML\">%.17g %.17g %.17g</DataItem>\n",
            name, v[AXIS_Z], v[AXIS_Y], v[AXIS_X]);
}

/* `type`: "Float" or "UChar"; `bytes`: of a value. */
static void write_attribute(FILE *out, const int64_t n[AXIS_COUNT], const char *name,
                            const char *type, size_t bytes, const char *file)
{
    fprintf(out, "        <Attribute Name=\"%s\" AttributeType=\"Scalar\" Center=\"Cell\">\n",
            name);
    fprintf(out,
            "          <DataItem Dimensions=\"%" PRId64 " %" PRId64 " %" PRId64
            "\" NumberType=\"%s\" Precision=\"%zu\" Format=\"HDF\">%s:/%s</DataItem>\n",
            n[AXIS_Z], n[AXIS_Y], n[AXIS_X], type, bytes, file, name);
    fprintf(out, "        </Attribute>\n");
}

static void write_geometry(FILE *out, const struct snapshot_series *series)
{
    const struct grid *grid = &series->grid;
    double spacing[AXIS_COUNT];
    grid_shown_spacing(grid, spacing);
    if (!grid_is_graded(grid)) {
        fprintf(out, "        <Geometry GeometryType=\"ORIGIN_DXDYDZ\">\n");
        write_vector(out, "Origin", grid->lower);
        write_vector(out, "Spacing", spacing);
    } else {
        fprintf(out, "        <Geometry GeometryType=\"VXVYVZ\">\n");
        for (int a = 0; a < AXIS_COUNT; a++) {
            fprintf(out,
                    "          <DataItem Dimensions=\"%" PRId64
                    "\" NumberType=\"Float\" Precision=\"8\" "
                    "Format=\"HDF\">%s.vtkhdf:/VTKHDF/%cCoordinates</DataItem>\n",
                    grid->cells[a] + 1, series->name, "XYZ"[a]);
        }
    }
    fprintf(out, "        </Geometry>\n");
}

/* One complete dataset per step: some readers do not support HyperSlab selections. */
static void write_step(FILE *out, const struct snapshot_series *series,
                       const struct snapshot_list *list, int64_t index)
{
    const struct grid *grid = &series->grid;
    const int64_t *n = grid->cells;
    char file[SNAPSHOT_NAME_BYTES];
    const char *topology = grid_is_graded(grid) ? "3DRectMesh" : "3DCoRectMesh";
    snapshot_relative_path(series, list->steps[index], file);
    fprintf(out, "      <Grid Name=\"step %" PRId64 "\" GridType=\"Uniform\">\n",
            list->steps[index]);
    fprintf(out, "        <Time Value=\"%.17g\"/>\n", list->times[index]);
    fprintf(out,
            "        <Topology TopologyType=\"%s\" Dimensions=\"%" PRId64 " %" PRId64 " %" PRId64
            "\"/>\n",
            topology, n[AXIS_Z] + 1, n[AXIS_Y] + 1, n[AXIS_X] + 1);
    write_geometry(out, series);
    const struct derived_label *label = NULL;
    for (int i = 0; (label = snapshot_content(series->derived, i)) != NULL; i++) {
        write_attribute(out, n, label->name, "Float", precision_bytes(list->precision), file);
    }
    if (series->has_gaps) { /* which cells to leave out */
        snprintf(file, sizeof file, "%s/" STEP_FILES_GAPS, series->name);
        write_attribute(out, n, SNAPSHOT_GHOSTS, "UChar", 1, file);
    }
    fprintf(out, "      </Grid>\n");
}

enum status xdmf_write(const struct snapshot_series *series, const struct snapshot_list *list)
{
    const char *path = series->xdmf_path;
    SCOPED_FREE char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    TRY(CHECK_MEMORY(out != NULL, "no memory for %s", path));
    fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
          "<Xdmf Version=\"3.0\">\n  <Domain>\n    <Grid Name=\"",
          out);
    write_escaped(out, series->title);
    fputs("\" GridType=\"Collection\" CollectionType=\"Temporal\">\n", out);
    for (int64_t i = 0; i < list->count; i++) {
        write_step(out, series, list, i);
    }
    fputs("    </Grid>\n  </Domain>\n</Xdmf>\n", out);
    const bool failed = ferror(out) != 0;
    TRY(CHECK_MEMORY(fclose(out) == 0 && !failed, "no memory for %s", path));
    return file_replace(path, text, length);
}
