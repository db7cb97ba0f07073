/* The rows of `quantity`, `materials`, `contacts`, `ambients` and `surfaces` in the table of
 * schema_table.c, with its macros. */
#pragma once

#define IN_MATERIAL(member) offsetof(struct material_setting, member)

/* A shape without a name: its formula or its file. */
#define FACTOR(path_, member_)                                                                     \
    SECTION(path_, .one_of = "formula, path", .rival = "becomes"),                                 \
        KEY(path_ ".formula", FORMULA, ASK, IN_MATERIAL(member_.expression),                       \
            .variables = "x, y, z", .rival = "path", .example = "\"1 + 0.5*sin(40*x)\""),          \
        KEY(path_ ".path", TEXT, ASK, IN_MATERIAL(member_.path), .flags = SCHEMA_FILE,             \
            .rival = "formula", .example = "factors.npy"),                                         \
        KEY(path_ ".dataset", TEXT, ASK, IN_MATERIAL(member_.dataset), .fallback = "/factor",      \
            .needs = "path")

#define MATERIAL_ROWS                                                                              \
    KEY("materials[].name", TEXT, ASK, IN_MATERIAL(name), .flags = SCHEMA_REQUIRED,                \
        .example = "steel"),                                                                       \
        KEY("materials[].conductivity", REAL, ASK, IN_MATERIAL(solid.conductivity),                \
            .flags = SCHEMA_REQUIRED | SCHEMA_SAME | SCHEMA_OR_TABLE, .min_count = 1,              \
            .max_count = 3, .alternative = IN_MATERIAL(solid.conductivity_table),                  \
            .limit = &positive, .unit = &conductivity, .example = "[0.9, 0.9, 0.3]",               \
            .rival = "diffusivity"),                                                               \
        KEY("materials[].diffusivity", REAL, ASK, IN_MATERIAL(solid.conductivity),                 \
            .flags = SCHEMA_SHARED | SCHEMA_SAME | SCHEMA_OR_TABLE, .min_count = 1,                \
            .max_count = 3, .alternative = IN_MATERIAL(solid.conductivity_table),                  \
            .limit = &positive, .unit = &diffusivity,                                              \
            .rival = "conductivity, density, heat_capacity, becomes",                              \
            .example = "[1e-9, 1e-9, 3e-10]"),                                                     \
        KEY("materials[].becomes", TEXT, ASK, IN_MATERIAL(becomes), .example = "steel"),           \
        KEY("materials[].density", REAL, ASK, IN_MATERIAL(density), .flags = SCHEMA_REQUIRED,      \
            .rival = "becomes, diffusivity", .limit = &positive, .unit = &density),                \
        KEY("materials[].heat_capacity", REAL, ASK, IN_MATERIAL(solid.heat_capacity),              \
            .flags = SCHEMA_REQUIRED | SCHEMA_OR_TABLE, .rival = "becomes, diffusivity",           \
            .alternative = IN_MATERIAL(solid.heat_capacity_table), .limit = &positive,             \
            .unit = &heat_capacity, .example = "[[300, 450], [1700, 800]]"),                       \
        FACTOR("materials[].conductivity_factor", factor[FACTOR_CONDUCTIVITY]),                    \
        FACTOR("materials[].heat_capacity_factor", factor[FACTOR_HEAT_CAPACITY]),                  \
        KEY("materials[].latent_heat", REAL, ASK, IN_MATERIAL(latent_heat), .flags = SCHEMA_NOTED, \
            .alternative = IN_MATERIAL(melts), .limit = &not_negative, .unit = &latent_heat,       \
            .rival = "becomes", .needs = "solidus, the temperature at which the material melts"),  \
        KEY("materials[].solidus", REAL, ASK, IN_MATERIAL(solidus), .flags = SCHEMA_NOTED,         \
            .alternative = IN_MATERIAL(has_solidus), .limit = &temperature, .unit = &kelvin,       \
            .rival = "becomes", .needs = "latent_heat, which may be 0"),                           \
        KEY("materials[].liquidus", REAL, ASK, IN_MATERIAL(liquidus), .flags = SCHEMA_NOTED,       \
            .alternative = IN_MATERIAL(has_liquidus), .limit = &temperature, .unit = &kelvin,      \
            .rival = "becomes", .needs = "latent_heat, which may be 0"),                           \
        SECTION("materials[].liquid", .rival = "becomes", .needs = "latent_heat, which may be 0"), \
        KEY("materials[].liquid.conductivity", REAL, ASK, IN_MATERIAL(liquid.conductivity),        \
            .flags = SCHEMA_SAME | SCHEMA_OR_TABLE, .min_count = 1, .max_count = 3,                \
            .alternative = IN_MATERIAL(liquid.conductivity_table), .limit = &positive,             \
            .unit = &conductivity),                                                                \
        KEY("materials[].liquid.heat_capacity", REAL, ASK, IN_MATERIAL(liquid.heat_capacity),      \
            .flags = SCHEMA_OR_TABLE, .alternative = IN_MATERIAL(liquid.heat_capacity_table),      \
            .limit = &positive, .unit = &heat_capacity),                                           \
        SECTION("materials[].perfusion", .rival = "becomes"),                                      \
        KEY("materials[].perfusion.rate", REAL, ASK, IN_MATERIAL(perfusion.rate),                  \
            .flags = SCHEMA_REQUIRED | SCHEMA_NOTED, .alternative = IN_MATERIAL(perfusion.given),  \
            .limit = &not_negative, .unit = &perfusion_rate, .example = "0.5e-3"),                 \
        KEY("materials[].perfusion.blood_density", REAL, ASK,                                      \
            IN_MATERIAL(perfusion.blood_density), .flags = SCHEMA_REQUIRED, .limit = &positive,    \
            .unit = &density, .example = "1050"),                                                  \
        KEY("materials[].perfusion.blood_heat_capacity", REAL, ASK,                                \
            IN_MATERIAL(perfusion.blood_heat_capacity), .flags = SCHEMA_REQUIRED,                  \
            .limit = &positive, .unit = &heat_capacity, .example = "3617"),                        \
        KEY("materials[].perfusion.arterial_temperature", REAL, ASK,                               \
            IN_MATERIAL(perfusion.arterial_temperature), .flags = SCHEMA_REQUIRED,                 \
            .limit = &temperature, .unit = &kelvin, .example = "310.15",                           \
            .check = settings_check_kelvins),                                                      \
        KEY("materials[].perfusion.metabolic_heat", REAL, ASK,                                     \
            IN_MATERIAL(perfusion.metabolic_heat), .limit = &not_negative, .unit = &power_density, \
            .fallback = "0")

