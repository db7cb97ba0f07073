#include "app/command/commands.h"

#include <stdlib.h>
#include <string.h>

#include "base/comm.h"
#include "base/file.h"
#include "model/field/view.h"

enum { CONFIGURATION_LIMIT = 1 << 20 };

static enum status broadcast_text(MPI_Comm comm, char **text, uint64_t *length)
{
    TRY_MPI(MPI_Bcast(length, 1, MPI_UINT64_T, 0, comm));
    enum status status = STATUS_OK;
    if (comm_rank(comm) != 0) {
        *text = malloc(*length + 1);
        if (*text == NULL) {
            status = fail(STATUS_MEMORY, "no memory for the configuration");
        }
    }
    TRY(status_agree(comm, status));
    TRY_MPI(MPI_Bcast(*text, (int)*length + 1, MPI_CHAR, 0, comm));
    return STATUS_OK;
}

/* Only rank 0 reads: thousands of ranks opening one file would burden the file system. */
static enum status read_text(MPI_Comm comm, const char *path, char **text, size_t *length)
{
    *length = 0;
    if (comm == MPI_COMM_NULL) {
        return file_read_all(path, CONFIGURATION_LIMIT, text, length);
    }
    enum status status = STATUS_OK;
    if (comm_rank(comm) == 0) {
        status = file_read_all(path, CONFIGURATION_LIMIT, text, length);
    }
    TRY(status_agree(comm, status));
    uint64_t bytes = *length;
    TRY(broadcast_text(comm, text, &bytes));
    *length = bytes;
    return STATUS_OK;
}

/* Rank 0 reads the configuration, and with it the database of units; the others get the numbers.
 * *settings stays NULL on them. */
static enum status read_first(MPI_Comm comm, const char *path, const char *text, size_t length,
                              const struct settings_overrides *words, struct settings **settings,
                              char **converted)
{
    if (comm == MPI_COMM_NULL) {
        return settings_read_bytes(path, text, length, words, settings);
    }
    const bool first = comm_rank(comm) == 0;
    TRY(status_agree(comm,
                     first ? settings_read_bytes(path, text, length, words, settings) : STATUS_OK));
    uint64_t bytes = first ? strlen((*settings)->converted) : 0;
    *converted = first ? strdup((*settings)->converted) : NULL;
    TRY(status_agree(
        comm, CHECK_MEMORY(!first || *converted != NULL, "no memory for the configuration")));
    return broadcast_text(comm, converted, &bytes);
}

enum status configuration_read(MPI_Comm comm, const char *path, const struct option_list *sets,
                               const char *output, const char *backend, struct settings **settings)
{
    *settings = NULL;
    struct settings_option options[2];
    struct settings_overrides words = {
        .sets = sets->item, .nsets = sets->count, .options = options};
    if (output != NULL) {
        options[words.noptions++] =
            (struct settings_option){"--output", "output.directory", output};
    }
    if (backend != NULL) {
        options[words.noptions++] = (struct settings_option){"--backend", "run.backend", backend};
    }
    char *text = NULL;
    char *converted = NULL;
    size_t length = 0;
    TRY(read_text(comm, path, &text, &length));
    enum status status;
    TRY_GOTO(read_first(comm, path, text, length, &words, settings, &converted));
    if (*settings == NULL) {
        words.converted = converted;
        TRY_GOTO(settings_read_bytes(path, text, length, &words, settings));
    }
    TRY_GOTO(settings_find_files(*settings, path));
    TRY_GOTO(view_check_regions(*settings));
done:
    free(converted);
    free(text);
    if (status != STATUS_OK) {
        settings_destroy(*settings);
        *settings = NULL;
    }
    return comm == MPI_COMM_NULL ? status : status_agree(comm, status);
}
