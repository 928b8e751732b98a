/*
 * client_v2.mjs - the client of the TypeScript SDK 2.x against probe-server
 *
 *     node client_v2.mjs legacy|auto|modern PROBE_SERVER
 */
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { finish } from './cases.mjs';
import { proveServer } from './probe_cases.mjs';

const [era, command] = process.argv.slice(2);
const MODERN = '2026-07-28';
const modes = { legacy: 'legacy', auto: 'auto', modern: { pin: MODERN } };

async function open() {
    const client = new Client({ name: 'client-v2', version: '1.0.0' },
        { versionNegotiation: { mode: modes[era] } });
    const errors = [];

    client.onerror = error => errors.push(error.message);
    await client.connect(new StdioClientTransport({ command, stderr: 'pipe' }));
    const isModern = client.getProtocolEra() === 'modern';
    return {
        version: client.getNegotiatedProtocolVersion(),
        name: client.getServerVersion().name,
        errors,
        list: async () => (await client.listTools()).tools,
        call: (name, args, options) =>
            client.callTool({ name, arguments: args }, options),
        ping: () => (isModern ? client.discover() : client.ping()),
        close: () => client.close(),
    };
}

await proveServer(open, era === 'legacy' ? '2025-11-25' : MODERN);
finish();
