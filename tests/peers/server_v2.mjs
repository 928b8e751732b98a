/*
 * server_v2.mjs - a server on the TypeScript SDK 2.x, as its users write one
 *
 *     node server_v2.mjs OPTION...        over stdio
 *     node server_v2.mjs http OPTION...   on a port; its URL is the first line
 *
 *   --tick          note://changing changes by itself, again and again
 *   --modern-only   who says `initialize` is refused
 *   --json          over HTTP: answers are never streams
 *   --resume        over HTTP: streams of legacy clients can be resumed
 *   --stateless     over HTTP: legacy clients have no session
 *   --issuer PATH   over HTTP: who has no token of this test-issuer, which is started, is
 *                   refused
 */
import { NodeStreamableHTTPServerTransport, toNodeHandler, toWebRequest } from
    '@modelcontextprotocol/node';
import { completable, createMcpHandler, inputRequired, isLegacyRequest, McpServer,
    ProtocolError, ResourceTemplate } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import * as z from 'zod';
import { bearer } from './bearer.mjs';
import { capabilities, FORM, LEVELS, offer, PAGE_VISIT, SAMPLE } from './offers.mjs';
import { EventStore, listen, sessions } from './serve_http.mjs';
import { counts, cut, echo, schemas, slow, stats, text } from './tools.mjs';

const INVALID = -32602;
const KEPT = { ttlMs: 600000, cacheScope: 'private' };

const has = option => process.argv.includes(option);
const isHttp = process.argv[2] === 'http';

function offerTools(server, end) {
    server.registerTool('echo', { inputSchema: schemas.echo }, echo);
    server.registerTool('stats', { outputSchema: schemas.stats }, stats);
    server.registerTool('slow', { inputSchema: schemas.slow }, (args, ctx) => {
        const progressToken = ctx.mcpReq._meta?.progressToken;

        return slow(args, ctx.mcpReq.signal, async progress => {
            if (progressToken !== undefined)
                await ctx.mcpReq.notify({
                    method: 'notifications/progress',
                    params: { ...progress, progressToken },
                });
        });
    });
    server.registerTool('log', {}, async ctx => {
        for (const level of LEVELS)
            await ctx.mcpReq.log(level, { level }, 'all');
        return text('logged');
    });
    server.registerTool('bye', {}, () => {
        setTimeout(end, 50);
        return text('bye');
    });
    server.registerTool('cut', { inputSchema: schemas.cut },
        (args, ctx) => cut(args, ctx.http?.closeSSE, ctx.http?.closeStandaloneSSE));
}

/* Legacy clients subscribe one by one; the others are the business of serveStdio. */
function serveSubscriptions(server) {
    const subscribed = new Set();
    const updated = server.server.sendResourceUpdated.bind(server.server);
    let isLegacy = false;

    server.server.setRequestHandler('resources/subscribe', ({ params }) => {
        isLegacy = true;
        subscribed.add(params.uri);
        return {};
    });
    server.server.setRequestHandler('resources/unsubscribe', ({ params }) => {
        subscribed.delete(params.uri);
        return {};
    });
    server.server.sendResourceUpdated = async params =>
        (!isLegacy || subscribed.has(params.uri)) && updated(params);
    server.server.setNotificationHandler('notifications/roots/list_changed',
        () => { counts.roots++; });
}

/* ---- asking: handlers are written once, and called again with what was answered - */

const json = value => text(JSON.stringify(value));

const ask = (inputRequests, requestState) =>
    inputRequired({ inputRequests, requestState });

/* answer() makes a result of what was answered. */
const asking = (make, answer) => (...args) => {
    const { inputResponses } = args.at(-1).mcpReq;
    const requests = make();

    return Object.keys(requests).every(key => inputResponses?.[key])
        ? answer(inputResponses, ...args) : ask(requests);
};

