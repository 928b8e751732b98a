/*
 * remote.mjs - mcp-remote, which lets hosts that only know stdio reach a server over HTTP,
 * in front of ours
 *
 *     node remote.mjs BIN [guarded]
 *
 * guarded: it has to sign in, by a browser that needs no user.
 */
import { join } from 'node:path';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { assert, finish, prove } from './cases.mjs';
import { browser, expectNothingAfter, guard } from './guarded.mjs';
import { scratch, serve } from './reach.mjs';
import { open } from './sdk_v1.mjs';

const [bin, way] = process.argv.slice(2);
const home = scratch();
const guarded = way === 'guarded';
const server = guarded ? await guard(bin) : await serve(`${bin}/probe-server`);
const reach = () => ({
    transport: new StdioClientTransport({
        command: process.execPath,
        args: ['programs/node_modules/.bin/mcp-remote', server.url, '--allow-http'],
        env: { ...process.env, ...browser(home), HOME: home,
            MCP_REMOTE_CONFIG_DIR: join(home, 'config') },
        stderr: 'pipe',
    }),
});
let peer;

await prove('connect', async () => (peer = await open(reach)));
await prove('a_tool_is_called', async () => assert.deepEqual(
    (await peer.call('add', { a: 1, b: 2 })).structuredContent, { sum: 3 }));
await prove('progress_passes', async () => {
    const seen = [];
    const controller = new AbortController();
    const onprogress = p => {
        if (seen.push(p.progress) === 2)
            controller.abort('seen enough');
    };
    const call = peer.call('count', { to: 100000, delay_ms: 5 },
        { signal: controller.signal, onprogress });

    await assert.rejects(call, /seen enough/);
    assert.deepEqual(seen.slice(0, 2), [1, 2]);
});
await prove('fifty_aborted_hangs_leave_nothing', () => expectNothingAfter(peer, 5));
if (guarded)
    await prove('it_signed_in_once', async () => {
        const { registered, codes, refused } = await server.counts();

        assert.deepEqual({ registered, codes, refused },
            { registered: 1, codes: 1, refused: 0 });
    });
await prove('close', () => peer.close());
await prove('the_server_stops', async () => assert.equal(await server.stop(), 0));
finish();
