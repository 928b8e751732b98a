/*
 * patience.cjs - loaded into the suite: it gives some answers half a second, which is too
 * little for a server under valgrind, or on a busy machine. What it waits for, and whether
 * that comes, is all as it was; it gives up later.
 */
const PATIENCE_MS = 10000;
const { setTimeout: setTimer } = globalThis;
const { timeout } = AbortSignal;

/* Its other timers, which only let some time go by, are not touched. */
const givesUp = run => /abort\(\)|\(null\)/.test(run);

globalThis.setTimeout = (run, ms, ...args) =>
    setTimer(run, givesUp(run) ? Math.max(ms, PATIENCE_MS) : ms, ...args);
AbortSignal.timeout = ms => timeout.call(AbortSignal, Math.max(ms, PATIENCE_MS));
