/*
 * ask_cases.mjs - our servers ask clients that somebody else wrote: the user, the
 * model, the roots; by requests in the legacy era, by results in the modern one
 *
 * open(server, options) gives a session as session.mjs describes it.
 */
import { setMaxListeners } from 'node:events';
import { assert, expectNothingLeft, hasNoMoreFiles, processes, prove, proveIn, ring,
    until, WHEN_RUNG } from './cases.mjs';

const ALL = {
    elicitation: { form: {}, url: {} },
    sampling: { tools: {} },
    roots: { listChanged: true },
};

const FLAGS = { form: 1, url: 2, sample: 4, sampleTools: 8, roots: 16 };

const accept = content => () => ({ action: 'accept', content });

/* Who answers, and what was asked; `now` is exchanged by the cases. */
function makeAnswers() {
    const asked = [];
    const now = {
        elicit: () => ({ action: 'accept', content: { name: 'ada' } }),
        sample: () => ({ role: 'assistant', model: 'parrot', stopReason: 'endTurn',
            content: { type: 'text', text: 'hello' } }),
        roots: () => ({ roots: [{ uri: 'file:///home', name: 'home' },
            { uri: 'file:///tmp' }] }),
    };
    const answers = Object.fromEntries(Object.keys(now).map(kind => [kind,
        (params, signal) => {
            asked.push({ kind, params });
            return now[kind](params, signal);
        }]));

    return { asked, now, answers };
}

async function openAble(open, server, capabilities = ALL) {
    const { asked, now, answers } = makeAnswers();
    const able = { elicitation: 'elicit', sampling: 'sample', roots: 'roots' };
    const wanted = Object.entries(able).filter(([name]) => capabilities[name])
        .map(([, kind]) => [kind, answers[kind]]);

    return Object.assign(
        await open(server, { capabilities, answers: Object.fromEntries(wanted) }),
        { asked, now });
}

const text = async result => (await result).content[0].text;

const last = peer => peer.asked.at(-1);

/* A user who never answers; told(n): so many of these questions were taken back. */
function think(peer) {
    let told = 0;

    peer.now.elicit = (params, signal) => new Promise((resolve, reject) => {
        signal.addEventListener('abort', () => {
            told++;
            reject(new Error('taken back'));
        });
    });
    return count => until(() => told, n => n === count);
}

/* ---- example-asking ------------------------------------------------------------- */

