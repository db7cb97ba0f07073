/* The rows of `quantity`, `materials`, `contacts`, `ambients` and `surfaces` in the table of
 * schema_table.c, with its macros. */
#pragma once

#define IN_MATERIAL(member) offsetof(struct material_setting, member)

/* A shape without a name: its formula or its file. */
#define FACTOR(path_, member_, what_)                                                              \
    SECTION(path_,                                                                                 \
            "A factor of `" what_ "` for each cell of the material: a formula or a file. With "    \
            "the value 1 for `" what_ "` itself, it is the property in SI units.",                 \
            .one_of = "formula, path", .rival = "becomes"),                                        \
        KEY(path_ ".formula", FORMULA, ASK, IN_MATERIAL(member_.expression),                       \
            "The factor, above 0, as a formula of the centre (x, y, z) of a cell, in m, rounded "  \
            "to float32.",                                                                         \
            .variables = "x, y, z", .rival = "path", .example = "\"1 + 0.5*sin(40*x)\""),          \
        KEY(path_ ".path", TEXT, ASK, IN_MATERIAL(member_.path),                                   \
            "A .npy, .nii or HDF5 file of factors, of the shape of the grid. " INPUT_FILE,         \
            .flags = SCHEMA_FILE, .rival = "formula", .example = "factors.npy"),                   \
        KEY(path_ ".dataset", TEXT, ASK, IN_MATERIAL(member_.dataset),                             \
            "The dataset of an HDF5 file, of shape (nz, ny, nx); in 2D also (ny, nx). Rounded to " \
            "float32.",                                                                            \
            .fallback = "/factor", .needs = "path")

