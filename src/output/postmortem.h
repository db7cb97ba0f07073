/* What is left behind when the numbers went bad. */
#ifndef ISOTHERM_OUTPUT_POSTMORTEM_H
#define ISOTHERM_OUTPUT_POSTMORTEM_H

#include "solve/solver.h"

/* Collective. Call with the failure recorded and agreed: writes the present state to
 * DIRECTORY/postmortem.h5 and adds to the message where it is, which checkpoint is the last good
 * one (`last_checkpoint`; "" when this run wrote none), and what to do next. Returns
 * STATUS_NUMERICS, agreed, whatever happens to the file. */
enum status postmortem(struct run *run, const char *directory,
                       const char *last_checkpoint) MUST_CHECK;

#endif