const askingCases = {
    async form_is_accepted(peer) {
        peer.now.elicit = accept({ city: 'Rome', seat: 'window', days: 3 });
        assert.equal(await text(peer.call('book')), 'Rome, window seat, 3 days');
        const { message, requestedSchema, mode } = last(peer).params;

        assert.equal(message, 'Tell me about your trip');
        assert.ok(mode === undefined || mode === 'form');
        assert.deepEqual(requestedSchema.required, ['city']);
        assert.deepEqual(Object.keys(requestedSchema.properties),
            ['city', 'seat', 'days']);
        assert.deepEqual(requestedSchema.properties.seat.enum, ['aisle', 'window']);
        assert.equal(requestedSchema.properties.days.maximum, 30);
        assert.equal(requestedSchema.properties.days.default, 7);
    },
    async defaults_are_taken(peer) {
        peer.now.elicit = accept({ city: 'Oslo' });
        assert.equal(await text(peer.call('book')), 'Oslo, aisle seat, 7 days');
    },
    async form_is_declined(peer) {
        peer.now.elicit = () => ({ action: 'decline' });
        const result = await peer.call('book');

        assert.equal(result.isError, true);
        assert.match(result.content[0].text, /does not want/);
    },
    async form_is_dismissed(peer) {
        peer.now.elicit = () => ({ action: 'cancel' });
        assert.equal((await peer.call('book')).isError, true);
    },
    async wrong_answer_does_not_reach_the_tool(peer) {
        for (const content of [{ city: 7 }, {}, { city: 'Rome', days: 99 },
            { city: 'Rome', seat: 'roof' }]) {
            const before = peer.asked.length;

            peer.now.elicit = accept(content);
            const end = await peer.call('book').catch(error => ({ error }));
            assert.ok(end.error || end.isError, JSON.stringify(content));
            assert.equal(peer.asked.length, before + 1);
        }
        peer.now.elicit = accept({ city: 'Rome' });
        assert.equal(await text(peer.call('book')), 'Rome, aisle seat, 7 days');
    },
    async user_is_sent_to_a_page(peer) {
        peer.now.elicit = () => ({ action: 'accept' });
        assert.equal(await text(peer.call('sign_in')), 'welcome');
        assert.equal(last(peer).params.mode, 'url');
        assert.equal(last(peer).params.url, 'https://example.com/sign-in');
        assert.equal(typeof last(peer).params.elicitationId,
            peer.isModern ? 'undefined' : 'string');
        peer.now.elicit = () => ({ action: 'decline' });
        assert.equal((await peer.call('sign_in')).isError, true);
    },
    async model_and_roots_at_once(peer) {
        assert.equal(await text(peer.call('summarize')), 'hello (2 roots)');
        const { params } = peer.asked.find(a => a.kind === 'sample');

        assert.equal(params.systemPrompt, 'Be brief');
        assert.equal(params.maxTokens, 100);
        assert.equal(params.messages[0].role, 'user');
    },
    async many_are_asked_at_once(peer) {
        peer.now.elicit = accept({ city: 'Bonn' });
        const texts = Array.from({ length: 40 }, () => text(peer.call('book')));

        for (const said of await Promise.all(texts))
            assert.equal(said, 'Bonn, aisle seat, 7 days');
    },
    async error_of_a_handler_ends_the_call(peer) {
        peer.now.elicit = () => { throw new Error('no user here'); };
        const end = await peer.call('book').catch(error => ({ error }));

        assert.ok(end.error || end.isError);
        peer.now.elicit = accept({ city: 'Rome' });
        assert.equal(await text(peer.call('book')), 'Rome, aisle seat, 7 days');
    },
};

/* ---- offer-server --------------------------------------------------------------- */

const roundCases = {
    async tool_resource_and_prompt_ask(peer) {
        assert.equal(await text(peer.call('greet')), 'hello, ada');
        assert.equal((await peer.read('asks://user')).contents[0].text, 'hello, ada');
        const { messages } = await peer.prompt('asks');
        assert.equal(messages[0].content.text, 'hello, ada');
        assert.equal(peer.asked.length, 3);
    },
    async two_rounds_with_a_state(peer) {
        peer.now.elicit = ({ message }) =>
            ({ action: 'accept', content: { name: `<${message}>` } });
        assert.equal(await text(peer.call('rounds')),
            '<The first name?>, <The name after <The first name?>?>, two');
    },
    async all_at_once(peer) {
        const before = peer.asked.length;

        peer.now.elicit = accept({ name: 'ada' });
        assert.equal(await text(peer.call('ask_all')), '1 file:///home hello');
        assert.deepEqual(peer.asked.slice(before).map(a => a.kind).sort(),
            ['elicit', 'roots', 'sample']);
    },
    async model_uses_a_tool(peer) {
        const before = peer.now.sample;

        peer.now.sample = ({ tools }) => ({ role: 'assistant', model: 'parrot',
            stopReason: 'toolUse',
            content: [{ type: 'tool_use', id: '1', name: tools[0].name, input: {} }] });
        assert.equal(await text(peer.call('sample_tools')), 'tool_use weather');
        peer.now.sample = before;
    },
    async user_must_go_there_first(peer) {
        peer.now.elicit = () => ({ action: 'accept' });
        if (!peer.isModern) {
            await assert.rejects(peer.call('pay'), error => error.code === -32042);
            const { data } = peer.wire.findLast(m => m.error).error;

            assert.deepEqual(
                data.elicitations.map(e => [e.mode, e.url, e.elicitationId]),
                [['url', 'https://example.com/pay', 'payment-1']]);
        }
        assert.equal(await text(peer.call('pay')), 'paid');
    },
    async end_of_a_visit_is_told(peer) {
        peer.now.elicit = () => ({ action: 'accept' });
        assert.equal(await text(peer.call('visit')), '1');
        if (!peer.isModern)
            await until(() => peer.told('elicitation/complete'),
                seen => seen.length === 1 && seen[0].elicitationId === 'look-1');
    },
    async abort_while_the_user_thinks(peer) {
        for (const start of [o => peer.call('greet', {}, o),
            o => peer.read('asks://user', o), o => peer.prompt('asks', {}, o)]) {
            const controller = new AbortController();
            const before = peer.asked.length;
            const told = think(peer);
            const call = start({ signal: controller.signal });

            await until(() => peer.asked.length, n => n === before + 1);
            controller.abort('changed my mind');
            /* SDK 2.x says what its own handler said */
            await assert.rejects(call, /changed my mind|taken back/);
            await told(1);
            await until(async () => (await peer.call('counts')).structuredContent,
                c => c.in_flight <= 1 && c.live_handlers <= 1);
        }
        peer.now.elicit = accept({ name: 'ada' });
        assert.equal(await text(peer.call('greet')), 'hello, ada');
    },
};

