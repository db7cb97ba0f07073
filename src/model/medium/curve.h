/* A material as the kernels know it: heat per volume, temperature and conductivity as a piecewise
 * linear curve, made from numbers, tables and latent heat. */
#pragma once

#include "config/settings.h"
#include "kernels/cell/nonlinear_cell.h"

/* Plain data. Segment i is between nodes i and i + 1; the last one is open, with the heat capacity
 * `capacity_above` and a constant conductivity. Node 0 is 0 K, without heat. */
struct curve {
    int count;                               /* of nodes and segments */
    double heat[NONLINEAR_SEGMENTS];         /* J/m^3 */
    double temperature[NONLINEAR_SEGMENTS];  /* K */
    double conductivity[NONLINEAR_SEGMENTS]; /* W/(m K), along x */
    double integral[NONLINEAR_SEGMENTS];     /* of the conductivity over temperature, W/m */
    double capacity_above;                   /* J/(m^3 K) */
    double factor[AXIS_COUNT];               /* of the conductivity along an axis */
    bool melts;
    double solidus_heat, liquidus_heat; /* J/m^3 */
};

/* Of entry `number` of `materials`. Reads CSV files. STATUS_INPUT, with the line of the
 * configuration, when a property is not positive or has too many rows; STATUS_FILE. */
enum status curve_create(const struct settings *settings, int number, struct curve *curve);

/* dT/dH of segment i, m^3 K/J; and dk/dH. */
double curve_slope(const struct curve *curve, int segment);
double curve_conductivity_slope(const struct curve *curve, int segment);

/* Where it has this heat, J/m^3: K, W/(m K) along x, J/(m^3 K) (0 at a melting point). */
struct curve_point {
    double temperature, conductivity, capacity;
};
struct curve_point curve_at(const struct curve *curve, double heat);

/* Of the segments that hold temperatures from `low` to `high`: the smallest heat capacity,
 * J/(m^3 K), latent heat left out, and the largest conductivity, W/(m K), along an axis. */
double curve_least_capacity(const struct curve *curve, double low, double high);
double curve_most_conductivity(const struct curve *curve, enum axis axis, double low, double high);
/* At a temperature, W/(m K), along an axis. */
double curve_conductivity(const struct curve *curve, enum axis axis, double kelvins);
/* Of all: the largest heat per kelvin above 0 K, and the smallest conductivity. */
double curve_most_capacity(const struct curve *curve);
double curve_least_conductivity(const struct curve *curve, enum axis axis);
