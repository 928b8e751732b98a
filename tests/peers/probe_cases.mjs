/*
 * probe_cases.mjs - what a client that somebody else wrote must find at probe-server
 *
 * open() gives a session with a probe-server of its own, as session.mjs describes it.
 */
import { setMaxListeners } from 'node:events';
import { assert, hasNoMoreFiles, processes, prove, ring, until, WHEN_RUNG } from
    './cases.mjs';

const RESOURCES = 10; /* of `hang` */
const HOUR = { seconds: 3600 };

const stats = async peer => (await peer.call('stats')).structuredContent;

const isCalm = s =>
    s.live_handlers === 0 && s.pool_free === RESOURCES && s.workers === 0;

const calm = peer => until(() => stats(peer), isCalm);

async function expectEcho(peer, text = 'still there') {
    const result = await peer.call('echo', { text });

    assert.equal(result.content[0].text, text);
}

/* Calls, and one controller to abort them all. */
function callMany(peer, count, tool) {
    const controller = new AbortController();
    const options = { signal: controller.signal };

    setMaxListeners(0, controller.signal);
    const calls = Array.from({ length: count }, () => peer.call(tool, HOUR, options));
    return { controller, ends: Promise.allSettled(calls) };
}

/* The same, and all of them are running in the server. */
async function startMany(peer, count, tool) {
    const { started } = await stats(peer);
    const many = callMany(peer, count, tool);

    await until(() => stats(peer), s => s.started === started + count);
    return many;
}

async function abortMany(peer, count, tool) {
    const { controller, ends } = await startMany(peer, count, tool);

    controller.abort('stop it');
    for (const end of await ends) {
        assert.equal(end.status, 'rejected');
        assert.match(end.reason.message, /stop it/);
    }
}

async function expectAborts(peer, tool, rounds, count) {
    const before = await calm(peer);

    for (let i = 0; i < rounds; i++) {
        await abortMany(peer, count, tool);
        await calm(peer);
    }
    assert.equal((await stats(peer)).cancelled, before.cancelled + rounds * count);
    await expectEcho(peer);
}

async function expectTimeout(peer, tool) {
    const before = await calm(peer);
    const end = assert.rejects(peer.call(tool, HOUR, { timeout: WHEN_RUNG }),
        /timed out/i);

    await until(() => stats(peer), s => s.started === before.started + 1);
    ring();
    await end;
    assert.equal((await calm(peer)).cancelled, before.cancelled + 1);
    await expectEcho(peer);
}

/* Progress that was on its way when its call ended is no fault. Both SDKs also take an
 * answer before the progress that stood in front of it, if they came in one read. */
const complaints = peer => peer.errors.filter(e => !/progress notification/.test(e));

/* ---- what it can do -------------------------------------------------------------- */

async function proveTools(peer) {
    await prove('tools_are_listed', async () => {
        const tools = await peer.list();
        const names = tools.map(tool => tool.name)
            .filter(name => name !== 'later').sort(); /* with --resume */

        assert.deepEqual(names, ['add', 'ask', 'count', 'deaf', 'deaf_isolated',
            'echo', 'hang', 'hang_async', 'stats', 'touch']);
        for (const tool of tools)
            assert.equal(tool.inputSchema.type, 'object');
    });
    await prove('echo_says_it_back', async () => {
        await expectEcho(peer, 'plain');
        await expectEcho(peer, '\u0001 "\\ \u2028 \u00e4 \u{1f600}\n');
        await expectEcho(peer, '');
    });
    await prove('a_long_text_comes_back_whole', () => expectEcho(peer,
        '\u00e4\u{1f600}x'.repeat(300000)));
    /* the SDK checks it against the schema of the list */
    await prove('output_is_structured', async () => {
        const result = await peer.call('add', { a: 1.5, b: -4 });

        assert.deepEqual(result.structuredContent, { sum: -2.5 });
        assert.deepEqual(JSON.parse(result.content[0].text), { sum: -2.5 });
    });
    await prove('many_calls_at_once_are_told_apart', async () => {
        const texts = Array.from({ length: 200 }, (_, i) => `number ${i}`);

        await Promise.all(texts.map(text => expectEcho(peer, text)));
    });
    await prove('ping', () => peer.ping());
    await prove('a_call_with_progress_has_its_answer', async () => {
        const result = await peer.call('count', { to: 5, delay_ms: 20 },
            { onprogress: () => {} });

        assert.equal(result.content[0].text, 'counted to 5');
    });
    // An answer that is read together with progress is told first by some clients, which
    // then tell no progress any more: so there is none yet.
    await prove('progress_is_told_in_order', async () => {
        const seen = [];
        const controller = new AbortController();
        const onprogress = p => {
            if (seen.push(p) === 4)
                controller.abort('seen enough');
        };
        const call = peer.call('count', { to: 100000, delay_ms: 5 },
            { signal: controller.signal, onprogress });

        await assert.rejects(call, /seen enough/);
        assert.deepEqual(seen.slice(0, 4).map(p => p.progress), [1, 2, 3, 4]);
        assert.ok(seen.every(p => p.total === 100000));
        await calm(peer);
    });
}

