/* mcpctl_sdk.mjs - mcpctl against the servers of the TypeScript SDKs, 1.x and 2.x */
import { assert, prove } from './cases.mjs';
import { proveCancel } from './mcpctl_cancel.mjs';
import { proveCommon } from './mcpctl_common.mjs';
import { parse } from './mcpctl_run.mjs';

const TOOLS = ['add', 'all', 'bye', 'change', 'cut', 'echo', 'elicit', 'lie', 'log',
    'roots', 'rounds', 'sample', 'sample_tools', 'slow', 'stats', 'touch', 'visit'];
const MORE_TOOLS = { v1: ['pay'], v2: ['greedy', 'patient'] };
const CHANGED = 'note://changing';
const text = words => ({ content: [{ type: 'text', text: words }] });
const said = (...lines) => lines.map(line => `mcpctl: ${line}\n`).join('');

async function proveLists(met) {
    await prove('info', async () => assert.deepEqual(await met.ask('info'), {
        protocolVersion: met.version,
        serverInfo: { name: `server-${met.peer}`, version: '1.0.0' },
        capabilities: {
            logging: {},
            tools: { listChanged: true },
            prompts: { listChanged: true },
            resources: { listChanged: true, subscribe: true },
            completions: {},
        },
    }));
    await prove('tools', async () => {
        const { tools } = await met.ask('tools');

        assert.deepEqual(tools.map(tool => tool.name).sort(),
            [...TOOLS, ...MORE_TOOLS[met.peer]].sort());
    });
    await prove('tools_of_a_name', async () => {
        const { name, inputSchema, outputSchema } = await met.ask('tools', 'add');

        assert.equal(name, 'add');
        assert.deepEqual(inputSchema.properties,
            { a: { type: 'number' }, b: { type: 'number' } });
        assert.deepEqual(outputSchema.properties, { sum: { type: 'number' } });
    });
    await prove('resources_of_all_pages', async () => {
        const { resources } = await met.ask('resources');

        assert.equal(resources.length, 103);
        assert.deepEqual(resources[102], { name: 'page-99', uri: 'note://page-99' });
    });
    await prove('templates', async () => assert.deepEqual(await met.ask('templates'),
        { resourceTemplates: [{ name: 'file', uriTemplate: 'note://{folder}/{file}',
            mimeType: 'text/plain' }] }));
    await prove('prompts', async () => {
        const { prompts } = await met.ask('prompts');

        assert.deepEqual(prompts.map(prompt => prompt.name),
            ['plain', 'greet', 'asks']);
        assert.deepEqual(prompts[1].arguments, [{ name: 'name', required: true },
            { name: 'tone', required: true }]);
    });
}

async function proveCalls(met) {
    await prove('arguments_are_typed_by_the_schema', async () => {
        assert.deepEqual((await met.ask('call', 'add', 'a=1.5', 'b=-4'))
            .structuredContent, { sum: -2.5 });
        assert.deepEqual(await met.ask('call', 'echo', 'text=12'), text('12'));
        assert.deepEqual(await met.ask('call', 'echo', 'text:="\\u00e4 = b"'),
            text('\u00e4 = b'));
    });
    await prove('arguments_come_from_stdin', async () => {
        const { code, out } = await met.run(['call', 'add', '--args', '-', 'b=2'],
            { input: '{"a": 40, "b": 1}' });

        assert.equal(code, 0);
        assert.deepEqual(JSON.parse(out).structuredContent, { sum: 42 });
    });
    await prove('a_long_text_comes_back_whole', async () => {
        const long = '\u00e4\u{1f600}x'.repeat(100000);
        const { code, out } = await met.run(['call', 'echo', '--args', '-'],
            { input: JSON.stringify({ text: long }) });

        assert.equal(code, 0);
        assert.equal(JSON.parse(out).content[0].text, long);
    });
    await prove('progress_and_result', async () => {
        const { code, out, err } = await met.run(['call', 'slow', 'ms=60', 'steps=3']);

        assert.equal(code, 0);
        assert.equal(JSON.parse(out).content[0].text, 'done');
        /* more only if it takes long */
        assert.match(err, /^progress 1\/3: step 1\n(progress [23]\/3: step [23]\n)*$/);
        assert.deepEqual(met.journal(), ['began', 'finished']);
    });
    /* those of 1.x come over HTTP on a stream of their own, perhaps after the result */
    if (met.peer !== 'v1' || met.way !== 'http')
        await prove('messages_of_the_level', async () => {
            const { code, err } = await met.run(['call', 'log', '--log', 'alert']);

            assert.equal(code, 0);
            assert.equal(err, '[alert] all: {"level":"alert"}\n' +
                '[emergency] all: {"level":"emergency"}\n');
        });
    await prove('a_tool_that_fails', async () => {
        const { code, out, err } = await met.run(['call', 'rounds']);

        assert.equal(code, 5);
        assert.equal(JSON.parse(out).isError, true);
        assert.match(JSON.parse(out).content[0].text, /Cannot read properties/);
        assert.equal(err, said('the server asks: "Who are you?"; declined, since ' +
            'nobody can be asked here', 'the tool failed'));
    });
    await prove('a_tool_that_breaks_its_promise', async () => assert.match(
        await met.refuse(1, 'call', 'lie'), /\/sum must be a number, not a string\n$/));
}

