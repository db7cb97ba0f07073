/* The curve of a material (kernels/cell/face_cell.h), from numbers, tables and latent heat. */
#pragma once

#include "config/settings.h"
#include "kernels/cell/face_cell.h"

/* Of entry `number` of `materials`. Reads CSV files. STATUS_INPUT, with the line of the
 * configuration, when a property is not positive or has too many rows; STATUS_FILE. */
enum status curve_create(const struct settings *settings, int number, struct curve *curve);

/* Of the segments that hold temperatures from `low` to `high`: the smallest heat capacity,
 * J/(m^3 K), latent heat left out, and the largest conductivity, W/(m K), along an axis. */
double curve_least_capacity(const struct curve *curve, double low, double high);
double curve_most_conductivity(const struct curve *curve, enum axis axis, double low, double high);
/* At a temperature, W/(m K), along an axis. */
double curve_conductivity(const struct curve *curve, enum axis axis, double kelvins);
/* Of all: the largest heat per kelvin above 0 K, and the smallest conductivity. */
double curve_most_capacity(const struct curve *curve);
double curve_least_conductivity(const struct curve *curve, enum axis axis);
