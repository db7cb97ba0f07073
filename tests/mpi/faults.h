/* Between the generated wrappers (make_faults.py) and what decides on a call's fate (faults.c). */
#pragma once

/* MPI_SUCCESS: make the call. Else return that code instead. `caller`: an address in the code that
 * calls. */
int fault_of_call(const char *name, void *caller);