#define MATERIAL_ROWS                                                                              \
    KEY("materials[].name", TEXT, ASK, IN_MATERIAL(name), "Its name.", .flags = SCHEMA_REQUIRED,   \
        .example = "steel"),                                                                       \
        KEY("materials[].conductivity", REAL, ASK, IN_MATERIAL(solid.conductivity),                \
            "Thermal conductivity k; three values for x, y, z of an anisotropic material.",        \
            .flags = SCHEMA_REQUIRED | SCHEMA_SAME | SCHEMA_OR_TABLE, .min_count = 1,              \
            .max_count = 3, .alternative = IN_MATERIAL(solid.conductivity_table),                  \
            .limit = &positive, .unit = &conductivity, .example = "[0.9, 0.9, 0.3]",               \
            .rival = "diffusivity"),                                                               \
        KEY("materials[].diffusivity", REAL, ASK, IN_MATERIAL(solid.conductivity),                 \
            "Instead of `conductivity`, `density` and `heat_capacity`, see `material`.",           \
            .flags = SCHEMA_SHARED | SCHEMA_SAME | SCHEMA_OR_TABLE, .min_count = 1,                \
            .max_count = 3, .alternative = IN_MATERIAL(solid.conductivity_table),                  \
            .limit = &positive, .unit = &diffusivity,                                              \
            .rival = "conductivity, density, heat_capacity, becomes",                              \
            .example = "[1e-9, 1e-9, 3e-10]"),                                                     \
        KEY("materials[].becomes", TEXT, ASK, IN_MATERIAL(becomes),                                \
            "The material that a cell of this one changes into, permanently, as soon as it "       \
            "reaches the liquidus of that material. Density, heat capacity, melting and the "      \
            "liquid come from that material; give only `conductivity`, of the solid.",             \
            .example = "steel"),                                                                   \
        KEY("materials[].density", REAL, ASK, IN_MATERIAL(density), "Density rho.",                \
            .flags = SCHEMA_REQUIRED, .rival = "becomes, diffusivity", .limit = &positive,         \
            .unit = &density),                                                                     \
        KEY("materials[].heat_capacity", REAL, ASK, IN_MATERIAL(solid.heat_capacity),              \
            "Specific heat capacity c.", .flags = SCHEMA_REQUIRED | SCHEMA_OR_TABLE,               \
            .rival = "becomes, diffusivity",                                                       \
            .alternative = IN_MATERIAL(solid.heat_capacity_table), .limit = &positive,             \
            .unit = &heat_capacity, .example = "[[300, 450], [1700, 800]]"),                       \
        FACTOR("materials[].conductivity_factor", factor[FACTOR_CONDUCTIVITY], "conductivity"),    \
        FACTOR("materials[].heat_capacity_factor", factor[FACTOR_HEAT_CAPACITY], "heat_capacity"), \
        KEY("materials[].latent_heat", REAL, ASK, IN_MATERIAL(latent_heat),                        \
            "The heat of melting per mass; keys outside of `liquid` describe the solid.",          \
            .flags = SCHEMA_NOTED, .alternative = IN_MATERIAL(melts), .limit = &not_negative,      \
            .unit = &latent_heat, .rival = "becomes",                                              \
            .needs = "solidus, the temperature at which the material melts"),                      \
        KEY("materials[].solidus", REAL, ASK, IN_MATERIAL(solidus),                                \
            "With `latent_heat`: the temperature at which it begins to melt.",                     \
            .flags = SCHEMA_NOTED, .alternative = IN_MATERIAL(has_solidus), .limit = &temperature, \
            .unit = &kelvin, .rival = "becomes", .needs = "latent_heat, which may be 0"),          \
        KEY("materials[].liquidus", REAL, ASK, IN_MATERIAL(liquidus),                              \
            "The temperature above which it is liquid. Left out: the solidus.",                    \
            .flags = SCHEMA_NOTED, .alternative = IN_MATERIAL(has_liquidus),                       \
            .limit = &temperature, .unit = &kelvin, .rival = "becomes",                            \
            .needs = "latent_heat, which may be 0"),                                               \
        SECTION(                                                                                   \
            "materials[].liquid",                                                                  \
            "Properties above the liquidus, where they differ; between solidus and liquidus they " \
            "change linearly.",                                                                    \
            .rival = "becomes", .needs = "latent_heat, which may be 0"),                           \
        KEY("materials[].liquid.conductivity", REAL, ASK, IN_MATERIAL(liquid.conductivity),        \
            "Thermal conductivity of the liquid.", .flags = SCHEMA_SAME | SCHEMA_OR_TABLE,         \
            .min_count = 1, .max_count = 3, .alternative = IN_MATERIAL(liquid.conductivity_table), \
            .limit = &positive, .unit = &conductivity),                                            \
        KEY("materials[].liquid.heat_capacity", REAL, ASK, IN_MATERIAL(liquid.heat_capacity),      \
            "Specific heat capacity of the liquid.", .flags = SCHEMA_OR_TABLE,                     \
            .alternative = IN_MATERIAL(liquid.heat_capacity_table), .limit = &positive,            \
            .unit = &heat_capacity),                                                               \
        SECTION("materials[].perfusion",                                                           \
                "Blood flow and metabolism of a tissue (Pennes): the heat per volume and time is " \
                "rate * blood_density * blood_heat_capacity * (arterial_temperature - T) + "       \
                "metabolic_heat.",                                                                 \
                .rival = "becomes"),                                                               \
        KEY("materials[].perfusion.rate", REAL, ASK, IN_MATERIAL(perfusion.rate),                  \
            "The perfusion rate: volume of blood per volume of tissue and time.",                  \
            .flags = SCHEMA_REQUIRED | SCHEMA_NOTED, .alternative = IN_MATERIAL(perfusion.given),  \
            .limit = &not_negative, .unit = &perfusion_rate, .example = "0.5e-3"),                 \
        KEY("materials[].perfusion.blood_density", REAL, ASK,                                      \
            IN_MATERIAL(perfusion.blood_density), "Density of the blood.",                         \
            .flags = SCHEMA_REQUIRED, .limit = &positive, .unit = &density, .example = "1050"),    \
        KEY("materials[].perfusion.blood_heat_capacity", REAL, ASK,                                \
            IN_MATERIAL(perfusion.blood_heat_capacity), "Specific heat capacity of the blood.",    \
            .flags = SCHEMA_REQUIRED, .limit = &positive, .unit = &heat_capacity,                  \
            .example = "3617"),                                                                    \
        KEY("materials[].perfusion.arterial_temperature", REAL, ASK,                               \
            IN_MATERIAL(perfusion.arterial_temperature),                                           \
            "The temperature at which the blood arrives.", .flags = SCHEMA_REQUIRED,               \
            .limit = &temperature, .unit = &kelvin, .example = "310.15",                           \
            .check = settings_check_kelvins),                                                      \
        KEY("materials[].perfusion.metabolic_heat", REAL, ASK,                                     \
            IN_MATERIAL(perfusion.metabolic_heat), "The heat of metabolism.",                      \
            .limit = &not_negative, .unit = &power_density, .fallback = "0")

