/* The choice of passes with tiles: run.sleeping_tiles. */
#pragma once

#include "solve/stepper.h"

/* Collective, agreed. Decide if the pass from the current step on has tiles. */
enum status sleep_decide(struct stepper *stepper);

/* Collective, agreed; blocks. Count the tiles of all ranks, for the report. */
enum status sleep_count(struct stepper *stepper);