#define QUANTITY_ROWS                                                                              \
    SECTION("quantity", .flags = SCHEMA_NOTED, .alternative = AT(quantity.given)),                 \
        KEY("quantity.name", TEXT, FREE, AT(quantity.name), .flags = SCHEMA_REQUIRED,              \
            .fallback = "temperature", .example = "concentration"),                                \
        KEY("quantity.symbol", TEXT, FREE, AT(quantity.symbol), .flags = SCHEMA_REQUIRED,          \
            .fallback = "T", .example = "C"),                                                      \
        KEY("quantity.unit", TEXT, ASK, AT(quantity.unit), .flags = SCHEMA_REQUIRED,               \
            .fallback = "K", .example = "mol/m^3"),                                                \
        KEY("quantity.content_unit", TEXT, ASK, AT(quantity.content_unit),                         \
            .flags = SCHEMA_REQUIRED, .fallback = "J", .example = "mol")

#define IN_CONTACT(member) offsetof(struct contact_setting, member)
#define CONTACT_ROWS                                                                               \
    LIST("contacts", ASK, AT(contacts), AT(ncontacts), struct contact_setting,                     \
         .example = "- {between: [silicon, copper], resistance: 2e-5}",                            \
         .check = settings_check_contact),                                                         \
        KEY("contacts[].between", TEXT, ASK, IN_CONTACT(between), .flags = SCHEMA_REQUIRED,        \
            .min_count = 2, .max_count = 2, .example = "[silicon, copper]"),                       \
        KEY("contacts[].resistance", REAL, ASK, IN_CONTACT(resistance), .flags = SCHEMA_REQUIRED,  \
            .limit = &not_negative, .unit = &resistance),                                          \
        KEY("contacts[].area", CHOICE, ASK, IN_CONTACT(area), .choices = areas,                    \
            .fallback = "cells")

