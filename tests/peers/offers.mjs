/*
 * offers.mjs - what both server scripts offer besides their tools: resources, prompts,
 * completion, lists that change
 *
 * sdk has what is different: ResourceTemplate, completable, shape (of a table of zod
 * types), on(method, handler), invalid(message), the error of wrong parameters. Where a
 * server lives for one request, it has notify, which tells of changes, and what is
 * changed is kept here. With --tick, note://changing changes by itself.
 */
import * as z from 'zod';
import { counts, text } from './tools.mjs';

const FOLDERS = ['home', 'house', 'work'];
const NAMES = ['ada', 'alan', 'grace'];
const BYTES = Buffer.from(Array.from({ length: 256 }, (_, i) => i));
const PAGE = 10;
const TICK_MS = 100;

let touched = 0;
let isExtended = false; /* for all, where a server lives for one request */
let isTicking = false;  /* likewise */

const starts = (words, value) => words.filter(word => word.startsWith(value));

function offerResources(server, { ResourceTemplate, on, invalid }) {
    const one = (uri, content) => ({ contents: [{ uri: uri.href, ...content }] });
    const files = (value, context) =>
        [`${context?.arguments?.folder ?? 'any'}-${value}.txt`];

    server.registerResource('text', 'note://text', { mimeType: 'text/plain',
        title: 'A text', annotations: { audience: ['user'], priority: 0.5 } },
    uri => one(uri, { mimeType: 'text/plain', text: 'h\u00e4llo' }));
    server.registerResource('bytes', 'note://bytes', {},
        uri => one(uri, { blob: BYTES.toString('base64') }));
    server.registerResource('changing', 'note://changing', {},
        uri => one(uri, { text: String(touched) }));
    server.registerResource('file', new ResourceTemplate('note://{folder}/{file}', {
        list: undefined,
        complete: { folder: value => starts(FOLDERS, value), file: files },
    }), { mimeType: 'text/plain' }, (uri, { folder, file }) => {
        if (folder === 'nowhere')
            throw invalid(`there is no ${uri}`);
        return one(uri, { text: `${decodeURIComponent(file)} in ${folder}` });
    });
    /* an SDK gives all at once; this comes in pages */
    on('resources/list', ({ params }) => {
        const all = ['text', 'bytes', 'changing', ...(server.extra ? ['extra'] : []),
            ...Array.from({ length: 100 }, (_, i) => `page-${i}`)];
        const start = Number(params?.cursor ?? 0);

        if (!Number.isInteger(start) || start < 0 || start >= all.length)
            throw invalid('no such cursor');
        if (start === 0)
            counts.lists++;
        return {
            resources: all.slice(start, start + PAGE)
                .map(name => ({ name, uri: `note://${name}` })),
            ...(start + PAGE < all.length && { nextCursor: String(start + PAGE) }),
        };
    });
}

function offerPrompts(server, { completable, shape }) {
    const say = (role, content) => ({ role, content });

    server.registerPrompt('plain', { title: 'Plain' }, () =>
        ({ messages: [say('user', { type: 'text', text: 'just so' })] }));
    server.registerPrompt('greet', {
        description: 'Says hello',
        argsSchema: shape({
            name: completable(z.string(), value => starts(NAMES, value)),
            tone: completable(z.string(), (value, context) =>
                [`${value}ly to ${context?.arguments?.name ?? 'all'}`]),
        }),
    }, ({ name, tone }) => ({
        description: `For ${name}`,
        messages: [
            say('user', { type: 'text', text: `Say hello to ${name}, ${tone}` }),
            say('assistant', { type: 'image', data: BYTES.toString('base64'),
                mimeType: 'image/png' }),
            say('user', { type: 'resource',
                resource: { uri: 'note://text', text: 'h\u00e4llo' } }),
        ],
    }));
}

const extend = server => [
    server.registerTool('extra', {}, () => text('extra')),
    server.registerPrompt('extra', {}, () => ({ messages: [] })),
    server.registerResource('extra', 'note://extra', {}, () => ({ contents: [] }))];

/* `touch` and `change`. What is registered later is told by the SDK. */
function offerChanges(server, { shape, notify }) {
    let extras = notify && isExtended ? extend(server) : [];

    const touch = async () => {
        touched++;
        if (notify)
            notify.resourceUpdated('note://changing');
        else
            await server.server.sendResourceUpdated({ uri: 'note://changing' });
    };

    server.extra = extras.length > 0;
    server.registerTool('touch', {}, async () => {
        await touch();
        return text('touched');
    });
    if (process.argv.includes('--tick') && !(notify && isTicking)) {
        isTicking = true;
        /* a client may have gone */
        setInterval(() => touch().catch(() => {}), TICK_MS).unref();
    }
    server.registerTool('change', { inputSchema: shape({ add: z.boolean() }) },
        ({ add }) => {
            for (const extra of extras)
                extra.remove();
            extras = add ? extend(server) : [];
            server.extra = add;
            if (notify) {
                isExtended = add;
                notify.toolsChanged();
                notify.promptsChanged();
                notify.resourcesChanged();
            }
            return text('changed');
        });
}

/* A sum, as its schema has it; and one whose server looks away, for clients that do
 * not. */
function offerSums(server, { shape }) {
    const inputSchema = shape({ a: z.number(), b: z.number() });

    const outputSchema = shape({ sum: z.number() });

    server.registerTool('add', { inputSchema, outputSchema }, ({ a, b }) =>
        ({ ...text(`${a + b}`), structuredContent: { sum: a + b } }));
    server.registerTool('lie', { outputSchema: shape({ sum: z.number().catch(0) }) },
        () => ({ ...text('a lot'), structuredContent: { sum: 'a lot' } }));
}

export const capabilities = {
    logging: {},
    tools: { listChanged: true },
    prompts: { listChanged: true },
    resources: { listChanged: true, subscribe: true },
    completions: {},
};

export function offer(server, sdk) {
    offerResources(server, sdk);
    offerPrompts(server, sdk);
    offerChanges(server, sdk);
    offerSums(server, sdk);
}

/* ---- questions, as both scripts ask them ---------------------------------------- */

export const FORM = {
    message: 'Who are you?',
    requestedSchema: {
        type: 'object',
        properties: {
            name: { type: 'string', minLength: 2 },
            age: { type: 'integer', minimum: 1, maximum: 150, default: 30 },
            color: { type: 'string', enum: ['red', 'green'], default: 'green' },
            news: { type: 'boolean', default: true },
        },
        required: ['name'],
    },
};

export const PAGE_VISIT = { message: 'Please look', url: 'https://example.com/look' };

export const SAMPLE = {
    messages: [{ role: 'user', content: { type: 'text', text: 'Hi' } }],
    systemPrompt: 'Be brief',
    maxTokens: 50,
};

export const LEVELS = ['debug', 'info', 'notice', 'warning', 'error', 'critical',
    'alert', 'emergency'];