/* Later there is no such notification: roots are asked for anew. */
const legacyRoundCases = {
    async changed_roots_are_heard(peer) {
        await peer.client.sendRootsListChanged();
        await until(async () => (await peer.call('counts')).structuredContent,
            c => c.roots_changed === 1);
    },
};

/* The rounds, one by one and by hand. */
const modernRoundCases = {
    async state_cannot_be_forged(peer) {
        const send = params => peer.client.request({ method: 'tools/call',
            params: { name: 'rounds', arguments: {}, ...params } },
        { allowInputRequired: true });
        const inputResponses = { first: { action: 'accept', content: { name: 'a' } } };
        const { requestState, inputRequests } = await send({});
        const middle = Math.floor(requestState.length / 2);
        const other = requestState[middle] === 'A' ? 'B' : 'A';
        const forged = requestState.slice(0, middle) + other +
            requestState.slice(middle + 1);

        assert.deepEqual(Object.keys(inputRequests), ['first']);
        assert.equal(inputRequests.first.method, 'elicitation/create');
        for (const wrong of [forged, '', 'x', requestState.slice(1)])
            await assert.rejects(send({ inputResponses, requestState: wrong }),
                error => error.code === -32602);
        const second = await send({ inputResponses, requestState });
        assert.deepEqual(Object.keys(second.inputRequests), ['second']);
        /* nothing is kept here, so the first round can be gone on from twice */
        const again = await send({ inputResponses, requestState });
        assert.deepEqual(Object.keys(again.inputRequests), ['second']);
        const result = await send({ requestState: second.requestState, inputResponses:
            { second: { action: 'accept', content: { name: 'b' } } } });
        assert.equal(result.content[0].text, 'a, b, two');
    },
};

/* ---- probe-server: nothing is left of a question -------------------------------- */

const isCalm = s => s.live_handlers === 0 && s.workers === 0;

const stats = async peer => (await peer.call('stats')).structuredContent;

const calm = peer =>
    until(() => stats(peer), isCalm);

