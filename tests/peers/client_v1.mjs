/*
 * client_v1.mjs - the client of the TypeScript SDK 1.x against probe-server
 *
 *     node client_v1.mjs PROBE_SERVER
 */
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { finish } from './cases.mjs';
import { proveServer } from './probe_cases.mjs';

const [command] = process.argv.slice(2);

async function open() {
    const client = new Client({ name: 'client-v1', version: '1.0.0' });
    const transport = new StdioClientTransport({ command, stderr: 'pipe' });
    const errors = [];
    let version;

    /* told to a transport, if it wants to know, and to nobody else */
    transport.setProtocolVersion = agreed => (version = agreed);
    client.onerror = error => errors.push(error.message);
    await client.connect(transport);
    return {
        version,
        name: client.getServerVersion().name,
        errors,
        list: async () => (await client.listTools()).tools,
        call: (name, args, options) =>
            client.callTool({ name, arguments: args }, undefined, options),
        ping: () => client.ping(),
        close: () => client.close(),
    };
}

await proveServer(open, '2025-11-25');
finish();