function offerQuestions(server) {
    const form = () => ({ form: inputRequired.elicit(FORM) });
    const sample = () => ({ sample: inputRequired.createMessage(SAMPLE) });
    const roots = () => ({ roots: inputRequired.listRoots() });
    const one = responses => json(Object.values(responses)[0]);
    const tools = [{ name: 'weather', inputSchema: { type: 'object' } }];

    server.registerTool('elicit', {}, asking(form, one));
    server.registerTool('visit', {},
        asking(() => ({ page: inputRequired.elicitUrl(PAGE_VISIT) }), one));
    server.registerTool('sample', {}, asking(sample, one));
    server.registerTool('sample_tools', {}, asking(() =>
        ({ sample: inputRequired.createMessage({ ...SAMPLE, tools }) }), one));
    server.registerTool('roots', {}, asking(roots, one));
    server.registerTool('all', {},
        asking(() => ({ ...form(), ...sample(), ...roots() }), json));
    server.registerPrompt('asks', {}, asking(form, ({ form: { content } }) =>
        ({ messages: [{ role: 'user',
            content: { type: 'text', text: content.name } }] })));
    server.registerResource('asks', 'note://asks', {}, asking(form,
        ({ form: { content } }, uri) =>
            ({ contents: [{ uri: uri.href, text: content.name }] })));
}

/* What was answered first must come back in the state: only the last answers do. */
function offerRounds(server) {
    server.registerTool('rounds', {}, ctx => {
        const { form, next } = ctx.mcpReq.inputResponses ?? {};
        const state = ctx.mcpReq.requestState();

        if (next)
            return text(`${state}, ${next.content.name}, one`);
        if (form)
            return ask({ next: inputRequired.elicit({ ...FORM,
                message: `Who comes after ${form.content.name}?` }) },
            form.content.name);
        return ask({ form: inputRequired.elicit(FORM) });
    });
    server.registerTool('greedy', {}, ctx => ask({ form: inputRequired.elicit(FORM) },
        `${Number(ctx.mcpReq.requestState() ?? 0) + 1}`));
    /* nothing to ask: just come again */
    server.registerTool('patient', {}, ctx => {
        const state = ctx.mcpReq.requestState();

        return state === 'come again' ? text('here you are')
            : inputRequired({ requestState: 'come again' });
    });
}

/* notify is there if the server lives for one request; end() is how it says goodbye. */
function makeServer(end, notify) {
    const server = new McpServer({ name: 'server-v2', version: '1.0.0' },
        { capabilities, cacheHints: { 'resources/list': KEPT, 'tools/list': KEPT } });

    offerTools(server, end ?? (() => server.close()));
    offer(server, {
        completable,
        ResourceTemplate,
        notify,
        shape: table => z.object(table),
        on: (method, handler) => server.server.setRequestHandler(method, handler),
        invalid: message => new ProtocolError(INVALID, message),
    });
    serveSubscriptions(server);
    offerQuestions(server);
    offerRounds(server);
    return server;
}

function serveOverStdio() {
    const handle = serveStdio(() => makeServer(() => handle.close()),
        { legacy: has('--modern-only') ? 'reject' : 'serve' });
}

/* Modern requests each get a server, legacy clients a session. */
async function serveOverHttp() {
    const isLet = has('--issuer')
        ? await bearer(process.argv[process.argv.indexOf('--issuer') + 1])
        : () => true;

    console.warn = () => {}; /* what --json means */
    const handler = createMcpHandler(
        () => makeServer(() => handler.close(), handler.notify),
        {
            legacy: has('--stateless') ? 'stateless' : 'reject',
            responseMode: has('--json') ? 'json' : 'auto',
        });
    const modern = toNodeHandler(handler);
    const legacy = sessions(() => makeServer(),
        options => new NodeStreamableHTTPServerTransport(options), () => ({
            enableJsonResponse: has('--json'),
            ...(has('--resume') &&
                { eventStore: new EventStore(), retryInterval: 100 }),
        }));

    listen('/mcp', async (request, response, body) => {
        const web = await toWebRequest(request, body);

        if (!await isLet(request, response, web))
            return;
        const isLegacy = !has('--modern-only') && !has('--stateless') &&
            await isLegacyRequest(web, body);

        await (isLegacy ? legacy : modern)(request, response, body);
    });
}

await (isHttp ? serveOverHttp : serveOverStdio)();
