/* The units of the values of a configuration: what a value is, an example in another unit, and the
 * range outside of which it is probably in another one. For schema_table.c only. */
#pragma once

#include "config/schema/schema.h"

static const struct schema_unit metre = {"m", "a length", "5 mm", 0, 0};
static const struct schema_unit second = {"s", "a time", "3 min", 0, 0};
static const struct schema_unit kelvin = {"K", "a temperature", "20 degC", 100, 6000};
static const struct schema_unit difference = {"K", "a difference of temperatures", "20 mK", 0, 100};
static const struct schema_unit rate = {"K/s", "a rate of change", "2 K/min", 0, 1e6};
static const struct schema_unit conductivity = {"W/(m K)", "a thermal conductivity", "2 W/(cm K)",
                                                0.001, 1e4};
static const struct schema_unit diffusivity = {"m^2/s", "a diffusivity", "0.1 mm^2/s", 0, 1};
static const struct schema_unit density = {"kg/m^3", "a density", "7.8 g/cm^3", 0.01, 3e4};
static const struct schema_unit heat_capacity = {"J/(kg K)", "a specific heat capacity",
                                                 "0.5 kJ/(kg K)", 10, 1e5};
static const struct schema_unit latent_heat = {"J/kg", "a heat per mass", "270 kJ/kg", 100, 1e8};
static const struct schema_unit heat_flux = {"W/m^2", "a heat flux", "5 kW/m^2", 0, 1e13};
static const struct schema_unit heat_transfer = {"W/(m^2 K)", "a heat transfer coefficient",
                                                 "1 mW/(mm^2 K)", 0.01, 1e7};
static const struct schema_unit resistance = {"m^2 K/W", "a contact resistance", "5 mm^2 K/W", 0,
                                              0};
static const struct schema_unit power = {"W", "a power", "5 mW", 0, 1e9};
static const struct schema_unit power_density = {"W/m^3", "a power per volume", "3 W/cm^3", 0,
                                                 1e17};
static const struct schema_unit perfusion_rate = {"1/s", "a volume per volume and time", "30 1/min",
                                                  0, 0};
static const struct schema_unit steps = {"steps", NULL, NULL, 0, 0};
