/* The functions that faces.c and faces_uniform.c share. */
#pragma once

#include "solve/observe/diagnostics.h"

/* Find the Gaussian sources on faces at the current time. A formula without a value now has none:
 * the next step reports it. */
void faces_find_beams(struct face_closures *closures);

/* faces_begin and faces_end of a uniform medium. */
enum status faces_begin_uniform(struct stepper *stepper, struct face_reading *reading);
enum status faces_end_uniform(struct stepper *stepper, struct face_reading *reading,
                              struct face_diagnostics *faces);
