/* Writes docs/reference/configuration.md: cmake --build build/cpu --target configuration_page */
#include <stdbool.h>
#include <stdio.h>

#include "base/status.h"
#include "cmake/settings_reference.h"

int main(int argc, char **argv)
{
    SCOPED_FREE char *text = settings_reference();
    FILE *page = argc == 2 && text != NULL ? fopen(argv[1], "we") : NULL;
    bool written = page != NULL && fputs(text, page) >= 0;
    written = (page == NULL || fclose(page) == 0) && written;
    if (!written) {
        fprintf(stderr, "cannot write %s\n", argc == 2 ? argv[1] : "the page: give its file name");
    }
    return written ? 0 : 1;
}