async function proveErrors(peer) {
    await prove('unknown_tool_is_an_error', async () => {
        await assert.rejects(peer.call('no_such_tool', {}),
            error => error.code === -32602 && /no_such_tool/.test(error.message));
        await expectEcho(peer);
    });
    await prove('bad_arguments_are_told_to_the_model', async () => {
        const bad = [['add', { a: 'one', b: 2 }, /\ba\b/], ['add', { a: 1 }, /\bb\b/],
            ['add', {}, /\b[ab]\b/], ['hang', { seconds: -1 }, /\bseconds\b/],
            ['echo', { text: 'cut\u0000off' }, /U\+0000/]];

        for (const [tool, args, why] of bad) {
            const result = await peer.call(tool, args);

            assert.equal(result.isError, true);
            assert.match(result.content[0].text, why);
        }
        await expectEcho(peer);
    });
}

/* ---- cancellation ---------------------------------------------------------------- */

/* Gets a promise for each message: over HTTP it is kept when the server responds. */
function noteSends(transport) {
    const sends = [];
    const { send } = transport;

    transport.send = (...args) => {
        sends.push(send.apply(transport, args));
        return sends.at(-1);
    };
    return sends;
}

/* In a server of its own: what is left in there would disturb the other cases. Where a
 * legacy server has several threads, the cancel, on a connection of its own, often arrives
 * before the request. */
async function expectAbortsAtOnce(open, count) {
    const before = processes.length;
    const peer = await open();
    const sends = noteSends(peer.transport);

    for (let i = 0; i < count; i++) {
        const controller = new AbortController();
        const call = peer.call('hang_async', HOUR, { signal: controller.signal });

        controller.abort('never mind');
        await assert.rejects(call, /never mind/);
    }
    await Promise.allSettled(sends);
    await calm(peer);
    assert.deepEqual(complaints(peer), []);
    await expectEnd(peer, processes.slice(before));
}

async function proveAborts(peer, open) {
    await prove('abort_ends_hang', () => expectAborts(peer, 'hang', 1, 1));
    await prove('abort_ends_hang_async', () => expectAborts(peer, 'hang_async', 1, 1));
    await prove('50_aborted_hangs_leave_nothing', () =>
        expectAborts(peer, 'hang', 5, RESOURCES));
    await prove('50_aborted_hangs_async_leave_nothing', () =>
        expectAborts(peer, 'hang_async', 1, 50));
    await prove('abort_between_progress', async () => {
        const before = await calm(peer);
        const controller = new AbortController();
        const onprogress = () => controller.abort('seen enough');
        const call = peer.call('count', { to: 100000, delay_ms: 10 },
            { signal: controller.signal, onprogress });

        await assert.rejects(call, /seen enough/);
        assert.equal((await calm(peer)).cancelled, before.cancelled + 1);
    });
    await prove('abort_of_one_spares_the_others', async () => {
        const { controller, ends } = await startMany(peer, 1, 'hang');
        const other = peer.call('count', { to: 20, delay_ms: 20 });

        controller.abort('stop it');
        assert.equal((await ends)[0].status, 'rejected');
        assert.equal((await other).content[0].text, 'counted to 20');
        await calm(peer);
    });
    await prove('50_aborts_at_once_leave_nothing', () => expectAbortsAtOnce(open, 50));
    await prove('abort_before_the_call_sends_nothing', async () => {
        const before = await calm(peer);

        await assert.rejects(peer.call('hang', HOUR,
            { signal: AbortSignal.abort(new Error('never mind')) }), /never mind/);
        assert.equal((await calm(peer)).started, before.started);
    });
    await prove('abort_after_the_answer_changes_nothing', async () => {
        const controller = new AbortController();

        await peer.call('echo', { text: 'quick' }, { signal: controller.signal });
        controller.abort('too late');
        await expectEcho(peer);
    });
}

