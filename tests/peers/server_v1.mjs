/*
 * server_v1.mjs - a server on the TypeScript SDK 1.x, as its users write one
 *
 *     node server_v1.mjs [stdio OPTION]   over stdio
 *     node server_v1.mjs http OPTION...   on a port; its URL is the first line
 *     node server_v1.mjs sse OPTION       likewise, by the transport of 2024-11-05
 *
 *   --tick     note://changing changes by itself, again and again
 *   --json     answers are never streams
 *   --resume   streams can be resumed
 */
import { completable } from '@modelcontextprotocol/sdk/server/completable.js';
import { McpServer, ResourceTemplate } from '@modelcontextprotocol/sdk/server/mcp.js';
import { SSEServerTransport } from '@modelcontextprotocol/sdk/server/sse.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { StreamableHTTPServerTransport } from
    '@modelcontextprotocol/sdk/server/streamableHttp.js';
import * as types from '@modelcontextprotocol/sdk/types.js';
import { capabilities, FORM, LEVELS, offer, PAGE_VISIT, SAMPLE } from './offers.mjs';
import { EventStore, listen, sessions } from './serve_http.mjs';
import { counts, cut, echo, schemas, slow, stats, text } from './tools.mjs';

const has = option => process.argv.includes(option);

function offerTools(server) {
    server.registerTool('echo', { inputSchema: schemas.echo.shape }, echo);
    server.registerTool('stats', { outputSchema: schemas.stats.shape }, stats);
    server.registerTool('slow', { inputSchema: schemas.slow.shape }, (args, extra) => {
        const progressToken = extra._meta?.progressToken;

        return slow(args, extra.signal, async progress => {
            if (progressToken !== undefined)
                await extra.sendNotification({
                    method: 'notifications/progress',
                    params: { ...progress, progressToken },
                });
        });
    });
    server.registerTool('log', {}, async ({ sessionId }) => {
        for (const level of LEVELS)
            await server.sendLoggingMessage({ level, logger: 'all', data: { level } },
                sessionId);
        return text('logged');
    });
    server.registerTool('bye', {}, () => {
        setTimeout(() => server.close(), 50);
        return text('bye');
    });
    server.registerTool('cut', { inputSchema: schemas.cut.shape }, (args, extra) =>
        cut(args, extra.closeSSEStream, extra.closeStandaloneSSEStream));
}

/* ---- resources, prompts, changes ------------------------------------------------ */

function serveSubscriptions(server) {
    const subscribed = new Set();
    const updated = server.server.sendResourceUpdated.bind(server.server);

    server.server.setRequestHandler(types.SubscribeRequestSchema, ({ params }) => {
        subscribed.add(params.uri);
        return {};
    });
    server.server.setRequestHandler(types.UnsubscribeRequestSchema, ({ params }) => {
        subscribed.delete(params.uri);
        return {};
    });
    /* the SDK keeps no account of who wants to know */
    server.server.sendResourceUpdated = async params =>
        subscribed.has(params.uri) && updated(params);
    server.server.setNotificationHandler(types.RootsListChangedNotificationSchema,
        () => { counts.roots++; });
}

/* ---- asking --------------------------------------------------------------------- */

const json = value => text(JSON.stringify(value));

/* Over HTTP a form comes on the stream of the request that needs it; what else is asked
 * belongs to no request, and comes on that of the session. */
function offerQuestions(server) {
    const elicit = ({ signal, requestId }, params) =>
        server.server.elicitInput(params, { signal, relatedRequestId: requestId });

    server.registerTool('elicit', {}, async extra => json(await elicit(extra, FORM)));
    server.registerTool('visit', {}, async extra => {
        const answer = await elicit(extra, { ...PAGE_VISIT, mode: 'url',
            elicitationId: 'look-1' });

        await server.server.createElicitationCompletionNotifier('look-1')();
        return json(answer);
    });
    server.registerTool('pay', {}, () => {
        throw new types.UrlElicitationRequiredError([{ ...PAGE_VISIT, mode: 'url',
            elicitationId: 'pay-1' }]);
    });
    server.registerTool('sample', {}, async () =>
        json(await server.server.createMessage(SAMPLE)));
    server.registerTool('sample_tools', {}, async () =>
        json(await server.server.createMessage({ ...SAMPLE,
            tools: [{ name: 'weather', inputSchema: { type: 'object' } }] })));
    server.registerTool('roots', {}, async () => json(await server.server.listRoots()));
    server.registerTool('rounds', {}, async extra => {
        const first = await elicit(extra, FORM);
        const second = await elicit(extra, { ...FORM,
            message: `Who comes after ${first.content.name}?` });

        return text(`${first.content.name}, ${second.content.name}, one`);
    });
    server.registerTool('all', {}, async extra => {
        const [form, sample, roots] = await Promise.all([elicit(extra, FORM),
            server.server.createMessage(SAMPLE), server.server.listRoots()]);

        return json({ form, sample, roots });
    });
    const askName = async extra => (await elicit(extra, FORM)).content.name;

    server.registerPrompt('asks', {}, async extra => ({ messages: [{ role: 'user',
        content: { type: 'text', text: await askName(extra) } }] }));
    server.registerResource('asks', 'note://asks', {}, async (uri, extra) =>
        ({ contents: [{ uri: uri.href, text: await askName(extra) }] }));
}

/* ---- the server ----------------------------------------------------------------- */

function makeServer() {
    const server = new McpServer({ name: 'server-v1', version: '1.0.0' },
        { capabilities });

    offerTools(server);
    offer(server, {
        completable,
        ResourceTemplate,
        shape: table => table,
        on: (method, handler) => server.server.setRequestHandler(
            { 'resources/list': types.ListResourcesRequestSchema }[method], handler),
        invalid: message => new types.McpError(types.ErrorCode.InvalidParams, message),
    });
    serveSubscriptions(server);
    offerQuestions(server);
    return server;
}

function serveOverHttp() {
    listen('/mcp', sessions(makeServer,
        options => new StreamableHTTPServerTransport(options), () => ({
            enableJsonResponse: has('--json'),
            ...(has('--resume') &&
                { eventStore: new EventStore(), retryInterval: 100 }),
        })));
}

/* A session is its stream: what is posted elsewhere names it. */
function serveOverSse() {
    const open = new Map();

    listen('/sse', async (request, response, body) => {
        const { pathname, searchParams } = new URL(request.url, 'http://localhost');
        const transport = open.get(searchParams.get('sessionId'));

        if (request.method === 'GET' && pathname === '/sse') {
            const own = new SSEServerTransport('/messages', response);

            counts.sessions++;
            open.set(own.sessionId, own);
            response.on('close', () => open.delete(own.sessionId));
            await makeServer().connect(own);
        } else if (request.method === 'POST' && pathname === '/messages' && transport) {
            await transport.handlePostMessage(request, response, body);
        } else {
            response.writeHead(pathname === '/sse' ? 405 : 404).end();
        }
    });
}

const ways = {
    http: serveOverHttp,
    sse: serveOverSse,
    stdio: () => makeServer().connect(new StdioServerTransport()),
};

await ways[process.argv[2] ?? 'stdio']();
