/*
 * serve_http.mjs - what the server scripts need to be on a port, with either SDK
 *
 *     listen(path, serve)   on loopback; the URL is the first line on stdout, and the
 *                           end of stdin is ours
 *     sessions(...)         clients of 2025-11-25: a session is a server and a
 *                           transport of its own
 *     EventStore            for streams that can be resumed
 */
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { json as readJson } from 'node:stream/consumers';
import { counts } from './tools.mjs';

const refuse = (response, status, message) =>
    response.writeHead(status, { 'content-type': 'application/json' }).end(
        JSON.stringify({ jsonrpc: '2.0', id: null, error: { code: -32000, message } }));

/* serve(request, response, body) answers what comes for that path. */
export function listen(path, serve) {
    const server = createServer(async (request, response) => {
        try {
            const isPost = request.method === 'POST';
            const body = isPost ? await readJson(request) : undefined;

            await serve(request, response, body);
        } catch (error) {
            if (!response.headersSent)
                refuse(response, 400, String(error));
        }
    });

    process.stdin.resume().on('end', () => process.exit());
    server.listen(0, '127.0.0.1', () =>
        console.log(`http://127.0.0.1:${server.address().port}${path}`));
    return server;
}

/* Both SDKs have their options under the same names; options() are those that are not
 * the business of this. */
export function sessions(makeServer, makeTransport, options) {
    const open = new Map();

    async function begin() {
        const transport = makeTransport({
            ...options(),
            sessionIdGenerator: randomUUID,
            onsessioninitialized: id => {
                counts.sessions++;
                open.set(id, transport);
            },
        });

        await makeServer().connect(transport);
        const { onclose } = transport; /* the server's */

        transport.onclose = () => {
            open.delete(transport.sessionId);
            onclose?.();
        };
        return transport;
    }

    return async (request, response, body) => {
        const id = request.headers['mcp-session-id'];
        const transport = id === undefined ? await begin() : open.get(id);

        if (!transport)
            return refuse(response, 404, 'Session not found');
        return transport.handleRequest(request, response, body);
    };
}

/* All events of a session, by the stream that they belong to. */
export class EventStore {
    events = [];

    async storeEvent(stream, message) {
        this.events.push({ stream, message });
        return String(this.events.length);
    }

    async getStreamIdForEventId(id) {
        return this.events[id - 1]?.stream;
    }

    async replayEventsAfter(id, { send }) {
        const { stream } = this.events[id - 1];

        for (let i = Number(id); i < this.events.length; i++)
            if (this.events[i].stream === stream && this.events[i].message.jsonrpc)
                await send(String(i + 1), this.events[i].message);
        return stream;
    }
}
