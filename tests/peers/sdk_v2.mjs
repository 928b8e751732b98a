/* sdk_v2.mjs - a session of a client on the TypeScript SDK 2.x: see session.mjs */
import { Client, LOG_LEVEL_META_KEY, StreamableHTTPClientTransport }
    from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { finishSession, isLastWord } from './session.mjs';

export const transports = {
    stdio: command => new StdioClientTransport({ command, stderr: 'pipe' }),
    http: (url, options) => new StreamableHTTPClientTransport(new URL(url), options),
};

export const MODERN = '2026-07-28';

const MODES = { legacy: 'legacy', auto: 'auto', modern: { pin: MODERN } };

const QUESTIONS = {
    elicit: 'elicitation/create',
    sample: 'sampling/createMessage',
    roots: 'roots/list',
};

const NOTICES = ['notifications/tools/list_changed',
    'notifications/prompts/list_changed', 'notifications/resources/list_changed',
    'notifications/resources/updated', 'notifications/message'];
const LEGACY_NOTICES = ['notifications/elicitation/complete'];

export async function open(era, reach,
    { capabilities = {}, answers = {}, listChanged } = {}) {
    const client = new Client({ name: 'client-v2', version: '1.0.0' },
        { capabilities, listChanged, versionNegotiation: { mode: MODES[era] } });
    const { transport, leave } = await reach(transports);
    const session = { client, transport, leave, errors: [], notices: [] };
    const notices = era === 'legacy' ? [...NOTICES, ...LEGACY_NOTICES] : NOTICES;
    let meta; /* of calls, once a level is wanted (modern) */

    for (const [question, answer] of Object.entries(answers))
        client.setRequestHandler(QUESTIONS[question],
            (request, ctx) => answer(request.params, ctx.mcpReq.signal));
    for (const method of listChanged ? [] : notices)
        client.setNotificationHandler(method, notice => session.notices.push(notice));
    client.onerror = error =>
        isLastWord(error.message) || session.errors.push(error.message);
    await client.connect(transport);
    session.isModern = client.getProtocolEra() === 'modern';
    session.version = client.getNegotiatedProtocolVersion();
    const own = {
        list: async () => (await client.listTools()).tools,
        call: (name, args, options) =>
            client.callTool({ name, arguments: args, _meta: meta }, options),
        page: (method, params) => client.request({ method, params }),
        all: async (method, member) => (await lists[method]())[member],
        ping: () => (session.isModern ? client.discover() : client.ping()),
    };
    const lists = {
        'tools/list': () => client.listTools(),
        'prompts/list': () => client.listPrompts(),
        'resources/list': () => client.listResources(),
        'resources/templates/list': () => client.listResourceTemplates(),
    };

    if (session.isModern) {
        own.setLevel = level => (meta = { [LOG_LEVEL_META_KEY]: level });
        own.watch = ({ uris = [], lists: kinds = [] }) =>
            client.listen({
                ...(uris.length > 0 && { resourceSubscriptions: uris }),
                ...Object.fromEntries(kinds.map(kind => [`${kind}ListChanged`, true])),
            });
    }
    return finishSession(session, own);
}
