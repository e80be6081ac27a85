/** Loaded into each test process where LAB_PROPERTY_SEED is set: property tests then try the same values at each run. */

import fc from "fast-check";

fc.configureGlobal({ seed: Number(process.env.LAB_PROPERTY_SEED) });
