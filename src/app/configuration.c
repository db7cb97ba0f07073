#include "app/command/commands.h"

#include <stdlib.h>
#include <string.h>

#include "base/comm.h"
#include "base/file.h"
#include "model/field/view.h"

enum { CONFIGURATION_LIMIT = 1 << 20 };

static enum status broadcast_text(MPI_Comm comm, char **text, size_t *length)
{
    uint64_t bytes = *length;
    TRY_MPI(MPI_Bcast(&bytes, 1, MPI_UINT64_T, 0, comm));
    *length = bytes;
    *text = comm_rank(comm) == 0 ? *text : malloc(*length + 1);
    TRY(status_agree(comm, CHECK_MEMORY(*text != NULL, "no memory for the configuration")));
    return comm_check(MPI_Bcast(*text, (int)*length + 1, MPI_CHAR, 0, comm), "MPI_Bcast");
}

/* Only rank 0 reads: thousands of ranks opening one file would burden the file system. */
static enum status read_text(MPI_Comm comm, const char *path, char **text, size_t *length)
{
    const bool alone = comm == MPI_COMM_NULL;
    *length = 0;
    const enum status status = alone || comm_rank(comm) == 0
                                   ? file_read_all(path, CONFIGURATION_LIMIT, text, length)
                                   : STATUS_OK;
    TRY(alone ? status : status_agree(comm, status));
    return alone ? STATUS_OK : broadcast_text(comm, text, length);
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
    size_t bytes = first ? strlen((*settings)->converted) : 0;
    *converted = first ? strdup((*settings)->converted) : NULL;
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
