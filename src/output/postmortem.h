/* What is left behind when there are invalid values in the solution. */
#ifndef ISOTHERM_OUTPUT_POSTMORTEM_H
#define ISOTHERM_OUTPUT_POSTMORTEM_H

#include "solve/stepper.h"

/* Collective. Call with the failure recorded and agreed: writes the present state to
 * postmortem.h5 in the output folder and adds to the message where it is, which checkpoint is the
 * last valid one (`last_checkpoint`; "" when this run wrote none), and what to do next. Returns
 * STATUS_NUMERICS, agreed, whatever happens to the file. */
enum status postmortem(struct stepper *stepper, const char *last_checkpoint) MUST_CHECK;

#endif