#define QUANTITY_ROWS                                                                              \
    SECTION(                                                                                       \
        "quantity",                                                                                \
        "The diffusing quantity, if it is not heat: a concentration, moisture or a head. The "     \
        "names and "                                                                               \
        "units are those of labels, columns and attributes. Numbers are in these units: those "    \
        "in K in `unit`, heat in J in `content_unit`, heat flow in W in `content_unit` per "       \
        "second. Values below 0 are then allowed, unless `run.watch.temperature` is given.",       \
        .flags = SCHEMA_NOTED, .alternative = AT(quantity.given)),                                 \
        KEY("quantity.name", TEXT, FREE, AT(quantity.name), "Its name.", .flags = SCHEMA_REQUIRED, \
            .fallback = "temperature", .example = "concentration"),                                \
        KEY("quantity.symbol", TEXT, FREE, AT(quantity.symbol),                                    \
            "Its symbol, for plots and columns.", .flags = SCHEMA_REQUIRED, .fallback = "T",       \
            .example = "C"),                                                                       \
        KEY("quantity.unit", TEXT, ASK, AT(quantity.unit), "Its unit.", .flags = SCHEMA_REQUIRED,  \
            .fallback = "K", .example = "mol/m^3"),                                                \
        KEY("quantity.content_unit", TEXT, ASK, AT(quantity.content_unit),                         \
            "The unit of its content: with a diffusivity, `unit` times m^3.",                      \
            .flags = SCHEMA_REQUIRED, .fallback = "J", .example = "mol")

#define IN_CONTACT(member) offsetof(struct contact_setting, member)
#define CONTACT_ROWS                                                                               \
    LIST("contacts", ASK, AT(contacts), AT(ncontacts), struct contact_setting,                     \
         "Thermal contact resistances between materials.",                                         \
         .example = "- {between: [silicon, copper], resistance: 2e-5}",                            \
         .check = settings_check_contact),                                                         \
        KEY("contacts[].between", TEXT, ASK, IN_CONTACT(between),                                  \
            "The two materials: the resistance is at every face between their cells.",             \
            .flags = SCHEMA_REQUIRED, .min_count = 2, .max_count = 2,                              \
            .example = "[silicon, copper]"),                                                       \
        KEY("contacts[].resistance", REAL, ASK, IN_CONTACT(resistance),                            \
            "The resistance, in series with the half cells on both sides.",                        \
            .flags = SCHEMA_REQUIRED, .limit = &not_negative, .unit = &resistance),                \
        KEY("contacts[].area", CHOICE, ASK, IN_CONTACT(area),                                      \
            "The area of the contact, as for `surfaces`.", .choices = areas, .fallback = "cells")

