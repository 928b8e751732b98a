/*
 * cases.mjs - the frame of the client scripts: one line for each case, "PASS name" or
 * "FAIL name reason", and what they share
 */
import assert from 'node:assert/strict';
import { subscribe } from 'node:diagnostics_channel';
import { setTimeout as delay } from 'node:timers/promises';

export { assert };

const PATIENCE_MS = 60000; /* for what should happen at once: it only ends a hang */
const CASE_MS = 120000;

let failures = 0;

/* Bounded, so that a lost answer fails its own case and not the whole program. */
export async function prove(name, body) {
    const over = new AbortController();
    const clock = delay(CASE_MS, undefined, { signal: over.signal }).then(
        () => assert.fail(`not done in ${CASE_MS / 1000} s`), () => {});

    try {
        await Promise.race([body(), clock]);
        console.log(`PASS ${name}`);
    } catch (error) {
        const reason = String(error.message).replace(/\s+/g, ' ').slice(0, 400);

        failures++;
        console.log(`FAIL ${name} ${reason}`);
    } finally {
        over.abort();
    }
}

/* Cases that share a session: opened, used, without complaints, and closed. */
export async function proveIn(group, open, cases) {
    let peer;

    await prove(`${group}: connect`, async () => (peer = await open()));
    if (!peer)
        return;
    for (const [name, body] of Object.entries(cases))
        await prove(`${group}: ${name}`, () => body(peer));
    await prove(`${group}: close`, async () => {
        assert.deepEqual(peer.errors, []);
        await peer.close();
    });
}

/* Every server that was started since then has ended by itself, and had nothing to
 * complain about. */
export async function expectNothingLeft(group, before) {
    await prove(`${group}: all_servers_are_gone`, async () => {
        const mine = processes.slice(before);

        await until(() => mine.map(entry => entry.end), ends => !ends.includes(null));
        assert.deepEqual(mine.map(entry => entry.errors).filter(Boolean), []);
        assert.deepEqual(mine.map(entry => entry.end), mine.map(() => 0));
    });
}

/* Whatever is still open belongs to a case that failed. */
export function finish() {
    for (const { child, end } of processes)
        if (end === null)
            child.kill('SIGKILL');
    process.exit(failures > 0 ? 1 : 0);
}

/* Ask until it is true, and return what made it so. */
export async function until(ask, isTrue) {
    const end = Date.now() + PATIENCE_MS;
    let answer = await ask();

    while (!isTrue(answer)) {
        assert.ok(Date.now() < end, `waited in vain, last: ${JSON.stringify(answer)}`);
        await delay(10);
        answer = await ask();
    }
    return answer;
}

/* libuv opens one more descriptor in each loop thread of a server, with its first
 * connection. The server's options are ours too. */
const threads = Number(process.argv[process.argv.indexOf('--threads') + 1]) || 1;
export const hasNoMoreFiles = (now, before) =>
    now.open_fds <= before.open_fds + threads - 1;

/* Every process an SDK started: how it ended, the signals it got for that, and what it
 * said on stderr. An SDK keeps all this to itself. */
export const processes = [];

subscribe('child_process', ({ process: child }) => {
    const entry = { child, end: null, signals: [], errors: '' };
    const { kill } = child;

    processes.push(entry);
    child.on('exit', (code, signal) => (entry.end = signal ?? code));
    child.kill = signal => {
        entry.signals.push(signal);
        return kill.call(child, signal);
    };
    /* its pipes do not exist yet, but do when who spawns it has returned */
    queueMicrotask(() => child.stderr?.on('data', chunk => (entry.errors += chunk)));
});

/* ---- the clock of the SDKs ------------------------------------------------------- */

/* The time-out of a call that rings when it is told to, and not before. */
export const WHEN_RUNG = 2 ** 30;

const GOODBYE_MS = [1000, 2000]; /* that an SDK waits for a process before it kills it */

let ringing = [];

/* Each time-out of WHEN_RUNG that was set since then is over now. */
export function ring() {
    const all = ringing;

    ringing = [];
    for (const over of all)
        over();
}

/* What only resolves a promise is such a wait: on a busy machine, an end takes longer. */
const isGoodbye = (run, ms) =>
    GOODBYE_MS.includes(ms) && String(run).includes('[native code]');

const { setTimeout: setTimer } = globalThis;

globalThis.setTimeout = (run, ms, ...args) => {
    if (ms === WHEN_RUNG)
        ringing.push(() => run(...args));
    return setTimer(run, isGoodbye(run, ms) ? PATIENCE_MS : ms, ...args);
};