async function proveOffers(met) {
    await prove('read', async () => {
        const { contents: [note] } = await met.ask('read', 'note://text');
        const { contents: [bytes] } = await met.ask('read', 'note://bytes');

        assert.deepEqual(note, { uri: 'note://text', mimeType: 'text/plain',
            text: 'h\u00e4llo' });
        assert.equal(Buffer.from(bytes.blob, 'base64').length, 256);
    });
    await prove('read_what_is_not_there', async () => assert.match(
        await met.refuse(1, 'read', 'note://nowhere/x'),
        /^mcpctl: the server says -32602: .*there is no note:\/\/nowhere\/x\n$/));
    await prove('get', async () => {
        const got = await met.ask('get', 'greet', 'name=ada', 'tone=warm');

        assert.equal(got.description, 'For ada');
        assert.deepEqual(got.messages[0], { role: 'user',
            content: { type: 'text', text: 'Say hello to ada, warm' } });
        assert.equal(got.messages.length, 3);
    });
    await prove('get_without_an_argument', async () =>
        assert.match(await met.refuse(1, 'get', 'greet', 'name=ada'), /\btone\b/));
    await prove('complete', async () => {
        const complete = async (...words) =>
            (await met.ask('complete', ...words)).completion.values;

        assert.deepEqual(await complete('greet', 'name', 'a'), ['ada', 'alan']);
        assert.deepEqual(await complete('greet', 'name', 'x'), []);
        assert.deepEqual(await complete('note://{folder}/{file}', 'file', 'x',
            '--argument', 'folder=home'), ['home-x.txt']);
    });
}

async function proveEvents(met) {
    await prove('tail', async () => {
        const { code, out, err } = await met.run(
            ['tail', '--resource', CHANGED, '--count', '2']);

        assert.deepEqual({ code, err }, { code: 0, err: '' });
        assert.deepEqual(parse(out).map(({ method, params }) => ({ method, params })),
            Array(2).fill({ method: 'notifications/resources/updated',
                params: { uri: CHANGED } }));
    });
}

/* What a check of doctor says that does not pass, and why it is right. */
const DOUBTS = {
    stdio: ['tools.texts'], /* they have no descriptions */
    http: ['http.host', 'tools.texts'], /* nobody told the SDKs which names are theirs */
    sse: ['http.eras', 'tools.texts'], /* an old transport */
};

const FAULTS = {
    stdio: [],
    http: ['http.origin'], /* nor which origins */
    sse: [],
};

export async function proveSdk(met) {
    await proveLists(met);
    await proveCalls(met);
    await proveOffers(met);
    await proveEvents(met);
    await proveCommon(met, {
        sum: 'add',
        schema: { a: 'the schema says: number', b: 'the schema says: number' },
        bench: ['slow', 'ms=200'],
        long: ['slow', 'ms=3600000'],
        faults: FAULTS[met.way],
        doubts: DOUBTS[met.way],
    });
    await proveCancel(met);
}