#define IN_AMBIENT(member) offsetof(struct ambient_setting, member)
#define IN_SURFACE(member) offsetof(struct surface_setting, member)
#define AMBIENT_ROWS                                                                               \
    LIST("ambients", ASK, AT(ambients), AT(nambients), struct ambient_setting,                     \
         "Fluids around the body, which `parts` paints as it paints materials. Their cells keep "  \
         "a given temperature and do not belong to the body: its heat, extremes and means leave "  \
         "them out.",                                                                              \
         .example = "- {name: air, temperature: 300}", .max_count = MOST_MATERIALS,                \
         .needs = "materials", .check = settings_check_ambient),                                   \
        KEY("ambients[].name", TEXT, ASK, IN_AMBIENT(name), "Its name, which no material has.",    \
            .flags = SCHEMA_REQUIRED, .example = "air"),                                           \
        KEY("ambients[].temperature", REAL, WARN, IN_AMBIENT(temperature), "Its temperature.",     \
            .flags = SCHEMA_REQUIRED, .limit = &temperature, .unit = &kelvin,                      \
            .check = settings_check_kelvins),                                                      \
        LIST("surfaces", ASK, AT(surfaces), AT(nsurfaces), struct surface_setting,                 \
             "Convection at all faces between the cells of a material and of an ambient. Pairs "   \
             "that are not listed are insulated.",                                                 \
             .example = "- {between: [steel, air], coefficient: 10, name: skin}",                  \
             .max_count = MOST_SURFACES, .needs = "ambients", .check = settings_check_surface),    \
        KEY("surfaces[].name", TEXT, FREE, IN_SURFACE(name),                                       \
            "A name: `history.csv` then has columns of its heat flow, area and temperature.",      \
            .example = "skin"),                                                                    \
        KEY("surfaces[].between", TEXT, ASK, IN_SURFACE(between), "The material and the ambient.", \
            .flags = SCHEMA_REQUIRED, .min_count = 2, .max_count = 2, .example = "[steel, air]"),  \
        KEY("surfaces[].coefficient", REAL, WARN, IN_SURFACE(coefficient),                         \
            "The heat transfer coefficient.", .flags = SCHEMA_REQUIRED, .limit = &not_negative,    \
            .unit = &heat_transfer, .example = "10"),                                              \
        KEY("surfaces[].area", CHOICE, ASK, IN_SURFACE(area),                                      \
            "The area that the heat crosses: `shape`, that of the spheres, cylinders and "         \
            "conditions in `parts`, or `cells`, that of the cell faces, which form a staircase.",  \
            .choices = areas, .fallback = "shape")

/* Bodies from files; after the other kinds of `parts`. */
#define BODY_ROWS                                                                                  \
    SHAPE("parts", ASK, "stl", PART_STL,                                                           \
          "The cells whose centre lies in a body from an STL file. Its points are scaled, then "   \
          "turned, then moved. Its surface must be closed."),                                      \
        KEY("parts[].stl.path", TEXT, ASK, IN_ENTRY(path), INPUT_FILE,                             \
            .flags = SCHEMA_REQUIRED | SCHEMA_FILE, .example = "heat_sink.stl"),                   \
        KEY("parts[].stl.scale", REAL, ASK, IN_ENTRY(scale),                                       \
            "The length of the file's unit in m: 0.001 for a file in mm.", .limit = &positive,     \
            .fallback = "1", .example = "0.001"),                                                  \
        KEY("parts[].stl.turn", REAL, ASK, IN_ENTRY(turn),                                         \
            "Angles in degrees, about the x axis, then the y axis, then the z axis.",              \
            .limit = &finite, .min_count = 3, .max_count = 3, .example = "[0, 0, 90]"),            \
        KEY("parts[].stl.move", REAL, ASK, IN_ENTRY(move), "The shift.", .limit = &finite,         \
            .unit = &metre, .min_count = 3, .max_count = 3, .example = "[0, 0, 5 mm]"),            \
        MATERIAL("parts[].stl")
