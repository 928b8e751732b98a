/* mcpctl_everything.mjs - mcpctl against server-everything */
import { assert, prove } from './cases.mjs';
import { proveCommon } from './mcpctl_common.mjs';
import { isGone, parse, sent, untangle } from './mcpctl_run.mjs';

const TEXT_2 = 'demo://resource/dynamic/text/2';
const LONG = ['trigger-long-running-operation', 'duration=20', 'steps=200'];

async function proveCalls(met) {
    await prove('info', async () => {
        const { protocolVersion, serverInfo } = await met.ask('info');

        assert.equal(protocolVersion, met.version);
        assert.equal(serverInfo.name, 'mcp-servers/everything');
    });
    await prove('tools', async () => {
        const names = (await met.ask('tools')).tools.map(tool => tool.name);

        for (const name of ['echo', 'get-sum', 'get-tiny-image', LONG[0]])
            assert.ok(names.includes(name), name);
    });
    await prove('tools_of_a_name', async () => {
        const { inputSchema } = await met.ask('tools', 'get-sum');

        assert.deepEqual(Object.keys(inputSchema.properties), ['a', 'b']);
    });
    await prove('arguments_are_typed_by_the_schema', async () => {
        const { content: [sum] } = await met.ask('call', 'get-sum', 'a=2', 'b=40');
        const { content: [echo] } = await met.ask('call', 'echo', 'message=12');
        const { content } = await met.ask('call', 'get-annotated-message',
            'messageType=success', 'includeImage=true');

        assert.equal(sum.text, 'The sum of 2 and 40 is 42.');
        assert.equal(echo.text, 'Echo: 12');
        assert.deepEqual(content.map(({ type }) => type), ['text', 'image']);
    });
    await prove('a_word_that_is_not_in_the_schema', async () => {
        const err = await met.refuse(1, 'call', 'get-annotated-message',
            'messageType=loud');

        assert.match(err,
            /: messageType: must be one of "error", "success", "debug"; /);
        assert.match(err, /mcpctl: nothing was sent\n$/);
    });
    await prove('output_is_structured', async () => assert.deepEqual(
        (await met.ask('call', 'get-structured-content', 'location=New York'))
            .structuredContent,
        { temperature: 33, conditions: 'Cloudy', humidity: 82 }));
    await prove('a_tool_that_fails', async () => {
        const { code, out, err } = await met.run(['call', 'gzip-file-as-resource',
            'data=ftp://127.0.0.1/x']);

        assert.equal(code, 5);
        assert.equal(JSON.parse(out).isError, true);
        assert.match(err, /mcpctl: the tool failed\n$/);
    });
    await prove('a_question_is_declined', async () => {
        const { code, out, err } = await met.run(
            ['call', 'trigger-elicitation-request']);

        assert.equal(code, 0);
        assert.match(JSON.parse(out).content[0].text, /declined/);
        assert.match(err, /the server asks: .*; declined, since nobody can be asked/);
    });
}

async function proveOffers(met) {
    await prove('resources', async () => {
        const { resources } = await met.ask('resources');

        assert.equal(resources.length, 7);
        assert.match(resources[0].uri, /architecture\.md$/);
    });
    await prove('templates', async () => assert.equal(
        (await met.ask('templates')).resourceTemplates.length, 2));
    await prove('read', async () => {
        const { contents: [{ uri, text }] } = await met.ask('read', TEXT_2);

        assert.equal(uri, TEXT_2);
        assert.match(text, /^Resource 2: /);
    });
    await prove('read_what_is_not_there', async () => assert.match(
        await met.refuse(1, 'read', 'demo://nothing'), /the server says -32602: /));
    await prove('prompts', async () => assert.deepEqual(
        (await met.ask('prompts')).prompts.map(prompt => prompt.name),
        ['simple-prompt', 'args-prompt', 'completable-prompt', 'resource-prompt']));
    await prove('get', async () => {
        const { messages } = await met.ask('get', 'args-prompt', 'city=Rome',
            'state=Italy');

        assert.equal(messages[0].content.text, 'What\'s weather in Rome, Italy?');
    });
    await prove('complete', async () => {
        const complete = async (...words) =>
            (await met.ask('complete', 'completable-prompt', ...words))
                .completion.values;

        assert.deepEqual(await complete('department', 'S'), ['Sales', 'Support']);
        assert.deepEqual(await complete('name', '', '--argument', 'department=Sales'),
            ['David', 'Eve', 'Frank']);
    });
}

/* It offers some tools only when it knows its client, and tells so, but not on a stream
 * that is not open yet. */
async function proveEvents(met) {
    if (met.way === 'stdio')
        await prove('tail', async () => {
            const { code, out } = await met.run(['tail', '--count', '1']);

            assert.equal(code, 0);
            assert.equal(parse(out)[0].method, 'notifications/tools/list_changed');
        });
}

/* Its long tool does not listen: only what mcpctl does is judged. */
async function proveCancel(met) {
    await prove('ctrl_c_is_told_and_waits_for_nobody', async () => {
        const run = met.start(['call', ...LONG], { trace: true });

        await run.says('err', /^progress 1\/200$/m);
        run.kill('SIGINT');
        await run.end;
        const { said, wire } = untangle(run.err);
        const messages = sent({ wire });
        const { id } = messages.find(message => message.method === 'tools/call');
        const pid = /process (\d+) was started/.exec(run.err)?.[1];

        assert.deepEqual({ code: run.code, out: run.out }, { code: 130, out: '' });
        assert.deepEqual(said.slice(-2), [`mcpctl: canceling tools/call ${LONG[0]}`,
            `mcpctl: canceled tools/call ${LONG[0]}: ${met.cancel}, and the server ` +
                'answers']);
        assert.deepEqual(messages.filter(message =>
            message.method === 'notifications/cancelled')
            .map(message => message.params.requestId), [id]);
        assert.ok(met.way !== 'stdio' || isGone(Number(pid)));
    });
}

const DOUBTS = {
    stdio: ['tools.texts'], /* of one argument */
    /* it does not look at Host; and it forgets a session, but answers 400 then */
    http: ['http.host', 'http.delete', 'tools.texts'],
    sse: ['tools.texts'],
};

/* Its long operation does not look for a cancel, and goes on reporting progress. */
const FAULTS = {
    stdio: ['cancel'],
    http: ['http.origin', 'cancel'], /* it does not look at that header either */
    sse: ['cancel'],
};

export async function proveEverything(met) {
    await proveCalls(met);
    await proveOffers(met);
    await proveEvents(met);
    await proveCommon(met, {
        sum: 'get-sum',
        schema: {
            a: 'the schema says: number, "First number"',
            b: 'the schema says: number, "Second number"',
        },
        bench: [LONG[0], 'duration=0.2', 'steps=1'],
        long: LONG,
        faults: FAULTS[met.way],
        doubts: DOUBTS[met.way],
    });
    await proveCancel(met);
}
