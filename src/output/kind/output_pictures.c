/* Output kind: pictures of a plane, drawn by the step loop. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/comm.h"
#include "base/file.h"
#include "base/log.h"
#include "io/picture/picture.h"
#include "output/output.h"
#include "output/run_folder.h"

struct picture_output {
    char last[PATH_BYTES]; /* rank 0; "" before the first one */
};

static bool is_on(const struct output_setting *requests)
{
    return cadence_is_on(&requests->pictures.cadence);
}

static enum status make_folder(const struct output_setting *requests)
{
    char folder[PATH_BYTES];
    TRY(path_join(requests->directory, "pictures", folder));
    return directory_make(folder);
}

static enum status open_output(const struct output_context *in, void **object)
{
    const struct output_setting *requests = &in->problem->output;
    if (!is_on(requests)) {
        return STATUS_OK;
    }
    if (!picture_supported()) {
        log_warn("output.pictures: no pictures are drawn, this build has no Cairo");
        return STATUS_OK;
    }
    enum status status = STATUS_OK;
    *object = calloc(1, sizeof(struct picture_output));
    if (*object == NULL) {
        status = fail(STATUS_MEMORY, "no memory for a picture's name");
    } else if (in->team->rank == 0) {
        status = make_folder(requests);
    }
    return status_agree(in->team->comm, status);
}

static enum status write_picture(void *object, const struct output_context *in)
{
    struct picture_output *output = object;
    const struct output_setting *requests = &in->problem->output;
    const double since = MPI_Wtime();
    const double disk_since = file_disk_seconds();
    TRY(picture_write(in->team->comm, requests->directory, in->stepper->level->field,
                      &in->problem->grid, &requests->pictures, in->problem->title, in->state->step,
                      in->state->time, in->summary->min, in->summary->max, output->last));
    writer_count(in->writer, in->kind, 1, file_size(output->last), since, disk_since);
    return STATUS_OK;
}

static void list(const void *object, const struct output_context *in)
{
    const struct picture_output *output = object;
    if (output->last[0] != '\0') {
        log_info("  picture      %s", output->last);
    }
}

static double plan(const struct problem *problem)
{
    const struct cadence *cadence = &problem->output.pictures.cadence;
    const int64_t count = timeline_count_due(&problem->timeline, cadence);
    printf("pictures       %lld\n", (long long)count);
    return 1e5 * (double)count;
}

static enum status files(const struct output_setting *requests, struct path_list *found)
{
    return folder_add_steps(requests->directory, "pictures", found);
}

/* Also those that this run will draw again. */
static enum status roll_back(const struct output_setting *requests, int64_t step)
{
    SCOPED_BY(path_list_free) struct path_list found = {0};
    TRY(files(requests, &found));
    for (int i = 0; i < found.count; i++) {
        const char *name = strrchr(found.path[i], '/') + 1;
        if (strncmp(name, "step_", 5) == 0 && strtoll(name + 5, NULL, 10) > step) {
            TRY(file_remove(found.path[i]));
        }
    }
    return STATUS_OK;
}

extern const struct output_kind output_pictures;
const struct output_kind output_pictures = {
    .name = "pictures",
    .section = {{"output.pictures", "pictures", 1000}},
    .summary = SUMMARY_ALWAYS,
    .open = open_output,
    .close = free,
    .write = write_picture,
    .list = list,
    .plan = plan,
    .files = files,
    .roll_back = roll_back,
};
