/* server_v1.mjs - a stdio server on the TypeScript SDK 1.x, as its users write one */
import { completable } from '@modelcontextprotocol/sdk/server/completable.js';
import { McpServer, ResourceTemplate } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import * as types from '@modelcontextprotocol/sdk/types.js';
import { capabilities, FORM, LEVELS, offer, PAGE_VISIT, SAMPLE } from './offers.mjs';
import { counts, echo, schemas, slow, stats, text } from './tools.mjs';

const server = new McpServer({ name: 'server-v1', version: '1.0.0' }, { capabilities });

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

/* ---- resources, prompts, changes ------------------------------------------------ */

const subscribed = new Set();
const updated = server.server.sendResourceUpdated.bind(server.server);

offer(server, {
    completable,
    ResourceTemplate,
    shape: table => table,
    on: (method, handler) => server.server.setRequestHandler(
        { 'resources/list': types.ListResourcesRequestSchema }[method], handler),
    invalid: message => new types.McpError(types.ErrorCode.InvalidParams, message),
});
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

server.registerTool('log', {}, async () => {
    for (const level of LEVELS)
        await server.sendLoggingMessage({ level, logger: 'all', data: { level } });
    return text('logged');
});

/* ---- asking --------------------------------------------------------------------- */

const json = value => text(JSON.stringify(value));
const elicit = (extra, params) =>
    server.server.elicitInput(params, { signal: extra.signal });

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
server.registerPrompt('asks', {}, async extra => ({ messages: [{ role: 'user', content:
    { type: 'text', text: (await elicit(extra, FORM)).content.name } }] }));
server.registerResource('asks', 'note://asks', {}, async (uri, extra) => ({ contents:
    [{ uri: uri.href, text: (await elicit(extra, FORM)).content.name }] }));
server.registerTool('bye', {}, () => {
    setTimeout(() => server.close(), 50);
    return text('bye');
});

await server.connect(new StdioServerTransport());
