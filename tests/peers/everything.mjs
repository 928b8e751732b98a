/*
 * everything.mjs - server-everything over HTTP, on a port of loopback that is free
 *
 *     node everything.mjs streamableHttp|sse
 *
 * By itself it listens to the world, on a port that must be told. Its URL is the first
 * line on stdout; what it says besides goes to stderr. The end of stdin is its own.
 */
import { Server } from 'node:net';

const [way] = process.argv.slice(2);
const path = { streamableHttp: '/mcp', sse: '/sse' }[way];
const { listen } = Server.prototype;

Server.prototype.listen = function (port, listening) {
    return listen.call(this, 0, '127.0.0.1', () => {
        process.stdout.write(`http://127.0.0.1:${this.address().port}${path}\n`);
        listening?.();
    });
};
console.log = console.error;
process.stdin.resume().on('end', () => process.exit());
await import(`@modelcontextprotocol/server-everything/dist/transports/${way}.js`);
