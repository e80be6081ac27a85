#!/usr/bin/env node
// Entry point of `lab`.
import { start } from "./start.js";

await start("cli/main");
