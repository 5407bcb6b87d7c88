// Where the scenarios find their traces: real ones, or where there are none those that the tests recorded themselves.
import fs from 'node:fs';
import path from 'node:path';
import { AFTER, BEFORE, DEVICE, LARGE, OLD } from './open.mjs';

// What a scenario asks of these any trace with modules, a device and several steps can answer; the names are those of tests/traces/own_traces.py.
const STAND_INS = { [DEVICE]: 'device', [LARGE]: 'deeper', [OLD]: 'data', [BEFORE]: 'device', [AFTER]: 'deeper' };

export class NoTrace extends Error {}

export function trace(file) {
  const { HOTLENS_TRACES: real, HOTLENS_OWN_TRACES: own } = process.env;
  if (real) return path.join(real, file);
  if (!own || !(file in STAND_INS)) throw new NoTrace(file);
  return path.join(own, `${STAND_INS[file]}.json.gz`);
}

// Counted by tests/run.sh.
export function sayLeftOut(scenario) {
  console.log(`LEFT OUT  timeline  ${scenario}: HOTLENS_TRACES names no folder`);
  if (process.env.HOTLENS_LEFT_OUT) fs.appendFileSync(process.env.HOTLENS_LEFT_OUT, `timeline ${scenario}\n`);
}
