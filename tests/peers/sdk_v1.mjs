/* sdk_v1.mjs - a session of a client on the TypeScript SDK 1.x: see session.mjs */
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js';
import { StreamableHTTPClientTransport } from
    '@modelcontextprotocol/sdk/client/streamableHttp.js';
import * as types from '@modelcontextprotocol/sdk/types.js';
import { finishSession, isLastWord } from './session.mjs';

const transports = {
    stdio: command => new StdioClientTransport({ command, stderr: 'pipe' }),
    http: (url, options) => new StreamableHTTPClientTransport(new URL(url), options),
    sse: url => new SSEClientTransport(new URL('/sse', url)),
};

const QUESTIONS = {
    elicit: types.ElicitRequestSchema,
    sample: types.CreateMessageRequestSchema,
    roots: types.ListRootsRequestSchema,
};

const NOTICES = [types.ToolListChangedNotificationSchema,
    types.PromptListChangedNotificationSchema,
    types.ResourceListChangedNotificationSchema,
    types.ResourceUpdatedNotificationSchema, types.LoggingMessageNotificationSchema,
    types.ElicitationCompleteNotificationSchema];

const PAGES = {
    'tools/list': types.ListToolsResultSchema,
    'prompts/list': types.ListPromptsResultSchema,
    'resources/list': types.ListResourcesResultSchema,
    'resources/templates/list': types.ListResourceTemplatesResultSchema,
};

/* Here a page is all that a call gives. */
async function all(client, method, member) {
    const items = [];
    let cursor;

    do {
        const page =
            await client.request({ method, params: { cursor } }, PAGES[method]);

        items.push(...page[member]);
        cursor = page.nextCursor;
    } while (cursor !== undefined);
    return items;
}

export async function open(reach,
    { capabilities = {}, answers = {}, listChanged } = {}) {
    const client = new Client({ name: 'client-v1', version: '1.0.0' },
        { capabilities, listChanged });
    const { transport, leave } = await reach(transports);
    const session = { client, transport, leave, errors: [], notices: [],
        isModern: false };

    for (const [question, answer] of Object.entries(answers))
        client.setRequestHandler(QUESTIONS[question],
            (request, extra) => answer(request.params, extra.signal));
    for (const schema of listChanged ? [] : NOTICES)
        client.setNotificationHandler(schema, notice => session.notices.push(notice));
    /* told to a transport, if it wants to know, and to nobody else */
    const tell = transport.setProtocolVersion?.bind(transport);
    transport.setProtocolVersion = agreed => {
        session.version = agreed;
        tell?.(agreed);
    };
    client.onerror = error =>
        isLastWord(error.message) || session.errors.push(error.message);
    await client.connect(transport);
    return finishSession(session, {
        list: () => all(client, 'tools/list', 'tools'),
        call: (name, args, options) =>
            client.callTool({ name, arguments: args }, undefined, options),
        page: (method, params) => client.request({ method, params }, PAGES[method]),
        all: (method, member) => all(client, method, member),
        ping: () => client.ping(),
    });
}
