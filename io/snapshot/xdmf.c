#include "io/snapshot/snapshot_index.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

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

static void write_attribute(FILE *out, const int64_t n[AXIS_COUNT], const char *name,
                            enum precision precision, const char *file)
{
    fprintf(out, "        <Attribute Name=\"%s\" AttributeType=\"Scalar\" Center=\"Cell\">\n",
            name);
    fprintf(out,
            "          <DataItem Dimensions=\"%" PRId64 " %" PRId64 " %" PRId64
            "\" NumberType=\"Float\" Precision=\"%zu\" Format=\"HDF\">%s:/%s</DataItem>\n",
            n[AXIS_Z], n[AXIS_Y], n[AXIS_X], precision_bytes(precision), file, name);
    fprintf(out, "        </Attribute>\n");
}

/* One complete dataset per step: some readers do not support HyperSlab selections. */
static void write_step(FILE *out, const struct snapshot_series *series,
                       const struct snapshot_list *list, int64_t index)
{
    const struct grid *grid = &series->grid;
    const int64_t *n = grid->cells;
    char file[SNAPSHOT_NAME_BYTES];
    double spacing[AXIS_COUNT];
    grid_shown_spacing(grid, spacing);
    snapshot_relative_path(series, list->steps[index], file);
    fprintf(out, "      <Grid Name=\"step %" PRId64 "\" GridType=\"Uniform\">\n",
            list->steps[index]);
    fprintf(out, "        <Time Value=\"%.17g\"/>\n", list->times[index]);
    fprintf(out,
            "        <Topology TopologyType=\"3DCoRectMesh\" Dimensions=\"%" PRId64 " %" PRId64
            " %" PRId64 "\"/>\n",
            n[AXIS_Z] + 1, n[AXIS_Y] + 1, n[AXIS_X] + 1);
    fprintf(out, "        <Geometry GeometryType=\"ORIGIN_DXDYDZ\">\n");
    write_vector(out, "Origin", grid->lower);
    write_vector(out, "Spacing", spacing);
    fprintf(out, "        </Geometry>\n");
    const struct derived_label *label = NULL;
    for (int i = 0; (label = snapshot_content(series->derived, i)) != NULL; i++) {
        write_attribute(out, n, label->name, list->precision, file);
    }
    fprintf(out, "      </Grid>\n");
}

/* A string built in memory. */
struct text {
    FILE *out;
    char *bytes;
    size_t length;
};

static enum status text_open(struct text *text, const char *path)
{
    *text = (struct text){.out = open_memstream(&text->bytes, &text->length)};
    return text->out == NULL ? fail(STATUS_MEMORY, "no memory for %s", path) : STATUS_OK;
}

static enum status text_close(struct text *text, const char *path)
{
    const bool failed = ferror(text->out) != 0;
    return fclose(text->out) != 0 || failed ? fail(STATUS_MEMORY, "no memory for %s", path)
                                            : STATUS_OK;
}

static const char MORE[] = "      <?more ";
static const char CLOSED[] = "? "; /* becomes "?>", the end of the instruction */

/* In proportion to the file, so that rewriting it does not cost more per step as it grows. Parsers
 * accept an instruction of up to 10 MB. */
static int room_for(const struct text *text)
{
    enum { LEAST = 1 << 14, MOST = 1 << 20 };
    const size_t room = LEAST + text->length / 2;
    return room < MOST ? (int)room : MOST;
}

static enum status write_all(const char *path, const struct snapshot_series *series,
                             const struct snapshot_list *list, struct xdmf *xdmf)
{
    struct text text;
    TRY(text_open(&text, path));
    fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
          "<Xdmf Version=\"3.0\">\n  <Domain>\n    <Grid Name=\"",
          text.out);
    write_escaped(text.out, series->title);
    fputs("\" GridType=\"Collection\" CollectionType=\"Temporal\">\n", text.out);
    for (int64_t i = 0; i < list->count; i++) {
        write_step(text.out, series, list, i);
    }
    fputs(MORE, text.out);
    fflush(text.out);
    xdmf->room = text.length;
    xdmf->limit = text.length + (size_t)room_for(&text);
    fprintf(text.out, "%*s?>\n    </Grid>\n  </Domain>\n</Xdmf>\n", room_for(&text), "");
    const enum status status = text_close(&text, path);
    SCOPED_FREE char *bytes = text.bytes;
    xdmf->bytes = text.length;
    return status == STATUS_OK ? file_replace(path, bytes, text.length) : status;
}

static enum status add_text(int fd, const char *path, const struct text *text, uint64_t room)
{
    TRY(file_write_at(fd, path, text->bytes, text->length, room));
    TRY(file_sync(fd, path));
    TRY(file_write_at(fd, path, ">", 1, room + 1));
    return file_sync(fd, path);
}

/* Write the new steps into the reserved room, if it is large enough. */
static enum status add_steps(const char *path, const struct snapshot_series *series,
                             const struct snapshot_list *list, struct xdmf *xdmf, bool *added)
{
    struct text text;
    *added = false;
    SCOPED_FD const int fd = open(path, O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) {
        return STATUS_OK;
    }
    enum status status = text_open(&text, path);
    if (status == STATUS_OK) {
        fprintf(text.out, "%s\n", CLOSED);
        for (int64_t i = xdmf->count; i < list->count; i++) {
            write_step(text.out, series, list, i);
        }
        fputs(MORE, text.out);
        status = text_close(&text, path);
        if (status == STATUS_OK && text.length <= xdmf->limit - xdmf->room) {
            status = add_text(fd, path, &text, xdmf->room);
            xdmf->room += text.length;
            *added = true;
        }
        free(text.bytes);
    }
    return status;
}

enum status xdmf_write(const char *path, const struct snapshot_series *series,
                       const struct snapshot_list *list, struct xdmf *xdmf)
{
    bool added = false;
    if (xdmf->count > 0 && file_size(path) == xdmf->bytes) {
        TRY(add_steps(path, series, list, xdmf, &added));
    }
    if (!added) {
        TRY(write_all(path, series, list, xdmf));
    }
    xdmf->count = list->count;
    return STATUS_OK;
}
