#include "app/exit_note.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/status.h"

void exit_note(int code)
{
    const char *path = getenv("ISOTHERM_EXIT_FILE");
    if (path == NULL) {
        return;
    }
    SCOPED_FD const int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0) {
        return;
    }
    char text[16];
    const int length = snprintf(text, sizeof text, "%d\n", code);
    if (write(fd, text, (size_t)length) != length) {
        unlink(path);
    }
}
