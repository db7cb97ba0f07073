/* Reads names of checkpoints from stdin and answers each with a line: "good", or what is wrong with
 * it in the eyes of the program's own check. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

#include "io/checkpoint/checkpoint_internal.h"

int main(int argc, char **argv)
{
    char path[PATH_BYTES];
    MPI_Init(&argc, &argv);
    while (fgets(path, sizeof path, stdin) != NULL) {
        path[strcspn(path, "\n")] = '\0';
        const enum status status = checkpoint_seal_check(MPI_COMM_SELF, path);
        printf("%s\n", status == STATUS_OK ? "good" : fail_message());
        fflush(stdout);
    }
    MPI_Finalize();
    return 0;
}