#define IN_AMBIENT(member) offsetof(struct ambient_setting, member)
#define IN_SURFACE(member) offsetof(struct surface_setting, member)
/* A quantity of a surface: a number, a formula of t or a table over it. */
#define OF_SURFACE(name_, number_, ...)                                                            \
    KEY("surfaces[]." name_, REAL, WARN, IN_SURFACE(condition.number[number_].value),              \
        .alternative = IN_SURFACE(condition.number[number_]), .variables = "t",                    \
        .flags = SCHEMA_OR_FORMULA, __VA_ARGS__)
#define AMBIENT_ROWS                                                                               \
    LIST("ambients", ASK, AT(ambients), AT(nambients), struct ambient_setting,                     \
         .example = "- {name: air, temperature: 300}", .max_count = MOST_MATERIALS,                \
         .needs = "materials", .check = settings_check_ambient),                                   \
        KEY("ambients[].name", TEXT, ASK, IN_AMBIENT(name), .flags = SCHEMA_REQUIRED,              \
            .example = "air"),                                                                     \
        KEY("ambients[].temperature", REAL, WARN, IN_AMBIENT(temperature.value),                   \
            .alternative = IN_AMBIENT(temperature), .variables = "t",                              \
            .flags = SCHEMA_REQUIRED | SCHEMA_OR_FORMULA, .limit = &temperature, .unit = &kelvin,  \
            .check = settings_check_kelvins),                                                      \
        LIST("surfaces", ASK, AT(surfaces), AT(nsurfaces), struct surface_setting,                 \
             .example = "- {between: [steel, air], coefficient: 10, name: skin}",                  \
             .max_count = MOST_SURFACES, .needs = "ambients", .check = settings_check_surface,     \
             .one_of = "coefficient, flux, emissivity, temperature"),                              \
        KEY("surfaces[].name", TEXT, FREE, IN_SURFACE(name), .example = "skin"),                   \
        KEY("surfaces[].between", TEXT, ASK, IN_SURFACE(between), .flags = SCHEMA_REQUIRED,        \
            .min_count = 2, .max_count = 2, .example = "[steel, air]"),                            \
        OF_SURFACE("coefficient", BOUNDARY_COEFFICIENT, .limit = &not_negative,                    \
                   .unit = &heat_transfer, .rival = "temperature", .example = "10"),               \
        OF_SURFACE("flux", BOUNDARY_VALUE, .limit = &finite, .unit = &heat_flux,                   \
                   .rival = "temperature", .example = "5e4"),                                      \
        KEY("surfaces[].emissivity", REAL, WARN, IN_SURFACE(condition.emissivity),                 \
            .limit = &share, .rival = "temperature", .example = "0.8"),                            \
        OF_SURFACE("temperature", BOUNDARY_SURROUNDINGS, .limit = &temperature, .unit = &kelvin,   \
                   .rival = "coefficient, flux, emissivity", .example = "350",                     \
                   .check = settings_check_kelvins),                                               \
        KEY("surfaces[].area", CHOICE, ASK, IN_SURFACE(area), .choices = areas,                    \
            .fallback = "shape")

/* Bodies from files; after the other kinds of `parts`. */
#define BODY_ROWS                                                                                  \
    SHAPE("parts", ASK, "stl", PART_STL),                                                          \
        KEY("parts[].stl.path", TEXT, ASK, IN_ENTRY(path), .flags = SCHEMA_REQUIRED | SCHEMA_FILE, \
            .example = "heat_sink.stl"),                                                           \
        KEY("parts[].stl.scale", REAL, ASK, IN_ENTRY(scale), .limit = &positive, .fallback = "1",  \
            .example = "0.001"),                                                                   \
        KEY("parts[].stl.turn", REAL, ASK, IN_ENTRY(turn), .limit = &finite, .min_count = 3,       \
            .max_count = 3, .example = "[0, 0, 90]"),                                              \
        KEY("parts[].stl.move", REAL, ASK, IN_ENTRY(move), .limit = &finite, .unit = &metre,       \
            .min_count = 3, .max_count = 3, .example = "[0, 0, 5 mm]"),                            \
        MATERIAL("parts[].stl")
