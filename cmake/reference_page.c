/* Brings docs/reference/configuration.md up to date: cmake --build build/cpu --target
 * configuration_page */
#include <stdbool.h>
#include <stdio.h>

#include "base/file.h"
#include "cmake/settings_reference.h"

int main(int argc, char **argv)
{
    SCOPED_FREE char *page = NULL;
    size_t nbytes = 0;
    if (argc != 2 || file_read_all(argv[1], 1 << 20, &page, &nbytes) != STATUS_OK) {
        fprintf(stderr, "%s\n", argc == 2 ? fail_message() : "give the file name of the page");
        return 1;
    }
    SCOPED_FREE char *text = settings_reference(page);
    FILE *file = text != NULL ? fopen(argv[1], "we") : NULL;
    bool written = file != NULL && fputs(text, file) >= 0;
    written = (file == NULL || fclose(file) == 0) && written;
    if (!written) {
        fprintf(stderr, "cannot write %s\n", argv[1]);
    }
    return written ? 0 : 1;
}
