#include "app/command/commands.h"

#include <stdlib.h>
#include <string.h>

#include "base/comm.h"
#include "base/file.h"
#include "model/field/view.h"

enum { CONFIGURATION_LIMIT = 1 << 20 };

/* Collective, agreed: rank 0's text for all. Caller frees it, on failure too. */
static enum status share_text(MPI_Comm comm, char **text)
{
    const bool first = comm_rank(comm) == 0;
    uint64_t bytes = first ? strlen(*text) + 1 : 0;
    TRY_MPI(MPI_Bcast(&bytes, 1, MPI_UINT64_T, 0, comm));
    *text = first ? *text : malloc(bytes);
    TRY(status_agree(comm, CHECK_MEMORY(*text != NULL, "no memory for the configuration")));
    return comm_check(MPI_Bcast(*text, (int)bytes, MPI_CHAR, 0, comm), "MPI_Bcast");
}

static enum status read_file(const char *path, const struct settings_overrides *words, char **text,
                             struct settings **settings)
{
    size_t length = 0;
    TRY(file_read_all(path, CONFIGURATION_LIMIT, text, &length));
    return settings_read_bytes(path, *text, length, words, settings);
}

/* Collective, agreed. Only rank 0 reads the file and the database of units: thousands of ranks
 * opening one file would burden the file system. The others get the text and the numbers. */
static enum status read_together(MPI_Comm comm, const char *path, struct settings_overrides *words,
                                 struct settings **settings)
{
    const bool first = comm_rank(comm) == 0;
    SCOPED_FREE char *text = NULL;
    SCOPED_FREE char *numbers = NULL;
    TRY(status_agree(comm, first ? read_file(path, words, &text, settings) : STATUS_OK));
    numbers = first ? strdup((*settings)->text) : NULL;
    TRY(status_agree(comm,
                     CHECK_MEMORY(!first || numbers != NULL, "no memory for the configuration")));
    TRY(share_text(comm, &text));
    TRY(share_text(comm, &numbers));
    words->numbers = numbers;
    return status_agree(
        comm, first ? STATUS_OK : settings_read_bytes(path, text, strlen(text), words, settings));
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
    const bool alone = comm == MPI_COMM_NULL;
    SCOPED_FREE char *text = NULL;
    enum status status = alone ? read_file(path, &words, &text, settings)
                               : read_together(comm, path, &words, settings);
    status = status == STATUS_OK ? settings_find_files(*settings, path) : status;
    status = status == STATUS_OK ? view_check_regions(*settings) : status;
    if (status != STATUS_OK) {
        settings_destroy(*settings);
        *settings = NULL;
    }
    return alone ? status : status_agree(comm, status);
}

void configuration_release(struct settings **settings)
{
    if (!comm_is_broken()) {
        settings_destroy(*settings);
    }
}
