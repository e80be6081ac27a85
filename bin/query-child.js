#!/usr/bin/env node
// Entry point of the process that answers one query from the network (query/sandbox.ts starts it).
import { start } from "./start.js";

await start("query/sandbox-child");