/* Their total timeout is not among them: it ends the call, and tells nobody. */
async function proveTimeouts(peer) {
    await prove('timeout_ends_hang', () => expectTimeout(peer, 'hang'));
    await prove('timeout_ends_hang_async', () => expectTimeout(peer, 'hang_async'));
    await prove('a_hang_that_is_let_be_is_answered', async () => {
        const result = await peer.call('hang', { seconds: 0.05 });

        assert.equal(result.content[0].text, 'slept');
        await calm(peer);
    });
}

/* ---- the end of a session -------------------------------------------------------- */

/* Closes, and returns the signals that were needed. */
async function expectEnd(peer, mine = processes.filter(entry => entry.end === null)) {
    await peer.close();
    await until(() => mine.map(entry => entry.end), ends => !ends.includes(null));
    assert.deepEqual(mine.map(entry => entry.end), mine.map(() => 0));
    return mine.flatMap(entry => entry.signals);
}

/* 50 calls in a server with 32 workers: it may let go of those that do not listen. */
async function proveDeaf(open) {
    await prove('50_aborted_deaf_calls_block_nobody', async () => {
        const peer = await open();
        const { controller, ends } = callMany(peer, 50, 'deaf');

        await until(() => stats(peer), s => s.live_handlers >= 32);
        controller.abort('stop it');
        assert.ok((await ends).every(end => end.status === 'rejected'));
        await expectEcho(peer);
        const result = await peer.call('hang', { seconds: 0.01 });
        assert.equal(result.content[0].text, 'slept');
        await abortMany(peer, 1, 'hang');
        await until(() => stats(peer), s => s.pool_free === RESOURCES);
        assert.deepEqual(complaints(peer), []);
        await expectEnd(peer);
    });
}

async function expectRunningToEnd(open, ...tools) {
    const peer = await open();
    const running = [];

    for (const tool of tools)
        running.push((await startMany(peer, 3, tool)).ends);
    await expectEnd(peer);
    for (const end of (await Promise.all(running)).flat())
        assert.equal(end.status, 'rejected');
}

async function proveClosing(open) {
    await prove('closing_ends_running_calls_and_the_server', () =>
        expectRunningToEnd(open, 'hang', 'hang_async'));
    await prove('closing_leaves_deaf_calls_behind', () =>
        expectRunningToEnd(open, 'deaf'));
}

/* All of it. version: what must be agreed on. */
export async function proveServer(open, version) {
    let peer, before;

    await prove('connect', async () => {
        peer = await open();
        assert.equal(peer.version, version);
        assert.equal(peer.name, 'probe-server');
        /* one that an SDK started only to ask about the era, and sent away */
        assert.ok(processes.every(entry => entry.end === null || entry.end === 0));
    });
    if (!peer)
        return;
    await proveTools(peer);
    await proveErrors(peer);
    await prove('calls_leave_nothing', async () => (before = await calm(peer)));
    await proveAborts(peer, open);
    await proveTimeouts(peer);
    await prove('no_descriptor_is_left', () =>
        until(() => stats(peer), s => hasNoMoreFiles(s, before)));
    await prove('nobody_had_a_complaint', () => {
        assert.deepEqual(complaints(peer), []);
        assert.deepEqual(processes.map(entry => entry.errors).filter(Boolean), []);
    });
    await prove('closing_ends_the_server', async () =>
        assert.deepEqual(await expectEnd(peer), []));
    await proveClosing(open);
    await proveDeaf(open);
    await prove('no_process_is_left', () =>
        assert.ok(processes.every(entry => entry.end !== null)));
}
