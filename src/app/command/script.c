/* Commands whose work is a script that the program has inside. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "app/command/commands.h"
#include "base/file.h"

enum status script_execute(const char *script, const char **words)
{
    char program[PATH_BYTES] = "";
    FAIL_IF(readlink("/proc/self/exe", program, sizeof program - 1) < 0,
            fail(STATUS_FILE, "/proc/self/exe: %s", strerror(errno)));
    memcpy(words, (const char *const[SCRIPT_WORDS]){"python3", "-c", script, program},
           SCRIPT_WORDS * sizeof *words);
    execvp(words[0], (char *const *)words);
    return fail(STATUS_FILE, "cannot start python3: %s", strerror(errno));
}