const probeCases = {
    async question_is_answered(peer) {
        peer.now.elicit = ({ message }) =>
            ({ action: 'accept', content: { answer: message.toUpperCase() } });
        assert.equal(await text(peer.call('ask', { question: 'why?' })),
            'answer: WHY?');
        peer.now.elicit = () => ({ action: 'decline' });
        assert.equal(await text(peer.call('ask', { question: 'why?' })), 'no answer');
    },
    async fifty_questions_taken_back_leave_nothing(peer) {
        const before = await calm(peer);
        const asked = peer.asked.length;
        const controller = new AbortController();
        const { signal } = controller;
        const told = think(peer);

        setMaxListeners(0, signal);
        const calls = Array.from({ length: 50 },
            (_, i) => peer.call('ask', { question: `${i}?` }, { signal }));
        const ends = Promise.allSettled(calls);

        await until(() => peer.asked.length, n => n === asked + 50);
        controller.abort('stop it');
        assert.ok((await ends).every(end => end.status === 'rejected'));
        await told(50);
        await calm(peer);
        /* over HTTP an SDK keeps connections for a while */
        await until(() => stats(peer), s => hasNoMoreFiles(s, before));
        peer.now.elicit = accept({ answer: 'yes' });
        assert.equal(await text(peer.call('ask', { question: 'ok?' })), 'answer: yes');
    },
};

const legacyProbeCases = {
    async timeout_takes_a_question_back(peer) {
        const told = think(peer);
        const before = peer.asked.length;
        const end = assert.rejects(
            peer.call('ask', { question: 'when?' }, { timeout: WHEN_RUNG }), /timed out/i);

        await until(() => peer.asked.length, n => n === before + 1);
        ring();
        await end;
        await told(1);
        await calm(peer);
    },
};

/* SDK 2.x does not count the time of its own user, so that nothing times out here. */
const modernProbeCases = {
    async nothing_is_kept_while_the_user_thinks(peer) {
        const controller = new AbortController();
        const before = peer.asked.length;
        const told = think(peer);
        const call = peer.call('ask', { question: 'when?' },
            { signal: controller.signal });

        await until(() => peer.asked.length, n => n === before + 1);
        await calm(peer);
        controller.abort('enough');
        await assert.rejects(call, /enough|taken back/);
        await told(1);
        await calm(peer);
    },
};

/* ---- who cannot be asked -------------------------------------------------------- */

async function expectAble(open, capabilities, flags) {
    const peer = await openAble(open, 'offer-server', capabilities);

    assert.equal(await text(peer.call('able')), String(flags));
    return peer;
}

async function proveUnable(open) {
    await prove('unable: nobody_is_asked_in_vain', async () => {
        const peer = await expectAble(open, {}, 0);

        for (const tool of ['greet', 'ask_all', 'sample_tools', 'visit']) {
            await assert.rejects(peer.call(tool), error => error.code === -32021);
            const { error } = peer.wire.findLast(m => m.error);
            assert.equal(typeof error.data.requiredCapabilities, 'object');
        }
        await assert.rejects(peer.read('asks://user'));
        await assert.rejects(peer.prompt('asks'));
        await peer.close();
    });
    await prove('unable: abilities_are_known', async () => {
        const { form, url, sample, sampleTools, roots } = FLAGS;
        const cases = [[{ elicitation: {} }, form], [{ elicitation: { url: {} } }, url],
            [{ elicitation: { form: {} }, roots: {} }, form | roots],
            [{ sampling: {} }, sample], [{ sampling: { tools: {} } },
                sample | sampleTools], [ALL, 31]];

        for (const [capabilities, flags] of cases) {
            const peer = await expectAble(open, capabilities, flags);

            await peer.close();
        }
    });
}

export async function proveAsking(open, isModern) {
    const before = processes.length;

    if (open.has('example-asking'))
        await proveIn('asking', () => openAble(open, 'example-asking'), askingCases);
    await proveIn('rounds', () => openAble(open, 'offer-server'),
        { ...roundCases, ...(isModern ? modernRoundCases : legacyRoundCases) });
    await proveIn('questions', () => openAble(open, 'probe-server'),
        { ...probeCases, ...(isModern ? modernProbeCases : legacyProbeCases) });
    await proveUnable(open);
    await expectNothingLeft('asking', before);
}
