/* Loses memory after MPI has been started and stopped: LeakSanitizer must say so in spite of the
 * suppressions, or all the other tests would be silent as well. */
#include <mpi.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    char *volatile lost = malloc(100);
    lost = lost != NULL && argc > 100 ? lost : NULL;
    MPI_Finalize();
    return lost != NULL;
}
